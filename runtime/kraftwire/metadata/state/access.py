"""Who may do what: ACLs, SCRAM credentials, delegation tokens, quotas."""

from __future__ import annotations

from dataclasses import dataclass

from kraftwire_messages.kafka import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)

QuotaEntity = tuple[tuple[str, str | None], ...]
"""Types and names in the order of the types; the name of a default is None."""


@dataclass(frozen=True, slots=True)
class Acl:
    """One rule; the numbers are named in `names`."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    @classmethod
    def of(cls, record: AccessControlEntryRecord) -> Acl:
        """The rule that a record adds."""
        return cls(
            resource_type=record.resource_type,
            resource_name=record.resource_name,
            pattern_type=record.pattern_type,
            principal=record.principal,
            host=record.host,
            operation=record.operation,
            permission_type=record.permission_type,
        )


@dataclass(frozen=True, slots=True, repr=False)
class ScramCredential:
    """How a user proves a password; all but the iterations is secret, so there is no repr."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    @classmethod
    def of(cls, record: UserScramCredentialRecord) -> ScramCredential:
        """The credential that a record sets."""
        return cls(record.salt, record.stored_key, record.server_key, record.iterations)


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A token; the key that goes with it is in no record. Times are in ms."""

    id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int

    @classmethod
    def of(cls, record: DelegationTokenRecord) -> DelegationToken:
        """The token that a record describes."""
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
    """Whom a record's quota is for."""
    pairs = {part.entity_type: part.entity_name for part in record.entity}
    return tuple(sorted(pairs.items(), key=lambda pair: pair[0]))
