"""The headers of record batches: everything before the records.

Magic 2, the format since Kafka 0.11 (KIP-98), 61 bytes:

    base offset            int64      last offset delta      int32
    batch length           int32      base timestamp         int64, ms
    partition leader epoch int32      max timestamp          int64, ms
    magic                  int8       producer id            int64
    crc                    uint32     producer epoch         int16
    attributes             int16      base sequence          int32
                                      record count           int32

The length counts the bytes after itself; the CRC-32C covers everything from the attributes on.
Attributes: bits 0-2 codec, 3 LogAppendTime, 4 transactional, 5 control, 6 delete horizon
(the base timestamp is then when tombstones and markers may be removed, KIP-534).

A message of magic 0 or 1 counts as a batch: offset, size, CRC-32, magic, attributes,
with magic 1 a timestamp; then key and value. The value of a compressed message contains
messages; its offset is that of the last one.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from kraftwire.log.batches.compression import Compression
from kraftwire_wire.errors import count_of

LOG_OVERHEAD = 12
"""Bytes of the base offset and the length."""

HEADER = Struct(">qiibIhiqqqhii")
LEGACY_HEADER = Struct(">qiIbb")
MAGIC_AT = 16
"""The position of the magic, in every format."""

CRC_FROM = 21
LEGACY_CRC_FROM = 16
NO_TIMESTAMP = -1
NO_PRODUCER = -1
NO_SEQUENCE = -1
UNKNOWN_COUNT = -1

_TIMESTAMP = Struct(">q")
_CODEC_BITS = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

MIN_LENGTH = HEADER.size - LOG_OVERHEAD
_MIN_LENGTHS = {0: 14, 1: 22, 2: MIN_LENGTH}
_MAX_SEQUENCE = 0x7FFFFFFF
MAX_OFFSET = (1 << 63) - 1


class BatchHeader(NamedTuple):
    """The position of a batch in its file, and its header's fields in the order of magic 2.

    For magic 0 and 1, `base_offset` is the offset in the header, the record count is 1, or
    `UNKNOWN_COUNT` if the message is compressed, and fields that the format lacks are -1.
    """

    position: int
    base_offset: int
    length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        return self.length + LOG_OVERHEAD

    @property
    def end(self) -> int:
        return self.position + self.length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        """The last offset of the batch, even if compaction removed its record."""
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> int:
        """The number of the codec; `Compression` has their names, and 5 to 7 have none."""
        return self.attributes & _CODEC_BITS

    @property
    def codec_label(self) -> str:
        codec = self.codec
        return Compression(codec).label if codec <= Compression.ZSTD else str(codec)

    @property
    def has_log_append_time(self) -> bool:
        """Whether the broker's clock gave all records the max timestamp."""
        return bool(self.attributes & LOG_APPEND_TIME) and self.magic >= 1

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL) and self.magic >= 2

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL) and self.magic >= 2

    @property
    def delete_horizon(self) -> int | None:
        """When the cleaner may remove tombstones and markers, in ms; None if not set."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON and self.magic >= 2 else None

    @property
    def last_sequence(self) -> int:
        return self.sequence_at(self.last_offset_delta)

    def sequence_at(self, offset_delta: int) -> int:
        """Return the sequence of the record at an offset; 0 follows 2**31 - 1."""
        if self.base_sequence < 0:
            return NO_SEQUENCE
        return (self.base_sequence + offset_delta) & _MAX_SEQUENCE

    @property
    def header_size(self) -> int:
        """Bytes before the records, or before key and value with magic 0 and 1."""
        if self.magic >= 2:
            return HEADER.size
        return LEGACY_HEADER.size + (_TIMESTAMP.size if self.magic else 0)


def parse_header(data: bytes | bytearray, start: int, position: int) -> BatchHeader | None:
    """Return the header that starts at `data[start]`, which is the file's byte `position`.

    Return None if the bytes end before the header does. The fields are not checked. A header with
    an unknown magic is read like magic 2.
    """
    left = len(data) - start
    if left <= MAGIC_AT:
        return None
    magic = data[start + MAGIC_AT]
    if magic > 1:
        if left < HEADER.size:
            return None
        return tuple.__new__(BatchHeader, (position, *HEADER.unpack_from(data, start)))
    size = LEGACY_HEADER.size + (_TIMESTAMP.size if magic else 0)
    if left < size:
        return None
    offset, length, crc, _, attributes = LEGACY_HEADER.unpack_from(data, start)
    timestamp = NO_TIMESTAMP
    if magic:
        timestamp = _TIMESTAMP.unpack_from(data, start + LEGACY_HEADER.size)[0]
    count = UNKNOWN_COUNT if attributes & _CODEC_BITS else 1
    return BatchHeader(
        position=position,
        base_offset=offset,
        length=length,
        partition_leader_epoch=-1,
        magic=magic,
        crc=crc,
        attributes=attributes,
        last_offset_delta=0,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=NO_PRODUCER,
        producer_epoch=-1,
        base_sequence=NO_SEQUENCE,
        record_count=count,
    )


def parse_sound_header(data: bytes, start: int, position: int, size: int) -> BatchHeader | None:
    """Return a valid header of magic 2 in a file of `size` bytes; None for anything else.

    The fast path: call `inspect_header` to find out why it returned None.
    """
    if len(data) - start < HEADER.size:
        return None
    fields = HEADER.unpack_from(data, start)
    offset, length, _, magic, _, _, delta, _, _, _, _, _, count = fields
    if (
        magic == 2
        and MIN_LENGTH <= length <= size - position - LOG_OVERHEAD
        and 0 <= offset <= MAX_OFFSET - delta
        and delta >= 0
        and count >= 0
    ):
        return tuple.__new__(BatchHeader, (position, *fields))
    return None


def problem_of(header: BatchHeader) -> str | None:
    """Return what is wrong with a header, regardless of its file; None if it is valid."""
    magic = header.magic
    if magic not in _MIN_LENGTHS:
        return f"magic {magic}; only 0, 1 and 2 are known"
    if header.length < _MIN_LENGTHS[magic]:
        return f"batch length {header.length} is below the minimum, {_MIN_LENGTHS[magic]}"
    if header.base_offset < 0:
        return f"base offset {header.base_offset} is negative"
    if header.base_offset + header.last_offset_delta > MAX_OFFSET:
        return f"base offset {header.base_offset} plus {header.last_offset_delta} is too large"
    if magic >= 2 and (header.last_offset_delta < 0 or header.record_count < 0):
        return f"{header.record_count} records with last offset delta {header.last_offset_delta}"
    return None


def inspect_header(
    data: bytes, start: int, position: int, size: int
) -> tuple[BatchHeader | None, str | None]:
    """Return the header of any magic at `data[start]`, and what is wrong with it.

    Each is None if there is no such thing. `position` is that of the header in a file of `size`
    bytes.
    """
    header = parse_header(data, start, position)
    if header is None:
        return None, f"{count_of(size - position, 'byte')} left, too few for the header of a batch"
    problem = problem_of(header)
    if problem is None and header.end > size:
        problem = f"a batch of {header.size} bytes, but {size - position} are left"
    return header, problem
