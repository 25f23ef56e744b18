"""The `struct` formats of fixed-size types, all big-endian, and the limits of the wire format."""

from __future__ import annotations

from struct import Struct

BOOL = Struct(">?")
INT8 = Struct(">b")
INT16 = Struct(">h")
UINT16 = Struct(">H")
INT32 = Struct(">i")
UINT32 = Struct(">I")
INT64 = Struct(">q")
FLOAT64 = Struct(">d")

FIXED_FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
}


def fixed(*types: str) -> Struct:
    """Return the format of adjacent fields of these fixed-size types."""
    return Struct(">" + "".join(FIXED_FORMATS[name] for name in types))


FIXED_SIZES = {name: fixed(name).size for name in FIXED_FORMATS}

MAX_STRING_LENGTH = 0x7FFF
MAX_LENGTH = 0x7FFFFFFF
