"""Explains stored files: all their batches or index entries, or the one at a position or offset.

Batches are read one by one, so memory does not grow with the file. The path of a file determines
what its records mean (`kraftwire.log.queries.typed_records`).
"""

from __future__ import annotations

from typing import Any

import construct as c  # type: ignore[import-untyped]
from crc32c import crc32c

from kraftwire.construct_schema import Label, Part
from kraftwire.explain.batches import BatchExplainer
from kraftwire.explain.message_trace import MessageTrace, number
from kraftwire.explain.rows import Scope
from kraftwire.explain.trace import Remark, Trace, remark_on_crc
from kraftwire.log.batches.header import BatchHeader
from kraftwire.log.directories.file_names import BATCH_FILES, FileKind
from kraftwire.log.directories.partition import LogFile
from kraftwire.log.segments.segment import Damage, scan_headers
from kraftwire.log.small_files.indexes import OFFSET_ENTRY, TIME_ENTRY, TXN_ENTRY_SIZE
from kraftwire.log.sources.source import Source
from kraftwire_wire.errors import KraftwireError, count_of
from kraftwire_wire.registry import Registry

_MAX_DAMAGE = 1 << 20
"""The most damaged bytes that are shown: the whole rest of a file may be damaged."""

_INT32, _INT64 = ("int32", c.Int32sb), ("int64", c.Int64sb)
_ENTRIES = {
    FileKind.OFFSET_INDEX: (
        OFFSET_ENTRY.size,
        (("relative_offset", *_INT32), ("position", *_INT32)),
    ),
    FileKind.TIME_INDEX: (TIME_ENTRY.size, (("timestamp", *_INT64), ("relative_offset", *_INT32))),
}
_CRC_FROM = 6
"""The position in a producer snapshot at which the bytes covered by its CRC begin."""

EXPLAINABLE = frozenset(
    {*BATCH_FILES, *_ENTRIES, FileKind.TRANSACTION_INDEX, FileKind.PRODUCER_SNAPSHOT}
)
"""The file kinds that can be explained; files of other kinds are text."""


def explain_file(
    reader: BatchExplainer,
    file: LogFile,
    scope: Scope,
    *,
    position: int | None = None,
    offset: int | None = None,
) -> None:
    """Explain a file of a kind in `EXPLAINABLE`, or the batch or entry at a position in it.

    Raises `KraftwireError` if the file has no such position or offset.
    """
    with file.open() as source:
        if position is not None and not 0 <= position < source.size:
            raise KraftwireError(f"{file.path} has no byte {position}: it has {source.size}")
        if file.kind in BATCH_FILES:
            _batches(reader, source, scope, position, offset)
        elif offset is not None:
            raise KraftwireError(f"{file.path} has no batches, so it has no offset {offset}")
        elif file.kind is FileKind.PRODUCER_SNAPSHOT:
            snapshot = reader.registry.message("ProducerSnapshot")
            _ProducersTrace(file.read(), scope, reader.registry).prefixed(snapshot)
        else:
            _entries(reader.registry, file, source, scope, position)


def _batches(
    reader: BatchExplainer, source: Source, scope: Scope, position: int | None, offset: int | None
) -> None:
    found = False
    for place, item in enumerate(scan_headers(source)):
        if not _is_selected(item, position, offset):
            continue
        found = True
        _batch(reader, source, scope, item, place)
        if position is not None or offset is not None:
            return
    if not found and offset is not None:
        raise KraftwireError(f"{source.name} has no batch with offset {offset}")


def _is_selected(item: BatchHeader | Damage, position: int | None, offset: int | None) -> bool:
    if position is not None:
        return position < item.end
    if offset is None:
        return True
    if not isinstance(item, BatchHeader):
        return False
    # A compressed message of magic 0 or 1 has the offset of the last message inside it.
    first = item.base_offset if item.magic >= 2 else 0
    return first <= offset <= item.last_offset


def _batch(
    reader: BatchExplainer, source: Source, scope: Scope, item: BatchHeader | Damage, place: int
) -> None:
    """Explain a batch, or the damage instead of it."""
    start = item.start if isinstance(item, Damage) else item.position
    inside = scope.inside(start, deeper=0, path=f"batches[{place}]")
    if isinstance(item, BatchHeader):
        reader.batch(inside, source.read_at(start, item.size), 0)
        return
    data = source.read_at(start, min(item.size, _MAX_DAMAGE))
    left = item.size - len(data)
    hidden = f"; {count_of(left, 'more byte')} not shown" if left else ""
    if item.claimed is None or reader.batch(inside, data, 0) is not None:
        Trace(data, inside).refuse(f"{item.kind.value}: {item.reason}{hidden}", "", 0)


def _entries(
    registry: Registry, file: LogFile, source: Source, scope: Scope, position: int | None
) -> None:
    """Explain the entries of an index, or the one at a position."""
    size = _ENTRIES[file.kind][0] if file.kind in _ENTRIES else TXN_ENTRY_SIZE
    first = 0 if position is None else position - position % size
    last = source.size if position is None else min(first + size, source.size)
    zeros_from: int | None = None
    for start in range(first, last, size):
        inside = scope.inside(start, deeper=0, path=f"entries[{start // size}]")
        data = source.read_at(start, size)
        if not any(data) and start:
            zeros_from = _zeros_from(source) if zeros_from is None else zeros_from
            if start >= zeros_from:
                _zeros(source, inside, start, last)
                return
        _entry(registry, file, data, inside)


def _zeros_from(source: Source) -> int:
    """Return the position at which the zeros at the end of a file begin."""
    end = source.size
    while end:
        size = min(end, _MAX_DAMAGE)
        data = source.read_at(end - size, size).rstrip(b"\0")
        end -= size
        if data:
            return end + len(data)
    return 0


def _zeros(source: Source, scope: Scope, start: int, end: int) -> None:
    """Explain the zeros that a broker has allocated for future entries."""
    data = source.read_at(start, min(end - start, _MAX_DAMAGE))
    left = end - start - len(data)
    hidden = f"; {count_of(left, 'more byte')} not shown" if left else ""
    Trace(data, scope).parse(
        Label(c.Bytes(len(data)), Part("value", f"zeros, allocated ahead{hidden}"))
    )


def _entry(registry: Registry, file: LogFile, data: bytes, scope: Scope) -> None:
    scope.add("struct", "entry")
    if file.kind is FileKind.TRANSACTION_INDEX:
        MessageTrace(data, scope.inside(0), registry).prefixed(registry.message("AbortedTxn"))
        return
    trace = _EntryTrace(data, scope.inside(0), file.base_offset)
    trace.parse(c.Struct(*(number(*field) for field in _ENTRIES[file.kind][1])))


class _EntryTrace(Trace):
    """Explains an index entry, whose offsets are relative to the segment's base offset."""

    def __init__(self, data: bytes, scope: Scope, base_offset: int) -> None:
        super().__init__(data, scope)
        self._base_offset = base_offset

    def remark(self, part: Part, value: Any) -> Remark:
        if part.name == "relative_offset":
            return Remark(f"offset {self._base_offset + value}")
        return Remark(time_ms=value) if part.name == "timestamp" else Remark()


class _ProducersTrace(MessageTrace):
    """Explains a producer snapshot, whose CRC covers the bytes after it."""

    def remark(self, part: Part, value: Any) -> Remark:
        if part.name != "crc":
            return Remark()
        return remark_on_crc(value, crc32c(self.data[_CRC_FROM:]))
