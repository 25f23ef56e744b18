"""Decodes the record batches of a file, or a part of it, to Arrow chunks of a few megabytes.

The file is read in pieces into one buffer. The native engine decodes the ordinary batches of a
piece. Where it stops, plain Python reads the next batches: it does the same work more slowly and
raises the errors.

Rules:
- memory is constant: a piece, a chunk, and one decompressed batch, whose size is limited;
- rows are in the order of the file, whichever engine decodes them;
- damage is reported or ends the reading: nothing is skipped silently.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from os import PathLike
from typing import Any, NamedTuple

import pyarrow as pa
from crc32c import crc32c

from kraftwire.columns.engine import NATIVE
from kraftwire.columns.python_records import PythonRecords
from kraftwire.columns.schema import DEFAULT_COLUMNS, record_schema
from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.compression import DEFAULT_LIMIT, Arena
from kraftwire.log.batches.header import HEADER, BatchHeader, parse_header
from kraftwire.log.batches.large_records import LargeRecords
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.queries.selection import Selection
from kraftwire.log.segments.batch_order import BatchOrder
from kraftwire.log.segments.segment import BatchReader, Damage, DamageKind
from kraftwire.log.sources.source import BytesSource, Source
from kraftwire_wire.errors import KraftwireError

CHUNK = 2 << 20
PIECE = 512 << 10
"""Number of bytes read at a time: few enough to stay in the CPU cache for two passes."""

LOOK_AHEAD = 17
"""Number of bytes that the native engine reads of the next batch, up to its magic."""

_UNUSUAL_RUN = 31
"""Number of batches that plain Python also reads after one that the native engine left."""

_ROWS_AT_ONCE = 10_000
"""Number of records that plain Python decodes before it checks whether a chunk is full."""

_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1

OnDamage = Callable[[Damage], None]
_Chunks = Generator[pa.RecordBatch, None, tuple[BatchHeader | None, int]]
"""Yields chunks; returns the header of the last sound batch and the next position."""


def decode_batches(
    source: Source | bytes | bytearray | memoryview,
    columns: Iterable[str] = DEFAULT_COLUMNS,
    *,
    start: int = 0,
    end: int | None = None,
    selection: Selection | None = None,
    control: bool = False,
    on_damage: OnDamage | None = None,
    chunk: int = CHUNK,
    limit: int = DEFAULT_LIMIT,
    verify_crc: bool = True,
    order: BatchOrder | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of the batches that begin at `start` or later and before `end`.

    Builds only the requested columns (see `RECORD_COLUMNS`). A `RecordBatch` has about `chunk`
    bytes and at most as many rows; it is larger if a single batch of up to 4 MiB is.

    - `control` includes the records of control batches, unless only committed records are selected.
    - `limit` is the number of bytes that one batch may decompress to, and that the headers of one
      record may take.
    - Without `verify_crc`, CRCs are not checked, and damage may be decoded as a record.
    - `order` holds what is known about the batches before `start` (`Partition.order`). A batch
      whose offsets do not fit those around it is damage.

    Raises `CorruptBatch` at the first damage, after yielding the rows before it. If `on_damage` is
    passed, it is called instead, also for batches whose records cannot be read, and reading
    continues. Rows from before the damage may be yielded after the call.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        source = BytesSource(bytes(source))
    if isinstance(source, str | PathLike):
        raise KraftwireError(f"open the file first: kraftwire.log.FileSource({str(source)!r})")
    if start < 0 or chunk < 1:
        raise KraftwireError(f"start={start}, chunk={chunk}: start is at least 0, chunk at least 1")
    schema = record_schema(columns)
    selected = _cap_at_stable(selection or Selection())
    options = _DecodeOptions(schema, selected, control, on_damage, chunk, limit, verify_crc)
    decoder = _BatchDecoder(source, options, order or BatchOrder())
    last = source.size if end is None else min(end, source.size)
    if NATIVE is None:
        return decoder.decode_in_python(start, last)
    return decoder.decode_natively(start, last)


class _DecodeOptions(NamedTuple):
    """The arguments of `decode_batches`."""

    schema: pa.Schema
    selection: Selection
    control: bool
    on_damage: OnDamage | None
    chunk: int
    limit: int
    verify_crc: bool


class _BatchDecoder:
    """The state of one call of `decode_batches`."""

    def __init__(self, source: Source, options: _DecodeOptions, order: BatchOrder) -> None:
        self._source = source
        self._order = order
        self._options = options
        self._selection = options.selection
        self._python_records = PythonRecords(options.schema, options.chunk)
        self._reader = BatchReader(source, limit=options.limit, verify_crc=options.verify_crc)
        self._arena = Arena(options.limit)
        self._is_over = False

    def decode_in_python(self, position: int, last: int) -> Iterator[pa.RecordBatch]:
        """Decode all batches in plain Python."""
        good: BatchHeader | None = None
        while position < last and not self._is_over:
            item = self._read(position, good)
            good, position = yield from self._decode_one(item, good)
        yield from self._take_python_rows()

    def _read(self, position: int, good: BatchHeader | None) -> Batch | Damage:
        """Read a batch, or the damage instead; a batch out of order is damage."""
        item = self._reader.read(position, good)
        if isinstance(item, Damage):
            self._order.skip_damage()
            return item
        return self._order.advance_with(item.header, self._reader) or item

    def decode_natively(self, position: int, last: int) -> Iterator[pa.RecordBatch]:
        """Decode ordinary batches natively, and the batches at which that stops in Python."""
        assert NATIVE is not None
        rows = NATIVE.RecordColumns(
            self._options.schema.names,
            self._bounds(),
            self._options.chunk,
            self._options.control,
            crc32c if self._options.verify_crc else None,
            self._arena.decompress,
            self._is_visible if self._selection.committed is not None else None,
            self._options.limit,
        )
        piece = bytearray(min(PIECE, max(self._source.size - position, 1)))
        good: BatchHeader | None = None
        begin = filled = 0
        order = self._order
        while position < last and not self._is_over:
            if not order.is_plain:
                good, position = yield from self._decode_unusual(
                    position, last, good, rows, len(piece)
                )
                continue
            if not begin <= position < begin + filled:
                begin, filled = position, self._source.read_into(position, piece)
                filled = min(filled, self._source.size - begin)  # a file in use grows
            stop = min(filled, last - begin)
            bounds = order.next_offset, order.bound - 1, order.has_gaps, self._source.size - begin
            at, last_batch = rows.read(piece, position - begin, stop, filled, begin, bounds)
            position = begin + at
            if last_batch >= 0:
                good = parse_header(piece, last_batch, begin + last_batch)
                assert good is not None, "the native engine has read its header"
                order.accept(good)
                yield from self._take_python_rows()
            if rows.has_more:
                yield from _large_batch(rows)
            elif rows.is_full:
                yield pa.record_batch(rows.take())
            elif at and self._is_cut_off(piece, at, filled, begin):
                filled = 0
            elif at == 0 or at < stop:
                good, position = yield from self._decode_unusual(
                    position, last, good, rows, len(piece)
                )
        yield from self._take_python_rows()
        if rows.rows:
            yield pa.record_batch(rows.take())

    def _is_cut_off(self, piece: bytearray, at: int, filled: int, begin: int) -> bool:
        """Whether the piece cuts off this batch or the start of the next one."""
        if begin + filled >= self._source.size:
            return False
        header = parse_header(piece[at : min(at + HEADER.size, filled)], 0, at)
        return header is None or header.end + LOOK_AHEAD > filled

    def _decode_unusual(
        self, position: int, last: int, good: BatchHeader | None, rows: Any, piece: int
    ) -> _Chunks:
        """Decode what the native engine left, such as a batch larger than a piece."""
        item = self._read(position, good)
        if isinstance(item, Damage):
            if rows.rows and self._options.on_damage is None:
                yield pa.record_batch(rows.take())
            return (yield from self._decode_one(item, good))
        if item.header.size > piece:
            yield from self._take_python_rows()
            size = len(item.data)
            header = item.header  # its order has been checked
            bounds = header.base_offset, header.last_offset, True, size
            at, _ = rows.read(item.data, 0, size, size, position, bounds)
            if at == size:
                yield from _large_batch(rows)
                return item.header, item.header.end
        if rows.rows:
            yield pa.record_batch(rows.take())
        good, position = yield from self._decode_one(item, good)
        # Unusual batches come together, and each change of engine ends a chunk.
        for _ in range(_UNUSUAL_RUN):
            if position >= last or self._is_over:
                break
            good, position = yield from self._decode_one(self._read(position, good), good)
        return good, position

    def _take_python_rows(self) -> Iterator[pa.RecordBatch]:
        if self._python_records.rows:
            yield self._python_records.take()

    def _decode_one(self, item: Batch | Damage, good: BatchHeader | None) -> _Chunks:
        """Decode one batch or report damage; return the last sound header, and the end."""
        damage = item if isinstance(item, Damage) else (yield from self._append(item))
        if damage is not None:
            if self._options.on_damage is None:
                yield from self._take_python_rows()
                raise CorruptBatch(self._source.name, damage.start, damage.reason)
            self._options.on_damage(damage)
        if self._python_records.is_full:
            yield self._python_records.take()
        if isinstance(item, Batch):
            return item.header, item.header.end
        return good, item.end

    def _append(self, batch: Batch) -> Generator[pa.RecordBatch, None, Damage | None]:
        """Append a batch in Python; return the damage if its records cannot be read."""
        header = batch.header
        self._arena.release()
        try:
            records = self._python_records.check(batch) if self._is_selected(header) else []
        except CorruptBatch as error:
            kind = DamageKind.CORRUPT
            return Damage(header.position, header.end, kind, error.reason, header)
        if isinstance(records, LargeRecords):
            selected = filter(self._selection.has, records)
            while some := list(islice(selected, _ROWS_AT_ONCE)):
                self._python_records.append(header, some)
                if self._python_records.is_full:
                    yield self._python_records.take()
        else:
            self._python_records.append(header, list(filter(self._selection.has, records)))
        return None

    def _is_selected(self, header: BatchHeader) -> bool:
        """Whether a batch may have selected records; set `_is_over` if no later batch can."""
        stop = self._selection.to_offset
        if stop is not None and header.magic >= 2 and header.base_offset >= stop:
            self._is_over = True
        if header.is_control and not self._options.control:
            return False
        return self._selection.may_have(header)

    def _bounds(self) -> tuple[int, int, int, int]:
        """Return the first and last selected offset and timestamp."""
        selection = self._selection
        offsets = _bounds_of(selection.from_offset, selection.to_offset)
        times = _bounds_of(selection.since, selection.until)
        if offsets is None or times is None:
            return _MIN_INT64, _MAX_INT64, _MAX_INT64, _MIN_INT64  # no timestamp is between these
        return *offsets, *times

    def _is_visible(self, data: memoryview, position: int) -> bool:
        """Whether a transactional batch is visible to readers of committed records."""
        header = parse_header(bytes(data[: HEADER.size]), 0, position)
        assert header is not None, "the native engine has read its header"
        assert self._selection.committed is not None
        return self._selection.committed.is_visible(header)


def _large_batch(rows: Any) -> Iterator[pa.RecordBatch]:
    """Append the rest of a large batch natively, yielding full chunks."""
    while rows.has_more:
        if rows.is_full:
            yield pa.record_batch(rows.take())
        rows.read_more()


def _bounds_of(start: int | None, stop: int | None) -> tuple[int, int] | None:
    """Return the first and last int64 of `range(start, stop)`; None if it is empty."""
    first = _MIN_INT64 if start is None else max(start, _MIN_INT64)
    last = _MAX_INT64 if stop is None else min(stop - 1, _MAX_INT64)
    return (first, last) if first <= last else None


def _cap_at_stable(selection: Selection) -> Selection:
    """End a selection of committed records at the last stable offset."""
    stable = selection.committed.last_stable_offset if selection.committed is not None else None
    if stable is None or (selection.to_offset is not None and selection.to_offset <= stable):
        return selection
    return replace(selection, to_offset=stable)
