"""Generates the function that reads one version of a message: `read(data, position)`.

The function returns the message and its end. It unpacks each run of values of fixed size, with
the length after it, in one call, and reads structs inline. It gives up as `specialized_source`
describes.

A slice past the end of the input does not raise, but leaves the position past the end. Then the
next read fails, or the check of the last position does. Counts are compared with the number of
bytes left, so no list can grow larger than the input.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, repeat
from typing import Any

from kraftwire_wire.forms import FIXED_FORMATS, MAX_LENGTH, MAX_STRING_LENGTH
from kraftwire_wire.layout import Array, Field, StructType, Type, VersionField, VersionLayout
from kraftwire_wire.specialized_source import (
    CODES,
    UUID_CODE,
    NotSpecialized,
    Source,
    Unusual,
    uuid_of,
)

Read = Callable[[bytes, int], tuple[Any, int]]

_TABLE_SIZE = 17
"""Shorter arrays of numbers are unpacked with a precompiled format."""

_LONGEST_FORMAT = 128
"""Arrays of up to this many structs are unpacked in one call; longer formats take memory."""


def specialized_reader(message: type[Any], version: int) -> Read:
    """Return the function for a version, or raise `NotSpecialized`."""
    return _ReaderSource(message, version).compile()


def wide_length(data: bytes, position: int) -> tuple[int, int]:
    """Read a length of more than one byte in its shortest form; return it and its end."""
    value = 0
    for shift in (0, 7, 14, 21, 28):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if not 0x7F < value <= MAX_LENGTH:
                break
            return value, position
    raise Unusual


def wide_string_length(data: bytes, position: int) -> tuple[int, int]:
    """Read a string's length plus one of more than one byte; return it and its end."""
    value, position = wide_length(data, position)
    if value > MAX_STRING_LENGTH + 1:
        raise Unusual
    return value, position


class StructUnpackers(dict[int, Callable[..., tuple[Any, ...]]]):
    """Maps a count to the function that unpacks that many structs of one size."""

    def __init__(self, codes: str) -> None:
        self._codes = codes

    def __missing__(self, count: int) -> Callable[..., tuple[Any, ...]]:
        unpack = self[count] = struct.Struct(">" + self._codes * count).unpack_from
        return unpack


def unpack_structs(codes: str, data: bytes) -> Iterator[Any]:
    """Iterate over the values of any number of structs of one size."""
    return chain.from_iterable(struct.iter_unpack(">" + codes, data))


_struct_unpackers = cache(StructUnpackers)


@cache
def _unpackers(code: str) -> tuple[Callable[..., tuple[Any, ...]], ...]:
    return tuple(struct.Struct(f">{n}{code}").unpack_from for n in range(_TABLE_SIZE))


class _ReaderSource:
    """Writes the lines of the function; `_run` holds the values that the next call unpacks."""

    def __init__(self, message: type[Any], version: int) -> None:
        self._message = message
        self._version = version
        self._source = Source()
        self._run: list[tuple[str, str]] = []
        self._source.names |= {
            "new": object.__new__,
            "uuid_of": uuid_of,
            "unpack_structs": unpack_structs,
            "repeat": repeat,
            "unpack_from": struct.unpack_from,
            "wide_length": wide_length,
            "wide_string_length": wide_string_length,
        }

    def compile(self) -> Read:
        source, message = self._source, self._message
        with source.block("def read(data, pos):"):
            source.line("end = len(data)")
            self._struct("message", message)
            self._flush()
            source.refuse_if("pos > end")
            source.line("return message, pos")
        return source.compile("read", f"read {message.__name__} {self._version}")

    # -- runs ------------------------------------------------------------------------------

    def _take(self, code: str, target: str) -> None:
        """Append a value of fixed size to the run."""
        self._run.append((code, target))

    def _flush(self) -> None:
        """Write the call that unpacks the run."""
        run, self._run = self._run, []
        if not run:
            return
        line = self._source.line
        if [code for code, _ in run] == ["B"]:
            line(f"{run[0][1]} = data[pos]")
            line("pos += 1")
            return
        form = struct.Struct(">" + "".join(code for code, _ in run))
        unpack = self._source.bind("unpack", form.format, lambda: form.unpack_from)
        raw = {i: self._source.fresh("raw") for i, (code, _) in enumerate(run) if code == UUID_CODE}
        targets = [raw.get(i, target) for i, (_, target) in enumerate(run)]
        line(f"{', '.join(targets)}, = {unpack}(data, pos)")
        line(f"pos += {form.size}")
        for i, name in raw.items():
            line(f"{run[i][1]} = uuid_of({name})")

    # -- structs ---------------------------------------------------------------------------

    def _struct(self, var: str, cls: type[Any]) -> None:
        layout: VersionLayout = cls.LAYOUT.at(self._version)
        self._source.line(f"{var} = new({self._source.class_name(cls)})")
        self._set_defaults(var, layout)
        for field in layout.ordinary:
            self._field(f"{var}.{field.name}", field)
        if layout.flexible:
            self._tags(var, layout)

    def _set_defaults(self, var: str, layout: VersionLayout) -> None:
        for field in (*layout.tagged, *layout.absent):
            self._source.line(f"{var}.{field.name} = {self._default(field.spec)}")
        self._source.line(f"{var}.unknown_tagged_fields = []")

    def _default(self, field: Field) -> str:
        if field.default == ():
            if field.is_array:
                return "[]"
            return f"{self._source.class_name(field.struct_class(self._message))}()"
        return self._source.constant(field.default)

    def _tags(self, var: str, layout: VersionLayout) -> None:
        source = self._source
        count, tag, size, stop, last = map(source.fresh, ("tags", "tag", "size", "stop", "last"))
        self._take("B", count)
        self._flush()
        with source.block(f"if {count}:"):
            source.refuse_if(f"{count} > 127")
            source.line(f"{last} = -1")
            with source.block(f"for _ in range({count}):"):
                source.line(f"{tag} = data[pos]")
                source.line(f"{size} = data[pos + 1]")
                source.line("pos += 2")
                source.refuse_if(f"not {last} < {tag} < 128")
                self._widen(size, "wide_length")
                source.line(f"{last} = {tag}")
                source.line(f"{stop} = pos + {size}")
                self._payloads(var, layout, tag, stop)
                source.refuse_if(f"pos != {stop}")

    def _payloads(self, var: str, layout: VersionLayout, tag: str, stop: str) -> None:
        source = self._source
        word = "if"
        for field in layout.tagged:
            with source.block(f"{word} {tag} == {field.tag}:"):
                self._payload(f"{var}.{field.name}", field)
            word = "elif"
        for refused in layout.refused:
            with source.block(f"{word} {tag} == {refused.tag}:"):
                source.line("raise Unusual")
            word = "elif"
        with source.block("else:" if word == "elif" else "if True:"):
            source.line(f"{var}.unknown_tagged_fields.append(({tag}, data[pos:{stop}]))")
            source.line(f"pos = {stop}")

    def _payload(self, target: str, field: VersionField) -> None:
        """Read the payload of a tag; treat a struct of defaults as not sent."""
        if not field.spec.has_struct_default:
            self._field(target, field)
            self._flush()
            return
        var = self._source.fresh("value")
        self._field(var, field)
        self._flush()
        null = f"{var} is None or " if field.nullable else ""
        cls = field.spec.struct_class(self._message)
        differs = self._source.struct_differs(var, self._message, cls, is_struct=True)
        with self._source.block(f"if {null}{differs}:"):  # otherwise the field keeps its default
            self._source.line(f"{target} = {var}")

    # -- fields ----------------------------------------------------------------------------

    def _field(self, target: str, field: VersionField) -> None:
        if field.type in CODES:
            self._take(CODES[field.type], target)
        elif isinstance(field.type, StructType):
            self._one_struct(target, field, field.type.class_in(self._message))
        else:
            self._with_length(target, field.type, field.compact, field.nullable)

    def _one_struct(self, target: str, field: VersionField, cls: type[Any]) -> None:
        source = self._source
        var = source.fresh("struct")
        if not field.nullable:
            self._struct(var, cls)
            source.line(f"{target} = {var}")
            return
        marker = source.fresh("marker")
        self._take("B", marker)
        self._flush()
        is_tagged = field.tag is not None
        with source.block(f"if {marker}:" if is_tagged else f"if {marker} < 128:"):
            if is_tagged:
                source.refuse_if(f"{marker} > 127")
            self._struct(var, cls)
            self._flush()
            source.line(f"{target} = {var}")
        with source.block("else:"):
            source.line(f"{target} = None")

    def _with_length(self, target: str, kind: Type, compact: bool, nullable: bool) -> None:
        source = self._source
        size = source.fresh("size")
        classic_code = "h" if kind == "string" else "i"
        self._take("B" if compact else classic_code, size)
        self._flush()
        is_null = f"not {size}" if compact else f"{size} < 0"
        with source.block(f"if {is_null}:"):
            source.line(f"{target} = None" if nullable else "raise Unusual")
        with source.block("else:"):
            if compact:
                wide = "wide_string_length" if kind == "string" else "wide_length"
                self._widen(size, wide)
                source.line(f"{size} -= 1")
            self._body(target, kind, size, compact)

    def _widen(self, size: str, wide: str) -> None:
        """Read the rest of a varint if its first byte has the continuation bit."""
        source = self._source
        with source.block(f"if {size} > 127:"):
            with source.block("if 0 < data[pos] < 128:"):
                source.line(f"{size} += (data[pos] - 1) * 128")
                source.line("pos += 1")
            with source.block("else:"):
                source.line(f"{size}, pos = {wide}(data, pos - 1)")

    def _body(self, target: str, kind: Type, size: str, compact: bool) -> None:
        source = self._source
        if not isinstance(kind, Array):
            stop = source.fresh("stop")
            source.line(f"{stop} = pos + {size}")
            decode = ".decode()" if kind == "string" else ""
            source.line(f"{target} = data[pos:{stop}]{decode}")
            source.line(f"pos = {stop}")
            return
        source.refuse_if(f"{size} > end - pos")
        if isinstance(kind.element, StructType):
            self._structs(target, kind.element.class_in(self._message), size)
        elif kind.element in FIXED_FORMATS:
            self._numbers(target, FIXED_FORMATS[kind.element], size)
        else:
            self._elements(target, kind.element, size, compact)

    def _numbers(self, target: str, code: str, size: str) -> None:
        source = self._source
        table = source.bind("table", code, lambda: _unpackers(code))
        with source.block(f"if {size} < {_TABLE_SIZE}:"):
            source.line(f"{target} = list({table}[{size}](data, pos))")
        with source.block("else:"):
            source.line(f'{target} = list(unpack_from(f">{{{size}}}{code}", data, pos))')
        source.line(f"pos += {struct.calcsize('>' + code)} * {size}")

    def _elements(self, target: str, element: str, size: str, compact: bool) -> None:
        source = self._source
        items, item = source.fresh("items"), source.fresh("item")
        source.line(f"{items} = []")
        with source.block(f"for _ in range({size}):"):
            if element == "uuid":
                self._take(UUID_CODE, item)
            else:
                self._with_length(item, element, compact, nullable=False)
            self._flush()
            source.line(f"{items}.append({item})")
        source.line(f"{target} = {items}")

    def _structs(self, target: str, cls: type[Any], size: str) -> None:
        source, layout = self._source, cls.LAYOUT.at(self._version)
        if not layout.takes_bytes(self._message):
            raise NotSpecialized("an array of elements without any bytes")
        items, var = source.fresh("items"), source.fresh("struct")
        source.line(f"{items} = []")
        has_fixed_fields = all(field.type in CODES for field in layout.ordinary)
        if layout.ordinary and has_fixed_fields and not layout.tagged:
            with source.block(f"if {size}:"):
                self._structs_of_one_size(items, var, cls, layout, size)
        else:
            with source.block(f"for _ in range({size}):"):
                self._struct(var, cls)
                self._flush()
                source.line(f"{items}.append({var})")
        source.line(f"{target} = {items}")

    def _structs_of_one_size(
        self, items: str, var: str, cls: type[Any], layout: VersionLayout, size: str
    ) -> None:
        """Read an array of structs in one call; give up unless all their tag counts are zero."""
        source, fields, has_tags = self._source, layout.ordinary, layout.flexible
        stop, values = source.fresh("stop"), source.fresh("values")
        codes = "".join(CODES[field.type] for field in fields) + ("x" if has_tags else "")
        width = struct.calcsize(">" + codes)
        source.line(f"{stop} = pos + {width} * {size}")
        tags = f" or data[pos + {width - 1}:{stop}:{width}].count(0) != {size}" if has_tags else ""
        source.refuse_if(f"{stop} > end{tags}")
        with source.block(f"if {size} <= {_LONGEST_FORMAT}:"):
            unpackers = source.bind("unpackers", codes, lambda: _struct_unpackers(codes))
            source.line(f"{values} = iter({unpackers}[{size}](data, pos))")
        with source.block("else:"):
            source.line(f"{values} = unpack_structs({codes!r}, data[pos:{stop}])")
        source.line(f"{items} = list(map(new, repeat({source.class_name(cls)}, {size})))")
        raw = {f.name: source.fresh("raw") for f in fields if f.type == "uuid"}
        targets = [raw.get(field.name, f"{var}.{field.name}") for field in fields]
        columns = f"{values}, " * len(fields)
        with source.block(f"for {var}, {', '.join(targets)} in zip({items}, {columns}):"):
            self._set_defaults(var, layout)
            for name, value in raw.items():
                source.line(f"{var}.{name} = uuid_of({value})")
        source.line(f"pos = {stop}")
