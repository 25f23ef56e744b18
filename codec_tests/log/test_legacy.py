"""Messages of magic 0 and 1: written by another client's builder, and by hand."""

from __future__ import annotations

import re
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from kraftwire.log import BytesSource, CorruptBatch, Record, decode_batch, read_batches
from kraftwire.log.batches.compression import Compression, compress

from codec_tests.cli.running import run
from codec_tests.columns.engines import batches_alike
from codec_tests.log.legacy_messages import message

GZIP = 1
LOG_APPEND_TIME = 8
_XXH32_OF_INNER = bytes.fromhex("da436b9e")
ROWS = st.lists(
    st.tuples(
        st.integers(0, 1 << 45),
        st.none() | st.binary(max_size=50),
        st.none() | st.binary(max_size=99),
    ),
    min_size=1,
    max_size=8,
)


@given(ROWS, st.sampled_from([0, 1]), st.sampled_from([0, GZIP]))
def test_what_another_client_writes_is_read(rows: list[Any], magic: int, codec: int) -> None:
    builder: Any = LegacyRecordBatchBuilder(magic=magic, compression_type=codec, batch_size=1 << 20)
    for number, row in enumerate(rows):
        builder.append(number, *row)
    data = bytes(builder.build())
    records = [record for batch in read_batches(BytesSource(data)) for record in batch.records]
    times = [row[0] if magic else -1 for row in rows]
    assert records == [
        Record(number, time, row[1], row[2], ())
        for number, (row, time) in enumerate(zip(rows, times, strict=True))
    ]


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.SNAPPY, Compression.LZ4])
def test_inner_offsets_of_magic_1_count_from_the_outer_one(codec: Compression) -> None:
    """KIP-31: the outer offset is that of the last message."""
    inner = b"".join(message(n, b"%d" % n) for n in range(3))
    data = message(102, compress(codec, inner), attributes=codec)
    batch = decode_batch(data)
    assert [(one.offset, one.value) for one in batch.records] == [
        (100, b"0"),
        (101, b"1"),
        (102, b"2"),
    ]
    assert (batch.base_offset, batch.header.last_offset, batch.record_count) == (100, 102, 3)


def test_compacted_inner_offsets_keep_their_gaps() -> None:
    inner = message(1, b"b") + message(4, b"e")
    data = message(14, compress(Compression.GZIP, inner), attributes=GZIP)
    assert [one.offset for one in decode_batch(data).records] == [11, 14]


def test_inner_offsets_of_magic_0_are_the_offsets() -> None:
    inner = message(100, b"a", magic=0) + message(101, b"b", magic=0)
    data = message(101, compress(Compression.GZIP, inner), magic=0, attributes=GZIP)
    assert [(one.offset, one.timestamp) for one in decode_batch(data).records] == [
        (100, -1),
        (101, -1),
    ]


def test_the_brokers_time_applies_to_all_inner_messages() -> None:
    """KIP-32."""
    inner = message(0, b"a", time=1) + message(1, b"b", time=2)
    data = message(1, compress(Compression.GZIP, inner), attributes=GZIP | 8, time=99)
    assert [one.timestamp for one in decode_batch(data).records] == [99, 99]


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.SNAPPY, Compression.LZ4])
@pytest.mark.parametrize("attributes", [0, LOG_APPEND_TIME])
def test_a_message_of_magic_1_holds_messages_of_either_magic(codec: int, attributes: int) -> None:
    """Kafka reads both: brokers of 0.10 wrapped what older producers had sent."""
    inner = message(0, b"a", magic=0) + message(1, b"b", time=5)
    data = message(11, compress(codec, inner), attributes=codec | attributes, time=99)
    time = 99 if attributes else 5
    for batch in (decode_batch(data), *read_batches(BytesSource(data))):
        assert [(one.offset, one.timestamp, one.value) for one in batch.records] == [
            (10, -1, b"a"),
            (11, time, b"b"),
        ]
    table = batches_alike(data).table
    assert table["offset"].to_pylist() == [10, 11]
    assert table["value"].to_pylist() == [b"a", b"b"]


def test_a_message_of_magic_0_holds_messages_of_magic_1() -> None:
    inner = message(7, b"a", magic=0) + message(9, b"b", time=5)
    data = message(9, compress(Compression.GZIP, inner), magic=0, attributes=GZIP)
    assert [(one.offset, one.timestamp) for one in decode_batch(data).records] == [(7, -1), (9, 5)]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize(
    ("codec", "reason"),
    [(4, "zstd in a message of magic [01]"), *((n, f"unknown codec {n}") for n in (5, 6, 7))],
)
def test_codecs_that_old_formats_lack_are_refused(magic: int, codec: int, reason: str) -> None:
    inner = message(0, b"x", magic=magic)
    data = message(0, compress(Compression.ZSTD, inner), magic=magic, attributes=codec)
    with pytest.raises(CorruptBatch, match=reason):
        _ = decode_batch(data).records
    (damage,) = batches_alike(data).damage
    assert re.search(reason, damage.reason)
    result = run("explain", "--batch", "-", "-o", "json", stdin=data)
    assert (result.exit_code, re.search(reason, result.output) is None) == (1, False)


@pytest.mark.parametrize("flags", [0x60, 0x64, 0x68, 0x6C, 0x70, 0x74, 0x78, 0x7C])
@pytest.mark.parametrize("block", [0x40, 0x50, 0x60, 0x70])
@pytest.mark.parametrize("checksum", [0, 0x55, 0xFF])
def test_the_lz4_header_checksum_is_ignored_in_magic_0(
    flags: int, block: int, checksum: int
) -> None:
    """Kafka does not look at it: KIP-57 tells why old clients wrote another one."""
    inner = message(3, b"a", magic=0)
    size = struct.pack("<Q", len(inner)) if flags & 0x08 else b""
    parts = [b"\x04\x22\x4d\x18", bytes([flags, block]), size, bytes([checksum])]
    parts += struct.pack("<I", len(inner) | 1 << 31), inner  # stored as it is
    parts += [_XXH32_OF_INNER] if flags & 0x10 else []
    parts += bytes(4), _XXH32_OF_INNER if flags & 0x04 else b""
    data = message(3, b"".join(parts), magic=0, attributes=Compression.LZ4)
    assert [one.value for one in decode_batch(data).records] == [b"a"]
    assert batches_alike(data).table["value"].to_pylist() == [b"a"]


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (message(0, None, attributes=GZIP), "without a value"),
        (message(0, b"tea", attributes=GZIP), "gzip"),
        (message(0, compress(Compression.GZIP, b""), attributes=GZIP), "contains no messages"),
        (
            message(0, compress(Compression.GZIP, message(0, b"x")[:-1]), attributes=GZIP),
            "cut off at byte 0",
        ),
        (
            message(0, compress(Compression.GZIP, message(0, bytes(99), magic=2)), attributes=1),
            "magic 2",
        ),
        (
            message(
                0, compress(Compression.GZIP, message(0, b"x", attributes=GZIP)), attributes=GZIP
            ),
            "codec 1",
        ),
    ],
)
def test_messages_with_wrong_lengths_are_refused(data: bytes, match: str) -> None:
    with pytest.raises(CorruptBatch, match=match):
        _ = decode_batch(data).records


def test_a_damaged_inner_message_is_named_with_its_place() -> None:
    inner = bytearray(message(0, b"first") + message(1, b"second"))
    inner[-1] ^= 1
    data = message(1, compress(Compression.GZIP, bytes(inner)), attributes=GZIP)
    with pytest.raises(
        CorruptBatch, match=f"CRC does not match at byte {len(message(0, b'first'))}"
    ):
        _ = decode_batch(data).records


@given(st.binary(max_size=60), st.sampled_from([0, 1]), st.integers(0, 7))
def test_any_value_is_read_or_refused(value: bytes, magic: int, attributes: int) -> None:
    try:
        records = decode_batch(message(5, value, magic=magic, attributes=attributes)).records
    except CorruptBatch:
        return
    assert records
