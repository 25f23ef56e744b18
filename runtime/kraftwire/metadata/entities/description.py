"""Records and their changes in one line of words.

The words come from the changed entities. Only records that change no entity have their own texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from kraftwire.metadata.entities.diff import EntityChange
from kraftwire.metadata.entities.entity import EntityKind
from kraftwire.metadata.entities.views import EntityFields
from kraftwire.redaction import redact
from kraftwire_messages import kafka
from kraftwire_wire.errors import count_of
from kraftwire_wire.message import Message

_ADDED: dict[EntityKind, tuple[str, ...]] = {
    EntityKind.FEATURE: ("level",),
    EntityKind.VOTER: ("directoryId", "endpoints"),
    EntityKind.CONTROLLER: ("endpoints",),
    EntityKind.BROKER: ("epoch", "fenced", "rack", "endpoints"),
    EntityKind.TOPIC: ("topicId",),
    EntityKind.PARTITION: ("leader", "leaderEpoch", "isr", "replicas"),
    EntityKind.CONFIG: ("value",),
    EntityKind.QUOTA: ("value",),
    EntityKind.ACL: ("host", "patternType", "id"),
    EntityKind.SCRAM: ("iterations",),
    EntityKind.TOKEN: ("owner", "expirationTimestamp"),
    EntityKind.PRODUCER_IDS: ("nextProducerId",),
}


def value_text(value: Any) -> str:
    """Return a field's value as people write it."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case list():
            return f"[{', '.join(map(value_text, value))}]"
        case {"host": host, "port": port, "name": name}:
            return f"{name}://{host}:{port}"
        case {"min": low, "max": high}:
            return f"{low}-{high}"
        case dict():
            return ", ".join(f"{key} {value_text(found)}" for key, found in value.items())
    return str(value)


def added_text(kind: EntityKind, fields: EntityFields) -> str:
    """Return the fields of a new entity that are shown after its label."""
    return ", ".join(
        f"{name} {value_text(fields[name])}" for name in _ADDED[kind] if fields[name] is not None
    )


def change_text(change: EntityChange) -> str:
    """Return one change in words."""
    name = f"{change.kind.value} {change.label}".rstrip()
    if change.after is None:
        return f"{name} removed"
    if change.before is None:
        return f"{name} added: {added_text(change.kind, change.after)}"
    parts = []
    for field in change.changed:
        before, after = value_text(change.before[field]), value_text(change.after[field])
        parts.append(f"{field} {before} -> {after}" if before != after else f"{field} changed")
    return f"{name}: {', '.join(parts)}"


def describe(
    message: Message,
    version: int,
    changes: Sequence[EntityChange],
    *,
    applied: bool = True,
    dropped: int = 0,
    secrets: bool = False,
) -> str:
    """Return what a record did; `dropped` is how many records an aborted transaction had.

    `applied` is False for a record that did not fit; its fields are then shown.
    """
    special = _special_text(message, dropped)
    if special is not None:
        return special
    if changes:
        return _changes_text(changes)
    name = type(message).__name__
    fields = message.to_json(version)
    shown = fields if secrets else redact(name, fields)
    outcome = "nothing changed" if applied else "not applied"
    return f"{outcome}: {value_text(shown)}" if shown else outcome


def _changes_text(changes: Sequence[EntityChange]) -> str:
    first, *rest = changes
    text = change_text(first)
    if len(changes) > 1 and all(change.after is None for change in changes):
        with_it = Counter(change.kind for change in rest)
        counts = (
            f"{count} {kind.value if count == 1 else kind.section}"
            for kind, count in with_it.items()
        )
        return f"{text}, with {', '.join(counts)}"
    return "; ".join([text, *map(change_text, rest)])


def _special_text(message: Message, dropped: int) -> str | None:
    """Return what a record did that changes no entity; None for other records."""
    match message:
        case kafka.LeaderChangeMessage():
            voters = value_text([voter.voter_id for voter in message.voters])
            granting = value_text([voter.voter_id for voter in message.granting_voters])
            return f"leader of the quorum: {message.leader_id}, elected by {granting} of {voters}"
        case kafka.BeginTransactionRecord():
            return f"transaction begins: {message.name}" if message.name else "transaction begins"
        case kafka.EndTransactionRecord():
            return "transaction ends: the records since its beginning take effect"
        case kafka.AbortTransactionRecord():
            reason = f": {message.reason}" if message.reason else ""
            return f"transaction aborted, {count_of(dropped, 'record')} dropped{reason}"
        case kafka.NoOpRecord():
            return "nothing"
        case kafka.ZkMigrationStateRecord():
            return f"state of the migration from ZooKeeper: {message.zk_migration_state}"
    return None
