"""Writes the values of the wire format into a growing buffer.

Every method takes the field's name, for the error, and its value. A value that cannot be written
(a wrong type, an integer out of range, a null that is not allowed) raises `EncodeError` with the
field, and never another error.

A value may be of a subclass that lies about itself, and a list may change while it is written,
through another thread or an element's own code. So a value with a length is first converted to
its exact type, or copied if it is mutable, and both its length and its content come from the
result. Types are checked with `type(value)`: `isinstance` trusts a `__class__` property.

`ClassicWriter` and `CompactWriter` are the counterparts of the two readers.
"""

from __future__ import annotations

import struct
from typing import Any

from kraftwire_wire.defaults import struct_differs
from kraftwire_wire.encode_failure import failed_field_error
from kraftwire_wire.errors import EncodeError
from kraftwire_wire.exact_values import exact_bytes, exact_list, exact_tags
from kraftwire_wire.forms import (
    FIXED_FORMATS,
    INT16,
    INT32,
    MAX_LENGTH,
    MAX_STRING_LENGTH,
)
from kraftwire_wire.primitives import PrimitiveWriter, describe
from kraftwire_wire.structs import Struct
from kraftwire_wire.text import encode_text


class Writer(PrimitiveWriter):
    """Base class of both writers; adds strings, bytes, arrays, structs and tags.

    Methods are named as in `Reader`.
    """

    __slots__ = ("struct",)

    def __init__(self, struct: type[Struct] | None = None) -> None:
        """`struct` is the class of the message; unknown tags must not include its tags."""
        self.buffer = bytearray()
        self.struct = struct

    def field_not_in_version(self, field: str, version: int) -> EncodeError:
        return EncodeError(
            f"version {version} does not have this field, and it may not be left out; "
            "set it to its default or write another version",
            field,
        )

    def null_not_allowed(self, field: str) -> EncodeError:
        return EncodeError("None, but the field is not nullable in this version", field)

    # -- lengths, which the two writers write differently ------------------------------

    def _write_string_length(self, length: int) -> None:
        raise NotImplementedError

    def _write_length(self, length: int) -> None:
        """Write the length of bytes or the count of an array; -1 means null."""
        raise NotImplementedError

    # -- strings and bytes ---------------------------------------------------------------

    def write_string(self, field: str, value: str | None) -> None:
        raw = self._text(field, value)
        self._write_string_length(len(raw))
        self.buffer += raw

    def write_nullable_string(self, field: str, value: str | None) -> None:
        if value is None:
            self._write_string_length(-1)
        else:
            self.write_string(field, value)

    def write_classic_string(self, field: str, value: str | None) -> None:
        raw = self._text(field, value)
        self.buffer += INT16.pack(len(raw))
        self.buffer += raw

    def write_classic_nullable_string(self, field: str, value: str | None) -> None:
        if value is None:
            self.buffer += b"\xff\xff"
        else:
            self.write_classic_string(field, value)

    def _text(self, field: str, value: str | None) -> bytes:
        if value is None:
            raise self.null_not_allowed(field)
        if type(value) is not str:
            if not issubclass(type(value), str):
                raise EncodeError(f"expected str, got {describe(value)}", field)
            value = str.__str__(value)
        raw = encode_text(value)
        if len(raw) > MAX_STRING_LENGTH:
            reason = f"string of {len(raw)} bytes, at most {MAX_STRING_LENGTH} can be written"
            raise EncodeError(reason, field)
        return raw

    def write_bytes(self, field: str, value: bytes | None) -> None:
        raw = self._raw(field, value)
        self._write_length(len(raw))
        self.buffer += raw

    def write_nullable_bytes(self, field: str, value: bytes | None) -> None:
        if value is None:
            self._write_length(-1)
        else:
            self.write_bytes(field, value)

    # Record batches are plain bytes here; `kraftwire.log` encodes them.
    write_records = write_bytes
    write_nullable_records = write_nullable_bytes

    def write_classic_bytes(self, field: str, value: bytes | None) -> None:
        raw = self._raw(field, value)
        self.buffer += INT32.pack(len(raw))
        self.buffer += raw

    def write_classic_nullable_bytes(self, field: str, value: bytes | None) -> None:
        if value is None:
            self.buffer += b"\xff\xff\xff\xff"
        else:
            self.write_classic_bytes(field, value)

    def _raw(self, field: str, value: bytes | None) -> bytes:
        if value is None:
            raise self.null_not_allowed(field)
        if type(value) is not bytes:
            value = exact_bytes(field, value)
        if len(value) >= MAX_LENGTH:
            raise EncodeError(f"{len(value)} bytes, at most {MAX_LENGTH - 1} can be written", field)
        return value

    # -- arrays and structs ----------------------------------------------------------------

    def _write_count(self, field: str, items: list[Any] | None) -> list[Any]:
        """Write the count of an array and return its elements in a new list."""
        if items is None:
            raise self.null_not_allowed(field)
        items = [*items] if type(items) is list else exact_list(field, items)
        if len(items) >= MAX_LENGTH:
            reason = f"{len(items)} elements, at most {MAX_LENGTH - 1} can be written"
            raise EncodeError(reason, field)
        self._write_length(len(items))
        return items

    def write_array(self, field: str, element: str, items: list[Any] | None) -> None:
        items = self._write_count(field, items)
        code = FIXED_FORMATS.get(element)
        if code is not None and code != "?":
            try:
                self.buffer += struct.pack(f">{len(items)}{code}", *items)
                return
            except Exception:  # noqa: BLE001, S110 - from an `__index__`; the loop finds it
                pass
        write = getattr(self, f"write_{element}")
        for index, item in enumerate(items):
            write(f"{field}[{index}]", item)

    def write_nullable_array(self, field: str, element: str, items: list[Any] | None) -> None:
        if items is None:
            self._write_length(-1)
        else:
            self.write_array(field, element, items)

    def write_structs(
        self, field: str, struct_type: type[Struct], items: list[Any] | None, version: int
    ) -> None:
        for index, item in enumerate(self._write_count(field, items)):
            self.write_struct(f"{field}[{index}]", struct_type, item, version)

    def write_nullable_structs(
        self, field: str, struct_type: type[Struct], items: list[Any] | None, version: int
    ) -> None:
        if items is None:
            self._write_length(-1)
        else:
            self.write_structs(field, struct_type, items, version)

    def write_struct(self, field: str, struct_type: type[Struct], value: Any, version: int) -> None:
        if type(value) is not struct_type and not issubclass(type(value), struct_type):
            if value is None:
                raise self.null_not_allowed(field)
            expected = struct_type.__qualname__
            raise EncodeError(f"expected {expected}, got {describe(value)}", field)
        outer, self.struct = self.struct, struct_type
        try:
            struct_type._encode(value, self, version)
        except EncodeError as error:
            raise error.inside(field) from None
        except MemoryError:
            raise
        except Exception as error:
            raise failed_field_error(value, error).inside(field) from error
        self.struct = outer

    def struct_differs(self, message: type[Struct], struct_type: type[Struct], value: Any) -> bool:
        return struct_differs(message, struct_type, value)

    def write_nullable_struct(
        self, field: str, struct_type: type[Struct], value: Any, version: int
    ) -> None:
        if value is None:
            self.buffer.append(0xFF)
        else:
            self.buffer.append(1)
            self.write_struct(field, struct_type, value, version)

    def write_tagged_nullable_struct(
        self, field: str, struct_type: type[Struct], value: Any, version: int
    ) -> None:
        """Write a nullable struct as the payload of a tag: 0 for None, or 1 and the struct."""
        if value is None:
            self.buffer.append(0)
        else:
            self.buffer.append(1)
            self.write_struct(field, struct_type, value, version)

    # -- tag sections ------------------------------------------------------------------------

    def write_tags(self, tags: TagSection, unknown: list[tuple[int, bytes]]) -> None:
        """Write a section of the added known tags and the unknown ones, in order."""
        section = [(tag, bytes(payload.buffer)) for tag, payload in tags.payloads]
        if unknown:
            section += exact_tags(unknown, self._known_tags() | {tag for tag, _ in section})
            section.sort(key=lambda entry: entry[0])
        self.write_unsigned_varint(len(section))
        for tag, raw in section:
            self.write_unsigned_varint(tag)
            self.write_unsigned_varint(len(raw))
            self.buffer += raw

    def _known_tags(self) -> set[int | None]:
        """Return the tags of the struct being written, in all its versions."""
        return set() if self.struct is None else {field.tag for field in self.struct.LAYOUT.fields}

    def write_unknown_tags(self, unknown: list[tuple[int, bytes]]) -> None:
        """Write the tag section of a struct without tagged fields."""
        if unknown:
            self.write_tags(TagSection(), unknown)
        else:
            self.buffer.append(0)

    def no_tags_in_version(self, version: int) -> EncodeError:
        reason = f"version {version} has no tagged fields; clear the list or write a later version"
        return EncodeError(reason, "unknown_tagged_fields")


class ClassicWriter(Writer):
    """Writes versions that are not flexible: int16 and int32 lengths, -1 for null."""

    __slots__ = ()

    def _write_string_length(self, length: int) -> None:
        self.buffer += INT16.pack(length)

    def _write_length(self, length: int) -> None:
        self.buffer += INT32.pack(length)


class CompactWriter(Writer):
    """Writes flexible versions: lengths are varints of the length plus one, 0 for null."""

    __slots__ = ()

    def _write_length(self, length: int) -> None:
        self.write_unsigned_varint(length + 1)

    _write_string_length = _write_length


class TagSection:
    """Collects the known tags of one struct, in ascending order."""

    __slots__ = ("payloads",)

    def __init__(self) -> None:
        self.payloads: list[tuple[int, CompactWriter]] = []

    def add(self, tag: int) -> CompactWriter:
        """Return a writer for the payload of the next tag."""
        payload = CompactWriter()
        self.payloads.append((tag, payload))
        return payload
