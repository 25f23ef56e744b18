"""Zigzag varints, which only the records of magic 2 have.

Reading raises `IndexError` if the bytes end and `ValueError` if a varint is too long: the
record decoder, the only caller, turns both into a `CorruptBatch`.
"""

from __future__ import annotations

MAX_VARINT = 5
MAX_VARLONG = 10


def read_varint(data: bytes | bytearray, position: int) -> tuple[int, int]:
    """Return a 32-bit varint and the position after it."""
    raw, position = _read_unsigned(data, position, MAX_VARINT)
    raw &= 0xFFFFFFFF
    return (raw >> 1) ^ -(raw & 1), position


def read_varlong(data: bytes | bytearray, position: int) -> tuple[int, int]:
    """Return a 64-bit varint and the position after it."""
    raw, position = _read_unsigned(data, position, MAX_VARLONG)
    raw &= 0xFFFFFFFFFFFFFFFF
    return (raw >> 1) ^ -(raw & 1), position


def _read_unsigned(data: bytes | bytearray, position: int, most: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 7 * most, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError(f"a varint is longer than {most} bytes")


def write_varint(buffer: bytearray, value: int) -> None:
    """Append a number of 32 or 64 bits; the caller has checked its range."""
    raw = value << 1 if value >= 0 else (-value << 1) - 1
    while raw > 0x7F:
        buffer.append(raw & 0x7F | 0x80)
        raw >>= 7
    buffer.append(raw)
