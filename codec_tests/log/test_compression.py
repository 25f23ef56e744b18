"""Codecs: what libraries and Kafka wrote comes back, and nothing grows without bounds."""

from __future__ import annotations

import contextlib
import gzip
import struct
import zlib

import cramjam
import pytest
from aiokafka.codec import lz4_decode, snappy_decode
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.log.batches.compression import Compression, CompressionError, compress, decompress

PACKED = [codec for codec in Compression if codec]
TEXT = b"a cup of tea, and another cup of tea; " * 5000


@given(st.sampled_from(Compression), st.binary(max_size=5000), st.integers(1, 40))
def test_compressed_bytes_come_back(codec: Compression, data: bytes, times: int) -> None:
    assert decompress(codec, compress(codec, data * times)) == data * times


@pytest.mark.parametrize("codec", PACKED)
def test_memoryviews_are_read(codec: Compression) -> None:
    assert decompress(codec, memoryview(compress(codec, TEXT))) == TEXT


def test_raw_snappy_is_read_too() -> None:
    assert decompress(Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT


def test_snappy_is_written_in_the_framing_that_other_clients_read() -> None:
    assert snappy_decode(compress(Compression.SNAPPY, TEXT)) == TEXT


def test_lz4_blocks_are_independent_as_kafka_demands() -> None:
    frame = compress(Compression.LZ4, TEXT)
    assert frame[4] & 0x20, "the flag for independent blocks"
    assert lz4_decode(frame) == TEXT


@pytest.mark.parametrize("descriptor", [b"\x60\x40", b"\x64\x70"])
def test_the_wrong_lz4_header_checksum_of_magic_0_is_corrected(descriptor: bytes) -> None:
    """KAFKA-3160: old clients computed it over the frame's magic too."""
    frame = bytearray(compress(Compression.LZ4, b"tea"))
    frame[6] ^= 0x55
    with pytest.raises(CompressionError):
        decompress(Compression.LZ4, bytes(frame))
    assert decompress(Compression.LZ4, bytes(frame), magic=0) == b"tea"


@pytest.mark.parametrize("codec", PACKED)
def test_a_bomb_is_refused_at_the_limit(codec: Compression) -> None:
    bomb = compress(codec, bytes(50 << 20))
    with pytest.raises(CompressionError, match="limit"):
        decompress(codec, bomb, limit=1 << 20)


@pytest.mark.parametrize("codec", PACKED)
def test_the_limit_itself_is_allowed(codec: Compression) -> None:
    data = bytes(300_000)
    assert decompress(codec, compress(codec, data), limit=len(data)) == data
    with pytest.raises(CompressionError):
        decompress(codec, compress(codec, data), limit=len(data) - 1)


def test_a_snappy_block_that_claims_four_gigabytes_is_refused_before_any_is_allocated() -> None:
    with pytest.raises(CompressionError, match="limit"):
        decompress(Compression.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"tea")


def test_xerial_blocks_that_lie_about_their_size_are_refused() -> None:
    whole = compress(Compression.SNAPPY, TEXT)
    for size in (-1, 0, 1 << 30):
        with pytest.raises(CompressionError):
            decompress(Compression.SNAPPY, whole[:16] + struct.pack(">i", size) + whole[20:])
    with pytest.raises(CompressionError):
        decompress(Compression.SNAPPY, whole[:-1])
    with pytest.raises(CompressionError):
        decompress(Compression.SNAPPY, whole + b"\0\0")


def test_gzip_of_the_standard_library_is_read() -> None:
    assert decompress(Compression.GZIP, gzip.compress(TEXT)) == TEXT
    assert zlib.decompress(compress(Compression.GZIP, TEXT), 31) == TEXT


@given(st.sampled_from([*PACKED, 5, 6, 7]), st.binary(max_size=300), st.integers(0, 2))
def test_any_bytes_are_read_or_refused(codec: int, data: bytes, magic: int) -> None:
    with contextlib.suppress(CompressionError):
        decompress(codec, data, limit=1 << 16, magic=magic)


@given(st.sampled_from(PACKED), st.data())
def test_damaged_streams_are_read_or_refused(codec: Compression, data: st.DataObject) -> None:
    packed = bytearray(compress(codec, TEXT[:3000]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(packed) - 1))
        packed[at] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CompressionError):
        decompress(codec, bytes(packed), limit=1 << 16)


def test_unknown_codecs_are_refused_by_name() -> None:
    with pytest.raises(CompressionError, match="7"):
        compress(7, b"")
