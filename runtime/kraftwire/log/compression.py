"""The codecs of record batches: what they are called, and bytes in and out.

Rules:
- nothing grows beyond the limit that the caller gives, however small the input is;
- whatever the bytes, the outcome is bytes or a `CompressionError`.

Kafka's forms differ from the libraries' own in two places. Snappy comes in the framing of
the xerial library, and raw from some clients; both are read. LZ4 frames of magic 0 carry a
header checksum that was computed over too much (KIP-57); it is mended before reading. What
Kafka reads must be LZ4 frames of independent blocks, which is what is written here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import IntEnum

import cramjam

from kraftwire_wire.errors import KraftwireError

DEFAULT_LIMIT = 256 << 20
"""Bytes that one batch may decompress to unless the caller says otherwise."""

_FIRST_GUESS = 64 << 10
_GROWTH = 4


class CompressionError(KraftwireError):
    """Bytes that do not decompress, or not within the limit."""


class Compression(IntEnum):
    """The codec in the lowest three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @property
    def label(self) -> str:
        """The name in Kafka's settings and tools."""
        return self.name.lower()


def decompress(
    codec: int, data: bytes | memoryview, *, limit: int = DEFAULT_LIMIT, magic: int = 2
) -> bytes:
    """What `data` decompresses to; `magic` is that of its batch."""
    if codec == Compression.NONE:
        return bytes(data)
    return bytes(Arena(limit).decompress(codec, data, magic))


class Arena:
    """A buffer into which one batch after the other is decompressed."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        """`limit` is how many bytes may come out of one batch."""
        self._limit = limit
        self._buffer = bytearray()

    def decompress(self, codec: int, data: bytes | memoryview, magic: int = 2) -> memoryview:
        """What `data` decompresses to; it stands there until the next call."""
        if codec == Compression.SNAPPY:
            return self._decompress_snappy(data)
        into = _INTO.get(codec)
        if into is None:
            raise CompressionError(f"no codec has number {codec}")
        if codec == Compression.ZSTD and magic < 2:
            raise CompressionError(
                f"zstd in a message of magic {magic}: Kafka has it only in batches of magic 2"
            )
        if codec == Compression.LZ4 and magic == 0:
            data = _mend_lz4_header(data)
        label, limit = Compression(codec).label, self._limit
        size = min(max(_FIRST_GUESS, _GROWTH * len(data)), limit)
        while True:
            buffer = self._room(size)
            try:
                return buffer[: into(data, buffer)]
            except cramjam.DecompressionError as error:
                if _TOO_SMALL not in str(error):
                    raise CompressionError(f"{label}: {error}") from None
            if len(buffer) >= limit:
                reason = f"{label}: more than the limit of {limit} bytes comes out"
                raise CompressionError(reason)
            size = min(len(buffer) * _GROWTH, limit)

    def _room(self, size: int) -> memoryview:
        """The buffer, of at least `size` bytes; what it held is kept."""
        if len(self._buffer) < size:
            grown = bytearray(size)
            grown[: len(self._buffer)] = self._buffer
            self._buffer = grown
        return memoryview(self._buffer)

    def _decompress_snappy(self, data: bytes | memoryview) -> memoryview:
        if bytes(data[: len(_XERIAL)]) != _XERIAL:
            used = self._append_snappy_block(data, 0)
            return self._room(used)[:used]
        data = memoryview(data)
        position, used = len(_XERIAL_HEADER), 0
        while position < len(data):
            if position + _SIZE.size > len(data):
                raise CompressionError("snappy: a block's size is cut off")
            size: int = _SIZE.unpack_from(data, position)[0]
            position += _SIZE.size
            left = len(data) - position
            if not 0 < size <= left:
                raise CompressionError(f"snappy: a block of {size} bytes, {left} left")
            used = self._append_snappy_block(data[position : position + size], used)
            position += size
        return self._room(used)[:used]

    def _append_snappy_block(self, data: bytes | memoryview, used: int) -> int:
        """Decompress a block behind what is used already; how much is used then."""
        try:
            end = used + cramjam.snappy.decompress_raw_len(data)
            if end > self._limit:
                raise CompressionError(f"snappy: {end} bytes come out, more than the limit")
            if end > len(self._buffer):
                self._room(max(end, min(2 * len(self._buffer), self._limit)))
            cramjam.snappy.decompress_raw_into(data, self._room(end)[used:end])
        except cramjam.DecompressionError as error:
            raise CompressionError(f"snappy: {error}") from None
        return int(end)


_TOO_SMALL = "failed to write whole buffer"
"""How cramjam says that the output is full; a test holds it to that."""

_INTO: dict[int, Callable[[bytes | memoryview, memoryview], int]] = {
    Compression.GZIP: cramjam.gzip.decompress_into,
    Compression.LZ4: cramjam.lz4.decompress_into,
    Compression.ZSTD: cramjam.zstd.decompress_into,
}


def compress(codec: int, data: bytes) -> bytes:
    """`data` as Kafka reads it from a batch of magic 2."""
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
    raise CompressionError(f"no codec has number {codec}")


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


def _mend_lz4_header(data: bytes | memoryview) -> bytes | memoryview:
    """Return a frame of magic 0 with the right header checksum; Kafka does not look at it there."""
    start, end = len(_LZ4_MAGIC), len(_LZ4_MAGIC) + len(_LZ4_DESCRIPTOR)
    if bytes(data[:start]) != _LZ4_MAGIC or len(data) <= end:
        return data
    if data[start] & _LZ4_HAS_SIZE:
        end += 8
    checksum = bytes([_lz4_checksum(bytes(data[start:end]))])
    return bytes(data[:end]) + checksum + bytes(data[end + 1 :])


def _lz4_checksum(descriptor: bytes) -> int:
    """Return the header checksum: the second byte of xxHash-32, for less than 16 bytes."""
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
    """A frame of independent blocks; cramjam's own frames link them, which Kafka refuses."""
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
