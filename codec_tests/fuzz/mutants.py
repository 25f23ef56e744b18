"""Damaged encodings: what truncation, bit errors and malice make of valid bytes.

`mutants` draws from a seeded generator, so that a failure is reproduced by its seed. The
kinds of damage are those that readers of this format have got wrong: lengths and counts
that are negative or giant, over-long varints, repeated and swapped parts (tags among
them), bytes missing or added anywhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

_EXTREMES = (b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff")
_LENGTHS = (
    b"\x7f\xff\xff\xff",  # int32: the largest
    b"\x80\x00\x00\x00",  # int32: the smallest
    b"\xff\xff\xff\xfe",  # int32: -2
    b"\x7f\xff",  # int16: the largest
    b"\xff\xfe",  # int16: -2
    b"\xff\xff\xff\xff\x0f",  # varint: the largest of 32 bits
    b"\xff\xff\xff\xff\x07",  # varint: 2**31 - 1
    b"\x80\x80\x80\x80\x10",  # varint: its one bit lies above 32
    b"\x80\x80\x80\x80\x80\x00",  # varint: too long
    b"\x81\x80\x00",  # varint: 1, over-long
)


def _truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(data: bytes, rng: random.Random) -> bytes:
    part = rng.choice(_EXTREMES + _LENGTHS)
    at = rng.randrange(len(data))
    return data[:at] + part + data[at + len(part) :]


def _insert(data: bytes, rng: random.Random) -> bytes:
    part = rng.choice(_EXTREMES + _LENGTHS)
    at = rng.randrange(len(data) + 1)
    return data[:at] + part + data[at:]


def _delete(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.randint(1, 4) :]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    end = rng.randint(start + 1, min(len(data), start + 40))
    return data[:end] + data[start:end] * rng.randint(1, 3) + data[end:]


def _swap(data: bytes, rng: random.Random) -> bytes:
    first, second, third = sorted(rng.choices(range(len(data) + 1), k=3))
    return data[:first] + data[second:third] + data[first:second] + data[third:]


_DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _truncate,
    _flip,
    _overwrite,
    _overwrite,
    _insert,
    _delete,
    _repeat,
    _swap,
)


def mutants(data: bytes, count: int, rng: random.Random) -> Iterator[bytes]:
    """`count` damaged forms of an encoding; of an empty one, random bytes."""
    for _ in range(count):
        if not data:
            yield rng.randbytes(rng.randint(1, 8))
            continue
        damaged = rng.choice(_DAMAGES)(data, rng)
        # Now and then one damage hides another.
        yield rng.choice(_DAMAGES)(damaged, rng) if damaged and rng.random() < 0.2 else damaged
