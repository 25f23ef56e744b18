"""Reads a message and notes what its writer would write differently; see `canonical`.

This module repeats no rule of the wire format. The emitted code reads the message. Each value that
has more than one encoding is written again and compared, and each struct writes its tags again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct as Form
from typing import Any, cast

from kraftwire_wire.errors import count_of
from kraftwire_wire.reader import ClassicReader, CompactReader, Reader
from kraftwire_wire.structs import Struct
from kraftwire_wire.writer import ClassicWriter, CompactWriter, TagSection, Writer

DEFAULTS = "defaults in tag "
"""Start of a deviation's kind if a tag holds its default."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A range of bytes that differs from what encoding the message writes.

    Fields:
        path: the field, such as `topics[2].name`.
        offset: the byte at which it starts.
        size: its number of bytes; 0 if only lenient reading accepts it.
        kind: a category, such as `boolean` or `defaults in tag 0`.
        reason: the bytes, and what would be written instead.
    """

    path: str
    offset: int
    size: int
    kind: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason} (at byte {self.offset})"


class _ShallowWriter(Writer):
    """Writes a struct without the structs inside it, and notes which tags it writes."""

    tags: frozenset[int] = frozenset()

    def write_struct(self, *_: Any) -> None:
        pass

    def write_structs(self, *_: Any) -> None:
        pass

    def write_nullable_structs(self, *_: Any) -> None:
        pass

    def write_tags(self, tags: TagSection, unknown: list[tuple[int, bytes]]) -> None:
        """Note the known tags; sections inside their payloads have their own writers."""
        self.tags = frozenset(tag for tag, _ in tags.payloads)


class _ShallowClassicWriter(_ShallowWriter, ClassicWriter):
    pass


class _ShallowCompactWriter(_ShallowWriter, CompactWriter):
    pass


class NotingReader(Reader):
    """Reads a message and notes what its writer would write differently."""

    writer: type[Writer]
    shallow_writer: type[_ShallowWriter]

    def __init__(self, data: bytes, position: int, limit: int) -> None:
        super().__init__(data, position)
        self.deviations: list[Deviation] = []
        self._limit = limit
        self._steps: list[str] = []
        self._tags: list[list[tuple[int, str, int, int]]] = []
        self._first_tag = 0
        self._array = ""
        self._index = -1

    # -- the position in the message ---------------------------------------------------------

    def enter(self, step: str) -> None:
        """Begin a struct: the value of a field or an element of an array."""
        self._steps.append(step)
        self._tags.append([])

    def leave(self, struct: Any, version: int) -> None:
        """End the innermost struct, noting the tags that it would not write."""
        tags = self._tags.pop()
        if tags:
            writer = self.shallow_writer()
            struct._encode(writer, version)
            for tag, field, start, end in tags:
                if tag not in writer.tags:
                    self._note_default(tag, field, start, end)
        self._steps.pop()

    def _note_default(self, tag: int, field: str, start: int, end: int) -> None:
        """Note a tag that encoding leaves out; this replaces the deviations inside it."""
        self.deviations = [one for one in self.deviations if not start <= one.offset < end]
        kind = f"{DEFAULTS}{tag}"
        reason = f"{count_of(end - start, 'byte')} of {kind}, which encoding leaves out"
        self._note(field, start, end, kind, reason)

    def _note(self, field: str, start: int, end: int, kind: str, reason: str) -> None:
        if len(self.deviations) < self._limit:
            field = field or f"{self._array}[{self._index}]"  # an element has no name
            steps = [step for step in (*self._steps, field) if step]
            self.deviations.append(Deviation(".".join(steps), start, end - start, kind, reason))

    def _compare(
        self, field: str, start: int, end: int, kind: str, written: bytes | bytearray
    ) -> None:
        """Note a value if its bytes differ from the written ones, once per offset."""
        raw = self.data[start:end]
        if raw != written and all(one.offset != start for one in self.deviations):
            reason = f"{kind} {raw.hex()}, which encoding writes as {written.hex()}"
            self._note(field, start, end, kind, reason)

    # -- values with more than one encoding ----------------------------------------------------

    def read_bool(self, field: str) -> bool:
        start = self.position
        value = super().read_bool(field)
        writer = self.writer()
        writer.write_bool(field, value)
        self._compare(field, start, self.position, "boolean", writer.buffer)
        return value

    def read_fixed(self, form: Form, fields: tuple[str, ...]) -> tuple[Any, ...]:
        start = self.position
        values = super().read_fixed(form, fields)
        if form.pack(*values) != self.data[start : self.position]:
            for field, code, value in zip(fields, form.format.lstrip(">"), values, strict=True):
                one = Form(">" + code)
                kind = "boolean" if code == "?" else "number"
                self._compare(field, start, start + one.size, kind, one.pack(value))
                start += one.size
        return values

    def read_unsigned_varint(self, field: str) -> int:
        start = self.position
        value = super().read_unsigned_varint(field)
        if self.position - start > 1:
            writer = self.writer()
            writer.write_unsigned_varint(value)
            self._compare(field, start, self.position, "varint", writer.buffer)
        return value

    def read_nullable_string(self, field: str) -> str | None:
        return cast("str | None", self._nullable("nullable_string", field))

    def read_nullable_bytes(self, field: str) -> bytes | None:
        return cast("bytes | None", self._nullable("nullable_bytes", field))

    read_nullable_records = read_nullable_bytes

    def read_classic_nullable_string(self, field: str) -> str | None:
        return cast("str | None", self._nullable("classic_nullable_string", field))

    def read_classic_nullable_bytes(self, field: str) -> bytes | None:
        return cast("bytes | None", self._nullable("classic_nullable_bytes", field))

    def _nullable(self, name: str, field: str) -> Any:
        start = self.position
        value = getattr(super(), f"read_{name}")(field)
        if value is None:
            writer = self.writer()
            getattr(writer, f"write_{name}")(field, None)
            self._compare(field, start, self.position, "null", writer.buffer)
        return value

    def read_string(self, field: str) -> str:
        self._index += 1
        return super().read_string(field)

    def read_nullable_array(self, field: str, element: str) -> list[Any] | None:
        start = self.position
        self._array, self._index = field, -1
        items = super().read_nullable_array(field, element)
        if items is None or element == "bool":
            writer = self.writer()
            writer.write_nullable_array(field, element, items)
            if items is None:
                self._compare(field, start, self.position, "null", writer.buffer)
            else:
                self._compare_elements(field, writer.buffer[-len(items) :] if items else b"")
        return items

    def _compare_elements(self, field: str, written: bytes | bytearray) -> None:
        """Compare the elements of an array of bools that ends at the position."""
        first = self.position - len(written)
        if self.data[first : self.position] == written:
            return
        for index, byte in enumerate(written):
            if len(self.deviations) >= self._limit:
                return
            at = first + index
            self._compare(f"{field}[{index}]", at, at + 1, "boolean", bytes([byte]))

    # -- structs -----------------------------------------------------------------------------

    def read_struct(self, field: str, struct: Any, version: int, *more: Any) -> Any:
        self.enter(field)
        value = super().read_struct(field, struct, version, *more)
        self.leave(value, version)
        return value

    def read_nullable_structs(self, field: str, struct: Any, version: int) -> list[Any] | None:
        start = self.position
        elements: Any = _Elements(field, struct)
        items: list[Any] | None = super().read_nullable_structs(field, elements, version)
        if items is None:
            writer = self.writer()
            writer.write_nullable_structs(field, struct, None, version)
            self._compare(field, start, self.position, "null", writer.buffer)
        return items

    def read_nullable_struct(self, field: str, struct: Any, version: int, *more: Any) -> Any:
        start = self.position
        value = super().read_nullable_struct(field, struct, version, *more)
        writer = self.shallow_writer()
        writer.write_nullable_struct(field, struct, value, version)
        self._compare(field, start, start + 1, "marker", writer.buffer)
        return value

    def read_tagged_nullable_struct(self, field: str, struct: Any, version: int, *more: Any) -> Any:
        marker = CompactReader(self.data, self.position)
        value = super().read_tagged_nullable_struct(field, struct, version, *more)
        start = marker.position
        marker.read_unsigned_varint(field)
        writer = self.shallow_writer()
        writer.write_tagged_nullable_struct(field, struct, value, version)
        self._compare(field, start, marker.position, "marker", writer.buffer)
        return value

    # -- tag sections ------------------------------------------------------------------------

    def _read_tag_count(self) -> int:
        count = super()._read_tag_count()
        self._first_tag = self.position
        return count

    def read_tags(self, *fields: str) -> Iterator[int]:
        start = -1
        for tag in super().read_tags(*fields):
            if start < 0:
                start = self._first_tag
            yield tag
            if tag < len(fields):
                self._tags[-1].append((tag, fields[tag], start, self.position))
            start = self.position


class _Elements:
    """Replaces the struct class of an array to report where each element begins and ends."""

    def __init__(self, field: str, struct: type[Struct]) -> None:
        self._field = field
        self._struct = struct
        self._index = 0

    def _decode(self, reader: NotingReader, version: int) -> Any:
        reader.enter(f"{self._field}[{self._index}]")
        value = self._struct._decode(reader, version)
        reader.leave(value, version)
        self._index += 1
        return value


class ClassicNotingReader(NotingReader, ClassicReader):
    """Reads and compares versions before the flexible ones."""

    writer = ClassicWriter
    shallow_writer = _ShallowClassicWriter


class CompactNotingReader(NotingReader, CompactReader):
    """Reads and compares flexible versions."""

    writer = CompactWriter
    shallow_writer = _ShallowCompactWriter
