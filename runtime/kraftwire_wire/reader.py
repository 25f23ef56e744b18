"""Reads the values of the wire format from a byte string.

Rules for every method:
- check that a length fits into the input before allocating memory for it;
- raise nothing but `DecodeError`, with the field and the byte offset at which its value starts;
- with `lenient`, read whatever Kafka's own generated classes read; without it, raise for input
  that Kafka would silently misread.

`ClassicReader` reads the older versions of a message and `CompactReader` the flexible ones
(KIP-482), which write lengths differently and have tag sections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import unpack_from
from typing import Any, Concatenate, ParamSpec, TypeVar

from kraftwire_wire.defaults import struct_differs
from kraftwire_wire.errors import DecodeError, count_of
from kraftwire_wire.forms import (
    FIXED_FORMATS,
    FIXED_SIZES,
    MAX_LENGTH,
    MAX_STRING_LENGTH,
)
from kraftwire_wire.primitives import PrimitiveReader
from kraftwire_wire.structs import S, Struct
from kraftwire_wire.text import decode_as_java

P = ParamSpec("P")
T = TypeVar("T")

SIZELESS_PER_BYTE = 4
"""How many elements without bytes a message may have for each byte of the input."""


class Reader(PrimitiveReader):
    """Base class of both readers; adds strings, bytes, arrays, structs and tags.

    Null is an error unless the method's name has `nullable`. Methods with `classic` read the length
    as int16 or int32 in every version (for a field with its own flexibleVersions). `element` is
    the name of a primitive type in the spec language.
    """

    __slots__ = ()

    def tag_not_in_version(self, field: str, version: int) -> DecodeError:
        return self.fail(field, f"tag sent in version {version}, which does not have it")

    # -- lengths, which the two readers read differently -------------------------------

    def _read_string_length(self, field: str) -> int:
        raise NotImplementedError

    def _read_length(self, field: str) -> int:
        """Read the length of bytes or the count of an array; negative means null."""
        raise NotImplementedError

    def _read_non_null(
        self,
        read: Callable[Concatenate[str, P], T | None],
        what: str,
        field: str,
        *args: P.args,
        **named: P.kwargs,
    ) -> T:
        start = self.position
        value = read(field, *args, **named)
        if value is None:
            raise self.fail(field, f"expected {what}, got null", start)
        return value

    # -- strings and bytes -------------------------------------------------------------

    def read_nullable_string(self, field: str) -> str | None:
        start = self.position
        length = self._read_string_length(field)
        return None if length < 0 else self._read_text(field, length, start)

    def read_string(self, field: str) -> str:
        start = self.position
        length = self._read_string_length(field)
        if length < 0:
            raise self.fail(field, "expected a string, got null", start)
        return self._read_text(field, length, start)

    def _read_text(self, field: str, length: int, start: int) -> str:
        position = self._take(field, length, start)
        raw = self.data[position : position + length]
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            if self.lenient:
                return decode_as_java(raw)
            reason = f"not UTF-8: {error.reason}"
            raise self.fail(field, reason, position + error.start) from None

    def read_nullable_bytes(self, field: str) -> bytes | None:
        start = self.position
        return self._read_raw(field, self._read_length(field), start)

    def _read_raw(self, field: str, length: int, start: int) -> bytes | None:
        if length < 0:
            return None
        position = self._take(field, length, start)
        return self.data[position : position + length]

    def read_bytes(self, field: str) -> bytes:
        return self._read_non_null(self.read_nullable_bytes, "bytes", field)

    # Record batches are plain bytes here; `kraftwire.log` decodes them.
    read_nullable_records = read_nullable_bytes
    read_records = read_bytes

    def read_classic_nullable_string(self, field: str) -> str | None:
        start = self.position
        length = self.read_int16(field)
        return None if length < 0 else self._read_text(field, length, start)

    def read_classic_string(self, field: str) -> str:
        return self._read_non_null(self.read_classic_nullable_string, "a string", field)

    def read_classic_nullable_bytes(self, field: str) -> bytes | None:
        start = self.position
        return self._read_raw(field, self.read_int32(field), start)

    def read_classic_bytes(self, field: str) -> bytes:
        return self._read_non_null(self.read_classic_nullable_bytes, "bytes", field)

    # -- arrays and structs --------------------------------------------------------------

    def _read_count(self, field: str) -> int:
        start = self.position
        count = self._read_length(field)
        left = self.end - self.position
        if count > left:
            raise self.fail(
                field,
                f"array of {count_of(count, 'element')}, "
                f"the input has {count_of(left, 'byte')} left",
                start,
            )
        return count

    def read_nullable_array(self, field: str, element: str) -> list[Any] | None:
        start = self.position
        count = self._read_count(field)
        if count < 0:
            return None
        code = FIXED_FORMATS.get(element)
        if code is not None:
            position = self._take(field, count * FIXED_SIZES[element], start)
            return list(unpack_from(f">{count}{code}", self.data, position))
        read_element = self.read_uuid if element == "uuid" else self.read_string
        items: list[Any] = []
        try:
            for _ in range(count):
                items.append(read_element(""))
        except DecodeError as error:
            raise error.inside(f"{field}[{len(items)}]") from None
        return items

    def read_array(self, field: str, element: str) -> list[Any]:
        return self._read_non_null(self.read_nullable_array, "an array", field, element)

    def read_nullable_structs(self, field: str, struct: type[S], version: int) -> list[S] | None:
        count = self._read_count(field)
        if count < 0:
            return None
        first = self.position
        items: list[S] = []
        try:
            for _ in range(count):
                items.append(struct._decode(self, version))
        except DecodeError as error:
            raise error.inside(f"{field}[{len(items)}]") from None
        if count and self.position == first:
            self._count_sizeless(field, count)
        return items

    def read_structs(self, field: str, struct: type[S], version: int) -> list[S]:
        return self._read_non_null(self.read_nullable_structs, "an array", field, struct, version)

    def _count_sizeless(self, field: str, count: int) -> None:
        """Limit the elements without bytes, whose number the input's size does not limit."""
        self.sizeless_elements += count
        if self.sizeless_elements > SIZELESS_PER_BYTE * self.end:
            raise self.fail(field, "far more empty elements than the input has bytes")

    def read_struct(
        self, field: str, struct: type[S], version: int, message: type[Struct] | None = None
    ) -> S:
        """Read a struct.

        If `message` is passed, a struct that equals its defaults becomes `struct()`, as if its tag
        had not been sent.
        """
        try:
            value = struct._decode(self, version)
        except DecodeError as error:
            raise error.inside(field) from None
        if message is not None and not struct_differs(message, struct, value):
            return struct()
        return value

    def read_tagged_struct(
        self, field: str, struct: type[S], version: int, message: type[Struct]
    ) -> S | None:
        """Read the struct of a tag; a struct that equals its defaults becomes None."""
        value = self.read_struct(field, struct, version)
        return value if struct_differs(message, struct, value) else None

    def read_nullable_struct(self, field: str, struct: type[S], version: int) -> S | None:
        """Read a marker byte and the struct after it; a negative marker means null."""
        return None if self.read_int8(field) < 0 else self.read_struct(field, struct, version)

    def read_tagged_nullable_struct(
        self, field: str, struct: type[S], version: int, message: type[Struct] | None = None
    ) -> S | None:
        """Read a nullable struct as the payload of a tag: 0 for null, or 1 and the struct.

        `message` is as in `read_struct`.
        """
        start = self.position
        marker = self.read_unsigned_varint(field)
        if marker > MAX_LENGTH and not self.lenient:
            raise self.fail(field, f"expected 0 or 1, got marker {marker}", start)
        # Java reads a signed number here and treats a negative one as null.
        is_null = marker == 0 or marker > MAX_LENGTH
        return None if is_null else self.read_struct(field, struct, version, message)

    # -- tag sections ----------------------------------------------------------------------

    def read_tags(self, *fields: str) -> Iterator[int]:
        """Yield the tags of a section; the caller reads each payload before the next tag.

        `fields` are the names of the known tags, starting at 0.
        """
        if self.position < self.end and self.data[self.position] == 0:
            self.position += 1
            return
        previous = -1
        for _ in range(self._read_tag_count()):
            start = self.position
            tag = self.read_unsigned_varint("tag")
            if not previous < tag < MAX_LENGTH and not self.lenient:
                raise self._wrong_tag(tag, previous, start)
            previous = tag
            if tag >= len(fields):
                yield tag
                continue
            size = self._read_tag_size(fields[tag])
            payload = self.position
            yield tag
            read = self.position - payload
            if read != size and not self.lenient:
                reason = f"tag {tag} announces {count_of(size, 'byte')}, its value takes {read}"
                raise self.fail(fields[tag], reason, start)

    def _wrong_tag(self, tag: int, previous: int, start: int) -> DecodeError:
        if tag >= MAX_LENGTH:
            # Kafka's tags are signed: it can read such a tag, but not write it again.
            problem = f"is above the highest, {MAX_LENGTH - 1}"
        else:
            problem = "is sent twice" if tag == previous else f"comes after tag {previous}"
        return self.fail("tag", f"tag {tag} {problem}", start)

    def _read_tag_count(self) -> int:
        start = self.position
        count = self.read_unsigned_varint("tags")
        if self.lenient:
            # Java reads a signed number here and treats a negative one as zero.
            return 0 if count > MAX_LENGTH else count
        if count * 2 > self.end - self.position:
            left = self.end - self.position
            raise self.fail(
                "tags",
                f"{count_of(count, 'tag')}, the input has {count_of(left, 'byte')} left",
                start,
            )
        return count

    def _read_tag_size(self, field: str) -> int:
        start = self.position
        size = self.read_unsigned_varint(field)
        if size > self.end - self.position and not self.lenient:
            raise self._short(field, size, start)
        return size

    def read_unknown_tag(self, tag: int) -> tuple[int, bytes]:
        """Return an unknown tag with its payload."""
        start = self.position
        size = self.read_unsigned_varint(f"tag {tag}")
        position = self._take(f"tag {tag}", size, start)
        return tag, self.data[position : position + size]

    def read_unknown_tags(self) -> list[tuple[int, bytes]]:
        """Read the tag section of a struct without tagged fields."""
        return [self.read_unknown_tag(tag) for tag in self.read_tags()]


class ClassicReader(Reader):
    """Reads versions that are not flexible: int16 and int32 lengths, -1 for null."""

    __slots__ = ()

    def _read_string_length(self, field: str) -> int:
        return self.read_int16(field)

    def _read_length(self, field: str) -> int:
        return self.read_int32(field)


class CompactReader(Reader):
    """Reads flexible versions: lengths are varints of the length plus one, 0 for null."""

    __slots__ = ()

    def _read_length(self, field: str) -> int:
        length = self.read_unsigned_varint(field) - 1
        if length > MAX_LENGTH and self.lenient:
            # Java subtracts signed numbers and treats a negative result as null.
            return -1
        return length

    def _read_string_length(self, field: str) -> int:
        start = self.position
        length = self._read_length(field)
        if length > MAX_STRING_LENGTH:
            reason = f"string of {length} bytes, at most {MAX_STRING_LENGTH} are allowed"
            raise self.fail(field, reason, start)
        return length
