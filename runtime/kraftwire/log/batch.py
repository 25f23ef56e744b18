"""A record batch: its header, and its bytes, which are decoded when they are asked for."""

from __future__ import annotations

from functools import cached_property

from crc32c import crc32c

from kraftwire.log.compression import DEFAULT_LIMIT, CompressionError, decompress
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.header import (
    CRC_FROM,
    HEADER,
    UNKNOWN_COUNT,
    BatchHeader,
    parse_header,
    problem_of,
)
from kraftwire.log.legacy import decode_legacy, legacy_crc
from kraftwire.log.record import Record, decode_records


class Batch:
    """One record batch, of any magic.

    `header` says where it stood and what it says of itself, `data` is all of its bytes, and
    `file` is what errors call its file.
    """

    def __init__(
        self, header: BatchHeader, data: bytes, file: str, *, limit: int = DEFAULT_LIMIT
    ) -> None:
        """`limit` is how many bytes the records may decompress to."""
        self.header = header
        self.data = data
        self.file = file
        self.limit = limit

    @property
    def has_valid_crc(self) -> bool:
        """Whether the CRC in the header is that of the bytes."""
        if self.header.magic < 2:
            return legacy_crc(self.data) == self.header.crc
        return bool(crc32c(memoryview(self.data)[CRC_FROM:]) == self.header.crc)

    @cached_property
    def records(self) -> list[Record]:
        """The records, control records among them; `CorruptBatch` where they cannot be read.

        The CRC is not looked at: segments check it before they hand a batch out.
        """
        header = self.header
        if header.magic < 2:
            return decode_legacy(self.data, header, self.file, self.limit)
        if not header.codec:
            return decode_records(self.data, HEADER.size, header, self.file)
        packed = memoryview(self.data)[HEADER.size :]
        try:
            data = decompress(header.codec, packed, limit=self.limit)
        except CompressionError as error:
            raise CorruptBatch(self.file, header.position, str(error)) from None
        return decode_records(data, 0, header, self.file)

    @property
    def base_offset(self) -> int:
        """The first offset; the messages within a message of magic 0 or 1 are read for it."""
        if self.header.record_count == UNKNOWN_COUNT:
            return self.records[0].offset
        return self.header.base_offset

    @property
    def record_count(self) -> int:
        """How many records there are, tombstones and control records among them."""
        if self.header.record_count == UNKNOWN_COUNT:
            return len(self.records)
        return self.header.record_count


def parse_batch(data: bytes, position: int = 0, file: str = "<bytes>") -> Batch:
    """The batch that starts at a position of bytes in memory, its CRC checked.

    `CorruptBatch` where there is none. The records of a produce request or of a fetch
    response are such bytes, one batch behind the other.
    """
    header = parse_header(data, position, position)
    if header is None:
        raise CorruptBatch(file, position, f"{len(data) - position} bytes are no batch")
    problem = problem_of(header)
    if problem is None and header.end > len(data):
        problem = f"a batch of {header.size} bytes, {len(data) - position} left"
    if problem is not None:
        raise CorruptBatch(file, position, problem)
    batch = Batch(header, data[position : header.end], file)
    if not batch.has_valid_crc:
        raise CorruptBatch(file, position, "its CRC does not match")
    return batch
