"""Damaged copies of files: flipped, truncated, zeroed, spliced, with and without valid CRCs."""

from __future__ import annotations

import random
from pathlib import Path

from crc32c import crc32c

from kraftwire.log import BytesSource, read_batches


def flip(path: Path, at: int, bits: int = 1) -> None:
    """Flip bits of one byte of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= bits
    path.write_bytes(data)


def mutant(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Return a copy damaged at one to four places, some with bytes of `other`."""
    copy = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        _damage(copy, other, rng)
    return bytes(copy)


def _damage(copy: bytearray, other: bytes, rng: random.Random) -> None:
    at = rng.randrange(len(copy) + 1)
    size = rng.choice((1, 2, 8, 61, 500))
    match rng.randrange(8):
        case 0 | 1 if copy:
            copy[at % len(copy)] ^= 1 << rng.randrange(8)
        case 2 if copy:
            copy[at % len(copy)] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
        case 3:
            del copy[at:]
        case 4:
            del copy[at : at + size]
        case 5:
            copy[at : at + size] = bytes(min(size, len(copy) - at))
        case 6:
            copy[at:at] = rng.randbytes(size)
        case _:
            start = rng.randrange(len(other) + 1)
            copy[at : at + size] = other[start : start + rng.choice((size, 2000))]


def with_crc(data: bytearray) -> bytes:
    """Return a changed batch with its CRC corrected."""
    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    return bytes(data)


def damaged_with_crc(data: bytes, rng: random.Random) -> bytes:
    """Return a copy with bytes changed inside batches, whose CRCs still match."""
    copy = bytearray()
    for one in read_batches(BytesSource(data)):
        changed = bytearray(one.data)
        if one.header.magic == 2:
            for _ in range(rng.choice((0, 1, 3))):
                changed[rng.randrange(21, len(changed))] = rng.choice((0, 1, 2, 0x7F, 0xFF))
            copy += with_crc(changed)
    return bytes(copy)
