"""A record batch: its header and its bytes, whose records are decoded when they are first read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from crc32c import crc32c

from kraftwire.log.batches.compression import DEFAULT_LIMIT, CompressionError, decompress
from kraftwire.log.batches.header import (
    CRC_FROM,
    HEADER,
    UNKNOWN_COUNT,
    BatchHeader,
    inspect_header,
)
from kraftwire.log.batches.large_records import collect
from kraftwire.log.batches.legacy import compressed_value, decode_legacy, legacy_crc
from kraftwire.log.batches.record import Record, RecordChunk, decode_records
from kraftwire.log.errors import CorruptBatch

_FILE = "<bytes>"
"""The file in errors about a batch in memory."""


class Batch:
    """One record batch, of any magic.

    `header` has its position and fields, `data` is all of its bytes, and `file` names it in errors.
    """

    def __init__(
        self, header: BatchHeader, data: bytes, file: str, *, limit: int = DEFAULT_LIMIT
    ) -> None:
        """`limit` is how many bytes the records may take; see `compression.DEFAULT_LIMIT`."""
        self.header = header
        self.data = data
        self.file = file
        self.limit = limit

    @property
    def has_valid_crc(self) -> bool:
        if self.header.magic < 2:
            return legacy_crc(self.data) == self.header.crc
        return bool(crc32c(memoryview(self.data)[CRC_FROM:]) == self.header.crc)

    @cached_property
    def records(self) -> Sequence[Record]:
        """The records, control records among them; raise `CorruptBatch` if one cannot be read.

        A list, unless that would take too much memory: see `LargeRecords`. The CRC is not checked
        here: segments check it before they return a batch.
        """
        # `decode` does not refer to the batch: the batch refers to its records, and the memory of
        # a cycle is freed only by the garbage collector.
        header, file, limit = self.header, self.file, self.limit
        data: bytes | bytearray = self.data
        if header.codec:
            data = self._unpacked()
        start = HEADER.size if header.magic >= 2 and not header.codec else 0

        def decode() -> Iterator[RecordChunk]:
            if header.magic >= 2:
                return decode_records(data, start, header, file, limit)
            return decode_legacy(data, header, file)

        return collect(decode, len(data))

    def unpacked_size(self) -> int:
        """Return the decompressed size of the batch, or raise `CorruptBatch`."""
        return len(self._unpacked()) if self.header.codec else self.header.size

    def _unpacked(self) -> bytes | bytearray:
        header = self.header
        packed: bytes | memoryview = memoryview(self.data)[HEADER.size :]
        if header.magic < 2:
            packed = compressed_value(self.data, header, self.file)
        try:
            return decompress(header.codec, packed, limit=self.limit, magic=header.magic)
        except CompressionError as error:
            raise CorruptBatch(self.file, header.position, str(error)) from None

    @property
    def base_offset(self) -> int:
        """The first offset; a compressed message of magic 0 or 1 is decompressed to find it."""
        if self.header.record_count == UNKNOWN_COUNT:
            return self.records[0].offset
        return self.header.base_offset

    @property
    def record_count(self) -> int:
        if self.header.record_count == UNKNOWN_COUNT:
            return len(self.records)
        return self.header.record_count


def decode_batch(data: bytes, position: int = 0, *, limit: int = DEFAULT_LIMIT) -> Batch:
    """Return the batch that starts at a position of bytes in memory; check its CRC.

    The records of a produce request or a fetch response are such bytes: one batch after another.
    `limit` is that of `Batch`. Raise `CorruptBatch` if the bytes are not a batch.
    """
    header, problem = inspect_header(data, position, position, len(data))
    if header is None or problem is not None:
        raise CorruptBatch(_FILE, position, problem or "not a batch")
    batch = Batch(header, data[position : header.end], _FILE, limit=limit)
    if not batch.has_valid_crc:
        raise CorruptBatch(_FILE, position, "its CRC does not match")
    return batch
