"""SCRAM credentials and the entities of quotas. An image has ACLs and tokens as records."""

from __future__ import annotations

from dataclasses import dataclass

from kraftwire_messages.kafka import ClientQuotaRecord, UserScramCredentialRecord

QuotaEntity = tuple[tuple[str, str | None], ...]
"""Types and names, ordered by type; the name of a default is None."""


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


def quota_entity(record: ClientQuotaRecord) -> QuotaEntity:
    """Return the entity of a record's quota."""
    pairs = {part.entity_type: part.entity_name for part in record.entity}
    return tuple(sorted(pairs.items(), key=lambda pair: pair[0]))
