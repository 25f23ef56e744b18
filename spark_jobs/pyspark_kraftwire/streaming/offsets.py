"""How far a stream has come, as Spark keeps it in a checkpoint.

    {"next": {"orders": {"0": 123, "1": 7}}, "first": {"orders": {"1": 0}}}

`next` has the log offset that is read next, by topic and partition. Log offsets stay what they
are while segments are rolled, deleted and compacted; positions in files do not. `first` says of
partitions that came in with this offset where they begin, so that a batch that is read again
after a crash begins where it did. A stream that has not begun is `{}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kraftwire_wire.errors import KraftwireError

Name = tuple[str, int]
"""A partition: its topic and number."""


@dataclass(frozen=True)
class StreamOffset:
    """The offset that is read next, by partition, and where new partitions begin."""

    next: Mapping[Name, int] = field(default_factory=dict)
    first: Mapping[Name, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As Spark keeps it: the same for equal offsets, since Spark compares the text."""
        found = {"next": _nested(self.next)}
        return found | {"first": _nested(self.first)} if self.first else found


def parse_stream_offset(stored: Mapping[str, Any] | None) -> StreamOffset | None:
    """What a checkpoint has; None for a stream that has not begun."""
    if not stored:
        return None
    try:
        return StreamOffset(_flat(stored["next"]), _flat(stored.get("first", {})))
    except (KeyError, TypeError, ValueError, AttributeError):
        reason = "it is of another source, or of a version that this one does not know"
        raise KraftwireError(f"the checkpoint has no offset of this source, {reason}") from None


def _nested(offsets: Mapping[Name, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def _flat(nested: Mapping[str, Mapping[str, int]]) -> dict[Name, int]:
    return {
        (topic, int(partition)): int(offset)
        for topic, offsets in nested.items()
        for partition, offset in offsets.items()
    }
