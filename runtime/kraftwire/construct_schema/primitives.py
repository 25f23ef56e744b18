"""Constructs of numbers, varints and uuids."""

from __future__ import annotations

import uuid
from typing import Any

import construct as c  # type: ignore[import-untyped]

from kraftwire.construct_schema.parts import Refusal


def _join_varint(octets: list[int], _context: Any) -> int:
    if octets[-1] > 0x7F:
        raise Refusal("varint is longer than 5 bytes")
    return sum((octet & 0x7F) << 7 * index for index, octet in enumerate(octets)) & 0xFFFFFFFF


def _split_varint(value: int, _context: Any) -> list[int]:
    octets = []
    while value > 0x7F:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    return [*octets, value]


UVARINT = c.ExprAdapter(
    c.RepeatUntil(lambda octet, octets, _: octet < 0x80 or len(octets) == 5, c.Byte),
    _join_varint,
    _split_varint,
)
"""LEB128 of 32 bits."""


def _check_marker(marker: int, _context: Any) -> int:
    if marker > 0x7FFFFFFF:
        raise Refusal(f"expected 0 or 1, got marker {marker}")
    return marker


TAGGED_MARKER = c.ExprAdapter(UVARINT, _check_marker, lambda marker, _: marker)
"""The marker before a nullable struct in a tag's payload; Kafka reads 2**31 and more as null."""

COMPACT_LENGTH = c.ExprAdapter(UVARINT, lambda raw, _: raw - 1, lambda length, _: length + 1)
"""A length in flexible versions: the varint is the length plus one, or zero for null."""

UUID = c.ExprAdapter(
    c.Bytes(16), lambda raw, _: uuid.UUID(bytes=bytes(raw)), lambda value, _: value.bytes
)

FIXED = {
    "bool": c.Flag,
    "int8": c.Int8sb,
    "int16": c.Int16sb,
    "uint16": c.Int16ub,
    "int32": c.Int32sb,
    "uint32": c.Int32ub,
    "int64": c.Int64sb,
    "float64": c.Float64b,
    "uuid": UUID,
}
