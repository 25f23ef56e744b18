"""Reads and writes values of fixed size (numbers, booleans, uuids) and varints.

These are the base classes of the readers and writers and follow the same rules: a reader raises
only `DecodeError` and a writer only `EncodeError`, with the field.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from struct import Struct
from typing import Any, ClassVar
from uuid import UUID

from kraftwire_wire.errors import DecodeError, EncodeError, count_of
from kraftwire_wire.forms import (
    BOOL,
    FIXED_FORMATS,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT16,
    UINT32,
)

_CODE_NAMES = {code: name for name, code in FIXED_FORMATS.items()}

# What `pack` raises for a value of a wrong type or size. Any other error comes from the value's
# own `__index__` or `__float__`.
NOT_PACKED = (struct.error, OverflowError, TypeError)

_uuid_int = vars(UUID)["int"].__get__
"""Reads the number of a UUID from its slot, even if a subclass overrides `int` or `bytes`."""


def _reads(form: Struct) -> Callable[[PrimitiveReader, str], Any]:
    """Return a method that reads one value of a form."""

    def read(self: PrimitiveReader, field: str) -> Any:
        position = self.position
        if form.size > self.end - position:
            raise self._short(field, form.size, position)
        self.position = position + form.size
        return form.unpack_from(self.data, position)[0]

    return read


ReadInteger = Callable[["PrimitiveReader", str], int]


class PrimitiveReader:
    """A position in a byte string, and methods that read a value there and move past it."""

    __slots__ = ("data", "end", "lenient", "position", "sizeless_elements")

    def __init__(self, data: bytes, position: int = 0, *, lenient: bool = False) -> None:
        self.data = data
        self.position = position
        self.end = len(data)
        self.lenient = lenient
        self.sizeless_elements = 0

    def fail(self, field: str, reason: str, offset: int | None = None) -> DecodeError:
        """Return the error for a field whose value starts at `offset`, or at the position."""
        return DecodeError(reason, field, self.position if offset is None else offset)

    def _take(self, field: str, size: int, start: int) -> int:
        """Skip `size` bytes and return where they begin; an error has the offset `start`."""
        position = self.position
        if size > self.end - position:
            raise self._short(field, size, start)
        self.position = position + size
        return position

    def _short(self, field: str, size: int, start: int) -> DecodeError:
        left = self.end - self.position
        reason = f"needs {count_of(size, 'byte')}, the input has {left} left"
        return self.fail(field, reason, start)

    def read_fixed(self, form: Struct, fields: tuple[str, ...]) -> tuple[Any, ...]:
        """Read adjacent fields of fixed size in one step."""
        position = self.position
        if form.size > self.end - position:
            raise self._short_run(form, fields)
        self.position = position + form.size
        return form.unpack_from(self.data, position)

    def _short_run(self, form: Struct, fields: tuple[str, ...]) -> DecodeError:
        """Return the error for the first of these fields that the input cuts off."""
        for field, code in zip(fields, form.format.lstrip(">"), strict=True):
            size = Struct(">" + code).size
            if size > self.end - self.position:
                return self._short(field, size, self.position)
            self.position += size
        raise AssertionError("a run of fields was called short but fits")

    # Every byte except zero is true.
    read_bool: ClassVar[Callable[[PrimitiveReader, str], bool]] = _reads(BOOL)
    read_int8: ClassVar[ReadInteger] = _reads(INT8)
    read_int16: ClassVar[ReadInteger] = _reads(INT16)
    read_uint16: ClassVar[ReadInteger] = _reads(UINT16)
    read_int32: ClassVar[ReadInteger] = _reads(INT32)
    read_uint32: ClassVar[ReadInteger] = _reads(UINT32)
    read_int64: ClassVar[ReadInteger] = _reads(INT64)
    read_float64: ClassVar[Callable[[PrimitiveReader, str], float]] = _reads(FLOAT64)

    def read_uuid(self, field: str) -> UUID:
        position = self._take(field, 16, self.position)
        return UUID(bytes=self.data[position : position + 16])

    def read_unsigned_varint(self, field: str) -> int:
        """Read LEB128 of 32 bits in at most five bytes, dropping higher bits as Kafka does."""
        data, start, end = self.data, self.position, self.end
        if start < end and data[start] < 0x80:  # almost every length
            self.position = start + 1
            return data[start]
        value = 0
        for position in range(start, min(start + 5, end)):
            byte = data[position]
            value |= (byte & 0x7F) << (7 * (position - start))
            if byte < 0x80:
                self.position = position + 1
                return value & 0xFFFFFFFF
        if end - start < 5:
            raise self.fail(field, "varint is cut off by the end of the input")
        raise self.fail(field, "varint is longer than 5 bytes")


def _writes(form: Struct) -> Callable[[PrimitiveWriter, str, Any], None]:
    """Return a method that writes one value of a form."""

    def write(self: PrimitiveWriter, field: str, value: Any) -> None:
        self._write_one(form, field, value)

    return write


WriteInteger = Callable[["PrimitiveWriter", str, int], None]


class PrimitiveWriter:
    """A buffer, and methods that append values of fixed size to it."""

    __slots__ = ("buffer",)

    def __init__(self) -> None:
        self.buffer = bytearray()

    def write_fixed(self, form: Struct, fields: tuple[str, ...], *values: Any) -> None:
        """Write adjacent numbers in one step, except bools: `pack` accepts any value as a bool."""
        try:
            self.buffer += form.pack(*values)
        except Exception:  # noqa: BLE001 - from an `__index__`
            # Write them one by one to name the field. This may succeed, as an `__index__` may
            # raise only the first time.
            codes = form.format.lstrip(">")
            for field, code, value in zip(fields, codes, values, strict=True):
                self._write_one(Struct(">" + code), field, value)

    def _write_one(self, form: Struct, field: str, value: Any) -> None:
        try:
            self.buffer += form.pack(value)
        except NOT_PACKED:
            raise self._wrong_number(field, form.format[1:], value) from None
        except Exception as error:
            reason = f"{type_name(value)} raised {type_name(error)} when it was packed as"
            raise EncodeError(f"{reason} {_CODE_NAMES[form.format[1:]]}", field) from error

    @staticmethod
    def _wrong_number(field: str, code: str, value: object) -> EncodeError:
        name = _CODE_NAMES[code]
        if any("__index__" in vars(base) for base in type.mro(type(value))):
            return EncodeError(f"{describe(value)} does not fit into {name}", field)
        return EncodeError(f"expected {name}, got {describe(value)}", field)

    def write_bool(self, field: str, value: bool) -> None:
        if value is not True and value is not False:
            raise EncodeError(f"expected bool, got {describe(value)}", field)
        self.buffer.append(value)

    write_int8: ClassVar[WriteInteger] = _writes(INT8)
    write_int16: ClassVar[WriteInteger] = _writes(INT16)
    write_uint16: ClassVar[WriteInteger] = _writes(UINT16)
    write_int32: ClassVar[WriteInteger] = _writes(INT32)
    write_uint32: ClassVar[WriteInteger] = _writes(UINT32)
    write_int64: ClassVar[WriteInteger] = _writes(INT64)
    write_float64: ClassVar[Callable[[PrimitiveWriter, str, float], None]] = _writes(FLOAT64)

    def write_uuid(self, field: str, value: UUID) -> None:
        if not issubclass(type(value), UUID):
            raise EncodeError(f"expected uuid.UUID, got {describe(value)}", field)
        try:
            self.buffer += int.to_bytes(_uuid_int(value), 16)
        except (AttributeError, TypeError, OverflowError):
            reason = "a UUID whose int is not a number from 0 to 2**128 - 1"
            raise EncodeError(reason, field) from None

    def write_unsigned_varint(self, value: int) -> None:
        """Write a number from 0 to 2**32 - 1 as LEB128; the caller has checked the range."""
        while value > 0x7F:
            self.buffer.append(value & 0x7F | 0x80)
            value >>= 7
        self.buffer.append(value)


def describe(value: object) -> str:
    """Describe a value for an error: its type, and its `repr` if that is short."""
    kind = type_name(value)
    try:
        text = str.__str__(repr(value))
    except Exception:  # noqa: BLE001 - too many digits or levels, or its own code
        return kind
    return f"{kind} {text}" if len(text) <= 40 else kind


def type_name(value: object) -> str:
    """Return the name of a value's type, which a metaclass cannot replace."""
    name: str = _name_of(type(value))
    return name


_name_of = vars(type)["__name__"].__get__
