"""Explains record batches: header fields, flags, CRCs, and the records.

Explaining ends at a batch that cannot be read. A wrong CRC is a finding, and its batch is
explained anyway. Compressed records are one row, followed by a separate view of their content,
whose offsets begin at 0. `log` names the kind of records, as in
`kraftwire.log.queries.typed_records`.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import construct as c  # type: ignore[import-untyped]
from crc32c import crc32c

from kraftwire.construct_schema import Label, Part, Refusal
from kraftwire.explain.record_schema import HEADER, LEGACY_CONTENT, LEGACY_HEADERS, RECORD
from kraftwire.explain.rows import Scope
from kraftwire.explain.trace import Remark, Trace, remark_on_crc
from kraftwire.explain.typed import RecordOpener
from kraftwire.log.batches.compression import (
    DEFAULT_LIMIT,
    CompressionError,
    decompress,
    over_limit,
)
from kraftwire.log.batches.header import (
    CONTROL,
    CRC_FROM,
    DELETE_HORIZON,
    LEGACY_CRC_FROM,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC_AT,
    TRANSACTIONAL,
    BatchHeader,
    parse_header,
    problem_of,
)
from kraftwire.log.batches.record import OBJECT_BYTES
from kraftwire_wire.errors import count_of
from kraftwire_wire.registry import Registry

_BITS = (
    (LOG_APPEND_TIME, "timestamp_type", "LogAppendTime", "CreateTime", 1),
    (TRANSACTIONAL, "transactional", "yes", "no", 2),
    (CONTROL, "control", "yes", "no", 2),
    (DELETE_HORIZON, "delete_horizon", "in the base timestamp", "none", 2),
)
_LENGTH_AT = 8
_LAST_DELTA_AT = 23
_COUNT_AT = 57


@dataclass(frozen=True, slots=True)
class BatchExplainer:
    """Explains consecutive batches.

    `limit` is the number of bytes that a batch may decompress to. With `may_be_cut`, the last
    batch may be incomplete, as in a fetch response.
    """

    registry: Registry
    log: str | None = None
    limit: int = DEFAULT_LIMIT
    may_be_cut: bool = False
    is_inner: bool = False
    """True for the messages inside a compressed message of magic 0 or 1."""

    def run(self, scope: Scope, data: bytes) -> None:
        """Explain batches that fill the data; paths start at the scope's path or `batches`."""
        position = number = 0
        while 0 <= position < len(data):
            path = f"{scope.path or 'batches'}[{number}]"
            inside = scope.inside(position, deeper=0, path=path)
            size = self.batch(inside, data, position)
            if size is None:
                return
            position += size
            number += 1

    def batch(self, scope: Scope, data: bytes, position: int) -> int | None:
        """Explain the batch at `position` of the data, with which the scope begins.

        Returns the batch's size, or None if no more batches can be read.
        """
        header = parse_header(data, position, 0)
        left = len(data) - position
        if header is None:
            reason = f"{count_of(left, 'byte')} left, too few for the header of a batch"
            self._give_up(Trace(data[position:], scope), reason, 0)
            return None
        problem, at = _problem(header, left)
        end = len(data) if problem else position + header.size
        trace = self._trace(data[position:end], header, scope.inside(0))
        scope.add("struct", "record batch", 0, end - position)
        trace.parse(LEGACY_HEADERS.get(header.magic, HEADER))
        if problem:
            self._give_up(trace, problem, at)
            return None
        if header.magic < 2:
            self._legacy(trace, header)
        elif header.codec:
            packed = trace.data[trace.covered :]
            part = Part("value", f"{header.codec_label} data", "records", "records")
            trace.parse(Label(c.Bytes(len(packed)), part))
            self._packed(trace, header, packed)
        else:
            trace.records()
        return header.size

    def _give_up(self, trace: Trace, problem: str, at: int) -> None:
        """Explain bytes that are not a complete batch."""
        is_cut = at in (0, _LENGTH_AT) and "left" in problem
        if not (self.may_be_cut and is_cut):
            trace.refuse(problem, "", at)
            return
        rest = len(trace.data) - trace.covered
        part = Part("value", "part of a batch", "rest", "rest")
        if rest:
            trace.parse(Label(c.Bytes(rest), part))

    def _trace(self, data: bytes, header: BatchHeader, scope: Scope) -> _BatchTrace:
        opener = RecordOpener(self.registry, self.log, is_control=header.is_control)
        return _BatchTrace(data, header, scope, opener, self.limit)

    def _legacy(self, trace: _BatchTrace, header: BatchHeader) -> None:
        content, error = trace.parse(LEGACY_CONTENT)
        if error is not None or trace.check_end("key and value") is not None or not header.codec:
            return
        if content.value is None:
            trace.refuse("a compressed message without a value", "value", len(trace.data) - 4)
        elif self.is_inner:
            trace.refuse("a compressed message within a compressed message", "attributes", MAGIC_AT)
        else:
            self._packed(trace, header, content.value)

    def _packed(self, trace: _BatchTrace, header: BatchHeader, packed: bytes) -> None:
        """Explain the content of a compressed batch as a separate view."""
        scope = trace.scope
        try:
            data = bytes(decompress(header.codec, packed, limit=self.limit, magic=header.magic))
        except CompressionError as error:
            trace.refuse(str(error), "records", len(trace.data) - len(packed))
            return
        outer = f"{scope.view}, in it " if scope.view else ""
        view = f"{outer}the batch at byte {scope.base}"
        inner = Scope(scope.report, 0, scope.depth, scope.path, view)
        size = count_of(len(data), "byte")
        note = f"{view}: {size} from {header.codec_label}; offsets begin at 0 again"
        inner.add("view", "decompressed", 0, len(data), note=note)
        inner = inner.inside(0)
        if header.magic >= 2:
            self._trace(data, header, inner).records()
        else:
            explainer = BatchExplainer(self.registry, self.log, self.limit, is_inner=True)
            explainer.run(inner.inside(0, deeper=0, path=f"{scope.path}.messages"), data)


def _problem(header: BatchHeader, left: int) -> tuple[str, int]:
    """Return why a batch cannot be read, or "", and the byte of the mistake."""
    problem = problem_of(header)
    if problem is None:
        if header.size <= left:
            return "", 0
        return f"a batch of {header.size} bytes is announced, {left} are left", _LENGTH_AT
    if problem.startswith("magic"):
        return problem, MAGIC_AT
    if "length" in problem:
        return problem, _LENGTH_AT
    if header.base_offset < 0:
        return problem, 0
    return problem, _COUNT_AT if header.record_count < 0 else _LAST_DELTA_AT


class _BatchTrace(Trace):
    """Explains the header and records of a batch, or its decompressed records."""

    def __init__(
        self,
        data: bytes,
        header: BatchHeader,
        scope: Scope,
        opener: RecordOpener,
        limit: int,
    ) -> None:
        super().__init__(data, scope)
        self._header = header
        self._limit = limit
        self._opener = opener
        self._in_records = False

    def records(self) -> None:
        """Explain the records; refuse bytes after them."""
        scope, count = self.scope, self._header.record_count
        self._in_records = True
        for number in range(count):
            self._opener.begin()
            record = scope.inside(0, deeper=0, path=f"{scope.path}.records[{number}]")
            record.add("struct", "record", self.tell())
            self.scope = record.inside(0)
            if self.parse(RECORD)[1] is not None:
                return
        self.scope = scope
        self.check_end(f"the last of {count_of(count, 'record')}")

    def opens(self, part: Part, value: Any, scope: Scope) -> bool:
        return part.name in ("key", "value") and self._opener.opens(part, value, scope)

    def remark(self, part: Part, value: Any) -> Remark:
        header = self._header
        if part.role == "count" and value * OBJECT_BYTES > self._limit:
            raise Refusal(over_limit(f"{value} headers are too many for one record", self._limit))
        match part.name:
            case "crc":
                return self._crc(value)
            case "batch_length" | "message_size":
                return Remark(f"a batch of {value + LOG_OVERHEAD} bytes")
            case "base_timestamp" | "max_timestamp" | "timestamp":
                return Remark(time_ms=value) if value >= 0 else Remark("none")
            case "timestamp_delta":
                return Remark(time_ms=header.base_timestamp + value)
            case "last_offset_delta":
                return Remark(f"offset {header.last_offset}")
            case "offset_delta":
                return Remark(f"offset {header.base_offset + value}")
            case "producer_id" | "producer_epoch" | "base_sequence" if value == -1:
                return Remark("none")
        return Remark()

    def _crc(self, crc: int) -> Remark:
        if len(self.data) != self._header.size:
            return Remark(f"0x{crc:08x}")
        if self._header.magic >= 2:
            return remark_on_crc(crc, crc32c(memoryview(self.data)[CRC_FROM:]))
        return remark_on_crc(crc, zlib.crc32(memoryview(self.data)[LEGACY_CRC_FROM:]))

    def after(self, part: Part, value: Any, scope: Scope) -> None:
        """Explain the flags in a batch's attributes; a record's attributes are unused."""
        if part.name != "attributes" or self._in_records:
            return
        header = self._header
        size = 2 if header.magic >= 2 else 1
        codec_bits = "bits 0-2" if size == 2 else "bits 0-1"
        scope.add("bits", codec_bits, 0, size, name="codec", note=header.codec_label)
        for bit, name, yes, no, magic in _BITS:
            if header.magic >= magic:
                note = yes if value & bit else no
                where = f"bit {bit.bit_length() - 1}"
                scope.add("bits", where, 0, size, name=name, note=note)
