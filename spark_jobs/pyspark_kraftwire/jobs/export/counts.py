"""The report of an export: counts of each partition, lost offsets, unreadable bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import click

from kraftwire.console.output import print_json, print_table, without_empty


class LostOffsets(NamedTuple):
    """Offsets from `first` to `last` that were lost to damage, by the offsets around it.

    `last` is None if nothing follows. Compaction may have removed some of them before.
    """

    first: int
    last: int | None
    file: str
    position: int


class CorruptBytes(NamedTuple):
    """Unreadable bytes at a position in a file; `offset` is set if they are one record."""

    file: str
    position: int
    offset: int | None
    reason: str


@dataclass
class PartitionCounts:
    """The counts of a partition or a part of one; `bytes` counts bytes of segments."""

    topic: str | None
    partition: int | None
    bytes: int = 0
    records: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    lost: list[LostOffsets] = field(default_factory=list)
    corrupt: list[CorruptBytes] = field(default_factory=list)

    def add_offsets(self, records: int, first: int | None, last: int | None) -> None:
        """Add a number of records with their first and last offset."""
        self.records += records
        bounds = [first, self.first_offset, last, self.last_offset]
        known = [offset for offset in bounds if offset is not None]
        self.first_offset, self.last_offset = min(known, default=None), max(known, default=None)

    def add(self, other: PartitionCounts) -> None:
        """Add the counts of another part."""
        self.bytes += other.bytes
        self.add_offsets(other.records, other.first_offset, other.last_offset)
        self.lost += other.lost
        self.corrupt += other.corrupt

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, obj: dict[str, Any]) -> PartitionCounts:
        """Return the counts that `to_json` returned, possibly parsed from JSON."""
        lost = [LostOffsets(*one) for one in obj["lost"]]
        corrupt = [CorruptBytes(*one) for one in obj["corrupt"]]
        return cls(**{**obj, "lost": lost, "corrupt": corrupt})


def by_partition(parts: Iterable[PartitionCounts]) -> list[PartitionCounts]:
    """Return the counts of whole partitions, in their order."""
    found: dict[tuple[str | None, int | None], PartitionCounts] = {}
    for part in parts:
        key = part.topic, part.partition
        found.setdefault(key, PartitionCounts(*key)).add(part)
    for one in found.values():
        one.corrupt.sort(
            key=lambda bad: (bad.file, bad.position, -1 if bad.offset is None else bad.offset)
        )
        one.lost.sort(key=lambda lost: (lost.file, lost.position))
    return sorted(found.values(), key=lambda one: (one.topic or "", one.partition or 0))


def print_counts(partitions: Iterable[PartitionCounts], *, as_json: bool) -> None:
    """Print the report on standard output."""
    partitions = list(partitions)
    if not partitions:
        click.echo("nothing was written: the segments are empty", err=True)
    if as_json:
        for one in partitions:
            for line in _lines(one):
                print_json(line)
        return
    rows = [
        (_label(one), one.records, one.first_offset, one.last_offset, one.bytes)
        for one in partitions
    ]
    print_table(("partition", "records", "first offset", "last offset", "bytes"), rows)
    lost = [(_label(one), *range_) for one in partitions for range_ in one.lost]
    if lost:
        columns = ("partition", "first", "last", "file", "position")
        print_table(*without_empty(columns, lost), title="\nlost offsets")
    corrupt = [(_label(one), *bad) for one in partitions for bad in one.corrupt]
    if corrupt:
        columns = ("partition", "file", "position", "offset", "reason")
        print_table(*without_empty(columns, corrupt), title="\nnot readable")


def _lines(counts: PartitionCounts) -> Iterable[dict[str, Any]]:
    where = {"topic": counts.topic, "partition": counts.partition}
    yield {
        "kind": "partition",
        **where,
        "records": counts.records,
        "firstOffset": counts.first_offset,
        "lastOffset": counts.last_offset,
        "bytes": counts.bytes,
    }
    for first, last, file, position in counts.lost:
        at = {"file": file, "position": position}
        yield {"kind": "lost", **where, "firstOffset": first, "lastOffset": last, **at}
    for one in counts.corrupt:
        yield {"kind": "corrupt", **where, **one._asdict()}


def _label(counts: PartitionCounts) -> str:
    return "(unknown)" if counts.topic is None else f"{counts.topic}-{counts.partition}"
