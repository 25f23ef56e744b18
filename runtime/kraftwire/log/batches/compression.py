"""The codecs of record batches: their names, compression and decompression.

Rules:
- the output never grows beyond the caller's limit, however small the input is;
- any input is either decompressed or refused with a `CompressionError`.

Kafka's forms differ from the libraries' own in two places. Snappy comes in the framing of
the xerial library, and raw from some clients; both are read. LZ4 frames of magic 0 have a
header checksum over too many bytes (KIP-57), which is corrected before reading. Kafka reads
only LZ4 frames of independent blocks, so `compress` writes those.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from enum import IntEnum

import cramjam

from kraftwire_wire.errors import KraftwireError

VARIABLE = "KRAFTWIRE_MAX_BATCH_BYTES"


def _default_limit() -> int:
    text = os.environ.get(VARIABLE) or str(128 << 20)
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:20]) < 1 << 40):
        raise KraftwireError(f"{VARIABLE}={text[:40]}: write a number of bytes, such as 268435456")
    return int(text)


DEFAULT_LIMIT = _default_limit()
"""Bytes that one batch may take unless the caller gives a limit: 128 MiB, or `VARIABLE`.

The limit applies to the decompressed batch, and to the objects that have to be in memory
together: the headers of one record.
"""

_LARGE = 16 << 20
"""For a result of at least this size, the arena gives up its buffer instead of copying it."""

_FIRST_GUESS = 64 << 10
_GROWTH = 4


class CompressionError(KraftwireError):
    """Bytes that cannot be decompressed, or that decompress to more than the limit."""


def over_limit(what: str, limit: int) -> str:
    """Return the reason for an error about the limit of a batch, and how to raise the limit."""
    return (
        f"{what}; to raise the limit of {limit} bytes for a batch: --max-batch-bytes, in Spark "
        "maxBatchBytes, of a node kraftwire.max.batch.bytes, in Python limit=, elsewhere the "
        f"environment variable {VARIABLE}"
    )


class Compression(IntEnum):
    """The codec in the lowest three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @property
    def label(self) -> str:
        return self.name.lower()


def decompress(
    codec: int, data: bytes | memoryview, *, limit: int = DEFAULT_LIMIT, magic: int = 2
) -> bytes | bytearray:
    """Return what `data` decompresses to; `magic` is that of its batch.

    A large result is a bytearray, since a copy would take much memory.
    """
    if codec == Compression.NONE:
        return bytes(data)
    return Arena(limit).decompress_once(codec, data, magic)


class Arena:
    """A buffer that is reused to decompress one batch after another."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        """`limit` is how many bytes one batch may decompress to."""
        self._limit = limit
        self._buffer = bytearray()

    def decompress(self, codec: int, data: bytes | memoryview, magic: int = 2) -> memoryview:
        """Return what `data` decompresses to; it is valid until the next call."""
        size = self._fill(codec, data, magic)
        return memoryview(self._buffer)[:size]

    def release(self) -> None:
        if len(self._buffer) >= _LARGE:
            self._buffer = bytearray()

    def decompress_once(
        self, codec: int, data: bytes | memoryview, magic: int
    ) -> bytes | bytearray:
        """Return what `data` decompresses to; a large result is the arena's buffer itself."""
        size = self._fill(codec, data, magic)
        if size < _LARGE:
            return bytes(memoryview(self._buffer)[:size])
        unpacked, self._buffer = self._buffer, bytearray()
        del unpacked[size:]
        return unpacked

    def _fill(self, codec: int, data: bytes | memoryview, magic: int) -> int:
        """Decompress `data` into the buffer and return the number of bytes."""
        if codec == Compression.SNAPPY:
            return self._fill_snappy(data)
        decompress_into = _DECOMPRESSORS.get(codec)
        if decompress_into is None:
            raise CompressionError(f"unknown codec {codec}")
        if codec == Compression.ZSTD and magic < 2:
            raise CompressionError(
                f"zstd in a message of magic {magic}: Kafka allows it only in batches of magic 2"
            )
        if codec == Compression.LZ4 and magic == 0:
            data = _fix_lz4_header(data)
        label, limit = Compression(codec).label, self._limit
        size = min(max(_FIRST_GUESS, _GROWTH * len(data)), limit)
        while True:
            room = self._reserve(size)
            size = len(room)
            try:
                return decompress_into(data, room)
            except cramjam.DecompressionError as error:
                if _TOO_SMALL not in str(error):
                    raise CompressionError(f"{label}: {error}") from None
            finally:
                del room  # the buffer is freed before a larger one is made
            if size >= limit:
                raise CompressionError(_limit_exceeded(label, limit))
            size = min(size * _GROWTH, limit)

    def _reserve(self, size: int) -> memoryview:
        """Return the buffer with at least `size` bytes; if it has to grow, its content is lost."""
        if len(self._buffer) < size:
            self._buffer = bytearray()  # two large buffers never exist together
            self._buffer = bytearray(size)
        return memoryview(self._buffer)

    def _fill_snappy(self, data: bytes | memoryview) -> int:
        blocks = _snappy_blocks(data)
        used = 0
        try:
            sizes = [cramjam.snappy.decompress_raw_len(block) for block in blocks]
            size = sum(sizes)
            if size > self._limit:
                raise CompressionError(_limit_exceeded("snappy", self._limit))
            room = self._reserve(size)
            for block, length in zip(blocks, sizes, strict=True):
                cramjam.snappy.decompress_raw_into(block, room[used : used + length])
                used += length
        except cramjam.DecompressionError as error:
            raise CompressionError(f"snappy: {error}") from None
        return used


def _limit_exceeded(label: str, limit: int) -> str:
    return over_limit(f"{label}: decompresses to more than the limit of {limit} bytes", limit)


def _snappy_blocks(data: bytes | memoryview) -> list[bytes | memoryview]:
    """Return the raw blocks in xerial's framing, or all of `data` if it has no framing."""
    if bytes(data[: len(_XERIAL)]) != _XERIAL:
        return [data]
    data = memoryview(data)
    blocks: list[bytes | memoryview] = []
    position = len(_XERIAL_HEADER)
    while position < len(data):
        if position + _SIZE.size > len(data):
            raise CompressionError("snappy: the size of a block is cut off")
        size: int = _SIZE.unpack_from(data, position)[0]
        position += _SIZE.size
        left = len(data) - position
        if not 0 < size <= left:
            raise CompressionError(f"snappy: a block of {size} bytes, but {left} are left")
        blocks.append(data[position : position + size])
        position += size
    return blocks


_TOO_SMALL = "failed to write whole buffer"
"""cramjam's error if the output buffer is full; a test checks that its wording stays."""

_DECOMPRESSORS: dict[int, Callable[[bytes | memoryview, memoryview], int]] = {
    Compression.GZIP: cramjam.gzip.decompress_into,
    Compression.LZ4: cramjam.lz4.decompress_into,
    Compression.ZSTD: cramjam.zstd.decompress_into,
}


def compress(codec: int, data: bytes) -> bytes:
    """Return `data` compressed for a batch of magic 2, in the form that Kafka reads."""
    match codec:
        case Compression.NONE:
            return data
        case Compression.GZIP:
            return bytes(cramjam.gzip.compress(data))
        case Compression.SNAPPY:
            return _compress_snappy(data)
        case Compression.LZ4:
            return _compress_lz4(data)
        case Compression.ZSTD:
            return bytes(cramjam.zstd.compress(data))
    raise CompressionError(f"unknown codec {codec}")


# -- snappy --------------------------------------------------------------------------------

_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK = 32 << 10
_SIZE = struct.Struct(">i")


def _compress_snappy(data: bytes) -> bytes:
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        parts += _SIZE.pack(len(block)), block
    return b"".join(parts)


# -- lz4 -----------------------------------------------------------------------------------

_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_BLOCK = 64 << 10
_LZ4_DESCRIPTOR = bytes([0x60, 0x40])
"""Version 1, independent blocks without checksums, of 64 KiB at most."""

_LZ4_HAS_SIZE = 0x08
_LZ4_STORED = 1 << 31
_LZ4_SIZE = struct.Struct("<I")

_UINT32 = (1 << 32) - 1
_XXH_PRIMES = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)


def _fix_lz4_header(data: bytes | memoryview) -> bytes | memoryview:
    """Return an LZ4 frame of magic 0 with a corrected header checksum (KIP-57)."""
    start, end = len(_LZ4_MAGIC), len(_LZ4_MAGIC) + len(_LZ4_DESCRIPTOR)
    if bytes(data[:start]) != _LZ4_MAGIC or len(data) <= end:
        return data
    if data[start] & _LZ4_HAS_SIZE:
        end += 8
    checksum = bytes([_lz4_checksum(bytes(data[start:end]))])
    return bytes(data[:end]) + checksum + bytes(data[end + 1 :])


def _lz4_checksum(descriptor: bytes) -> int:
    """Return the second byte of the descriptor's xxHash-32, for fewer than 16 bytes."""
    value = _XXH_PRIMES[4] + len(descriptor)
    whole = len(descriptor) & ~3
    for (word,) in _LZ4_SIZE.iter_unpack(descriptor[:whole]):
        value = _rotate(value + word * _XXH_PRIMES[2], 17) * _XXH_PRIMES[3]
    for byte in descriptor[whole:]:
        value = _rotate(value + byte * _XXH_PRIMES[4], 11) * _XXH_PRIMES[0]
    value &= _UINT32
    value = (value ^ value >> 15) * _XXH_PRIMES[1] & _UINT32
    value = (value ^ value >> 13) * _XXH_PRIMES[2] & _UINT32
    return (value ^ value >> 16) >> 8 & 0xFF


def _rotate(value: int, bits: int) -> int:
    value &= _UINT32
    return (value << bits | value >> 32 - bits) & _UINT32


def _compress_lz4(data: bytes) -> bytes:
    """Return a frame of independent blocks; cramjam's own frames link them, which Kafka refuses."""
    parts = [_LZ4_MAGIC, _LZ4_DESCRIPTOR, bytes([_lz4_checksum(_LZ4_DESCRIPTOR)])]
    for start in range(0, len(data), _LZ4_BLOCK):
        block = data[start : start + _LZ4_BLOCK]
        packed = bytes(cramjam.lz4.compress_block(block, store_size=False))
        if len(packed) < len(block):
            parts += _LZ4_SIZE.pack(len(packed)), packed
        else:
            parts += _LZ4_SIZE.pack(len(block) | _LZ4_STORED), block
    parts.append(_LZ4_SIZE.pack(0))
    return b"".join(parts)
