"""Record batches to Arrow: a file, or a part of it, in chunks of a few megabytes.

The file is read in pieces into one buffer. The native engine goes over the batches of a
piece that are as usual; what it stops at is read as a single batch, and goes to the Python
twin, which does the same work slower and words the errors.

Rules:
- memory is constant: a piece, a chunk, and what one batch decompresses to, which has a limit;
- the order of rows is that of the file, whichever engine made them;
- damage is told, or ends the reading: nothing is passed over in silence.
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
"""Bytes read at a time: few enough to stay in the cache while they are gone over twice."""

LOOK_AHEAD = 17
"""Bytes that the native engine reads of the batch after one: its offset, up to its magic."""

_UNUSUAL_RUN = 31
"""Batches that plain Python reads on behind one that it had to read."""

_ROWS_AT_ONCE = 10_000
"""Records of a large batch that plain Python makes before it looks whether a chunk is full."""

_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1

OnDamage = Callable[[Damage], None]
_GoingOn = Generator[pa.RecordBatch, None, tuple[BatchHeader | None, int]]
"""Chunks, and then the header of the last batch and where to go on."""


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
    """Yield the records of the batches that begin from `start` to before `end`, CRCs checked.

    Only the columns asked for are built (`RECORD_COLUMNS`); `control` takes in the records of
    control batches, which a selection of what is committed never has. A `RecordBatch` has
    about `chunk` bytes (and as many rows at most), or what one batch of up to 4 MiB has where that
    is more. `limit` is how many bytes one batch may decompress to, and the headers of one record
    may take. Without `verify_crc` a batch is read as it is, and what is wrong in it may come out
    as a record. A batch whose offsets do not fit those around it is damage; `order` is what is
    known about the batches before `start` (`Partition.order`).

    `CorruptBatch` at the first damage, behind the rows before it; with `on_damage`, that is
    called instead, for batches whose records cannot be read too, and reading goes on. It is
    called when the damage is met: rows from before it may come after that.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        source = BytesSource(bytes(source))
    if isinstance(source, str | PathLike):
        raise KraftwireError(f"open the file first: kraftwire.log.FileSource({str(source)!r})")
    if start < 0 or chunk < 1:
        raise KraftwireError(f"start={start}, chunk={chunk}: from 0 and from 1 on they must be")
    wanted = _visible(selection or Selection())
    schema = record_schema(columns)
    reading = _Reading(
        source,
        _Options(schema, wanted, control, on_damage, chunk, limit, verify_crc),
        order or BatchOrder(),
    )
    last = source.size if end is None else min(end, source.size)
    if NATIVE is None:
        return reading.python(start, last)
    return reading.native(start, last)


class _Options(NamedTuple):
    """What `decode_batches` was asked for."""

    schema: pa.Schema
    selection: Selection
    control: bool
    on_damage: OnDamage | None
    chunk: int
    limit: int
    verify_crc: bool


class _Reading:
    """One call of `decode_batches`."""

    def __init__(self, source: Source, options: _Options, order: BatchOrder) -> None:
        self._source = source
        self._order = order
        self._options = options
        self._selection = options.selection
        self._slow = PythonRecords(options.schema, options.chunk)
        self._reader = BatchReader(source, limit=options.limit, verify_crc=options.verify_crc)
        self._arena = Arena(options.limit)
        self._is_over = False

    def python(self, position: int, last: int) -> Iterator[pa.RecordBatch]:
        """Everything in plain Python."""
        good: BatchHeader | None = None
        while position < last and not self._is_over:
            item = self._read(position, good)
            good, position = yield from self._one(item, good)
        yield from self._take_slow()

    def _read(self, position: int, good: BatchHeader | None) -> Batch | Damage:
        """Read what is at a position: a batch that can be there, or damage."""
        item = self._reader.read(position, good)
        if isinstance(item, Damage):
            self._order.skip_damage()
            return item
        return self._order.advance_with(item.header, self._reader) or item

    def native(self, position: int, last: int) -> Iterator[pa.RecordBatch]:
        """What is as usual natively, single batches in Python in between."""
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
                good, position = yield from self._unusual(position, last, good, rows, len(piece))
                continue
            if not begin <= position < begin + filled:
                begin, filled = position, self._source.read_into(position, piece)
                filled = min(filled, self._source.size - begin)  # a live file grows
            stop = min(filled, last - begin)
            bounds = order.next_offset, order.bound - 1, order.has_gaps, self._source.size - begin
            at, last_batch = rows.read(piece, position - begin, stop, filled, begin, bounds)
            position = begin + at
            if last_batch >= 0:
                good = parse_header(piece, last_batch, begin + last_batch)
                assert good is not None, "the native engine has read its header"
                order.accept(good)
                yield from self._take_slow()
            if rows.has_more:
                yield from _large_batch(rows)
            elif rows.is_full:
                yield pa.record_batch(rows.take())
            elif at and self._is_cut_off(piece, at, filled, begin):
                filled = 0
            elif at == 0 or at < stop:
                good, position = yield from self._unusual(position, last, good, rows, len(piece))
        yield from self._take_slow()
        if rows.rows:
            yield pa.record_batch(rows.take())

    def _is_cut_off(self, piece: bytearray, at: int, filled: int, begin: int) -> bool:
        """Whether a batch may be whole, and the next begin, in a piece that begins with it."""
        if begin + filled >= self._source.size:
            return False
        header = parse_header(piece[at : min(at + HEADER.size, filled)], 0, at)
        return header is None or header.end + LOOK_AHEAD > filled

    def _unusual(
        self, position: int, last: int, good: BatchHeader | None, rows: Any, piece: int
    ) -> _GoingOn:
        """Go over what was not read from a piece, be it a batch too large for one."""
        item = self._read(position, good)
        if isinstance(item, Damage):
            if rows.rows and self._options.on_damage is None:
                yield pa.record_batch(rows.take())
            return (yield from self._one(item, good))
        if item.header.size > piece:
            yield from self._take_slow()
            size = len(item.data)
            header = item.header  # which was found to be in order
            bounds = header.base_offset, header.last_offset, True, size
            at, _ = rows.read(item.data, 0, size, size, position, bounds)
            if at == size:
                yield from _large_batch(rows)
                return item.header, item.header.end
        if rows.rows:
            yield pa.record_batch(rows.take())
        good, position = yield from self._one(item, good)
        # Where one is unusual others are, and each change of engine ends a chunk.
        for _ in range(_UNUSUAL_RUN):
            if position >= last or self._is_over:
                break
            good, position = yield from self._one(self._read(position, good), good)
        return good, position

    def _take_slow(self) -> Iterator[pa.RecordBatch]:
        if self._slow.rows:
            yield self._slow.take()

    def _one(self, item: Batch | Damage, good: BatchHeader | None) -> _GoingOn:
        """Go over one batch or damage; the header of the last batch then, and its end."""
        damage = item if isinstance(item, Damage) else (yield from self._append(item))
        if damage is not None:
            if self._options.on_damage is None:
                yield from self._take_slow()
                raise CorruptBatch(self._source.name, damage.start, damage.reason)
            self._options.on_damage(damage)
        if self._slow.is_full:
            yield self._slow.take()
        if isinstance(item, Batch):
            return item.header, item.header.end
        return good, item.end

    def _append(self, batch: Batch) -> Generator[pa.RecordBatch, None, Damage | None]:
        """Append a batch with the twin; returns what is wrong with it."""
        header = batch.header
        self._arena.release()
        try:
            records = self._slow.check(batch) if self._wants(header) else []
        except CorruptBatch as error:
            kind = DamageKind.CORRUPT
            return Damage(header.position, header.end, kind, error.reason, header)
        if isinstance(records, LargeRecords):
            wanted = filter(self._selection.has, records)
            while some := list(islice(wanted, _ROWS_AT_ONCE)):
                self._slow.append(header, some)
                if self._slow.is_full:
                    yield self._slow.take()
        else:
            self._slow.append(header, list(filter(self._selection.has, records)))
        return None

    def _wants(self, header: BatchHeader) -> bool:
        stop = self._selection.to_offset
        if stop is not None and header.magic >= 2 and header.base_offset >= stop:
            self._is_over = True
        if header.is_control and not self._options.control:
            return False
        return self._selection.may_have(header)

    def _bounds(self) -> tuple[int, int, int, int]:
        """The first and last offset and timestamp that are wanted."""
        wanted = self._selection
        offsets = _within(wanted.from_offset, wanted.to_offset)
        times = _within(wanted.since, wanted.until)
        if offsets is None or times is None:
            return _MIN_INT64, _MAX_INT64, _MAX_INT64, _MIN_INT64  # no time is in there
        return *offsets, *times

    def _is_visible(self, data: memoryview, position: int) -> bool:
        """Whether read_committed shows a transactional batch."""
        header = parse_header(bytes(data[: HEADER.size]), 0, position)
        assert header is not None, "the native engine has read its header"
        assert self._selection.committed is not None
        return self._selection.committed.is_visible(header)


def _large_batch(rows: Any) -> Iterator[pa.RecordBatch]:
    """Have the native engine append what is left of a large batch; yields what is full."""
    while rows.has_more:
        if rows.is_full:
            yield pa.record_batch(rows.take())
        rows.read_more()


def _within(start: int | None, stop: int | None) -> tuple[int, int] | None:
    """The first and the last of 64 bits from `start` to before `stop`; None for none."""
    first = _MIN_INT64 if start is None else max(start, _MIN_INT64)
    last = _MAX_INT64 if stop is None else min(stop - 1, _MAX_INT64)
    return (first, last) if first <= last else None


def _visible(selection: Selection) -> Selection:
    """A selection that ends where read_committed does, at the last stable offset."""
    stable = selection.committed.last_stable_offset if selection.committed is not None else None
    if stable is None or (selection.to_offset is not None and selection.to_offset <= stable):
        return selection
    return replace(selection, to_offset=stable)
