"""The offset of a stream, as Spark stores it in a checkpoint.

    {"next": {"orders": {"0": 123, "1": 7}}, "first": {"orders": {"1": 0}}}

`next` has the log offset to read next, by topic and partition. Unlike positions in files, log
offsets do not change when segments are rolled, deleted and compacted. `first` has the start of each
partition that is new in this offset, so that a batch repeated after a crash starts at the same
place. A stream without batches is `{}`.
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
    """The offsets to read next, by partition, and the first offsets of new partitions."""

    next: Mapping[Name, int] = field(default_factory=dict)
    first: Mapping[Name, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON to store; equal offsets give the same text, which Spark compares."""
        found = {"next": _nested(self.next)}
        return found | {"first": _nested(self.first)} if self.first else found


def parse_stream_offset(stored: Mapping[str, Any] | None) -> StreamOffset | None:
    """Parse the offset in a checkpoint; None for a stream without batches."""
    if not stored:
        return None
    try:
        return StreamOffset(_flat(stored["next"]), _flat(stored.get("first", {})))
    except (KeyError, TypeError, ValueError, AttributeError):
        reason = "it belongs to another source or to a newer version"
        raise KraftwireError(f"the checkpoint has no offset of this source: {reason}") from None


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
