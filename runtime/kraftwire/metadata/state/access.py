"""ACLs, SCRAM credentials, delegation tokens and quotas."""

from __future__ import annotations

from dataclasses import dataclass, fields

from kraftwire_messages.kafka import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)

QuotaEntity = tuple[tuple[str, str | None], ...]
"""Types and names, ordered by type; the name of a default is None."""


@dataclass(frozen=True, slots=True)
class Acl:
    """One rule; `names` has the names of the numbers."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    @classmethod
    def of(cls, record: AccessControlEntryRecord) -> Acl:
        return cls(**{field.name: getattr(record, field.name) for field in fields(cls)})


@dataclass(frozen=True, slots=True, repr=False)
class ScramCredential:
    """A user's SCRAM credential. Everything except the iterations is secret, so it has no repr."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    @classmethod
    def of(cls, record: UserScramCredentialRecord) -> ScramCredential:
        return cls(record.salt, record.stored_key, record.server_key, record.iterations)


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A token; no record contains its HMAC key. Times are in ms."""

    id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int

    @classmethod
    def of(cls, record: DelegationTokenRecord) -> DelegationToken:
        return cls(
            id=record.token_id,
            owner=record.owner,
            requester=record.requester,
            renewers=tuple(record.renewers),
            issue_timestamp=record.issue_timestamp,
            max_timestamp=record.max_timestamp,
            expiration_timestamp=record.expiration_timestamp,
        )


def quota_entity(record: ClientQuotaRecord) -> QuotaEntity:
    """Return the entity of a record's quota."""
    pairs = {part.entity_type: part.entity_name for part in record.entity}
    return tuple(sorted(pairs.items(), key=lambda pair: pair[0]))
