"""Generates the function that encodes one version of a message: `write(message)`.

The function collects parts and joins them: it packs each run of values of fixed size in one call;
strings and bytes are separate parts. It gives up as `specialized_source` describes, and also for
unknown tagged fields and for a value whose type is not exactly its field's type.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any
from uuid import UUID

from kraftwire_wire.forms import FIXED_FORMATS, MAX_LENGTH, MAX_STRING_LENGTH
from kraftwire_wire.layout import Array, Field, StructType, Type, VersionField, VersionLayout
from kraftwire_wire.specialized_source import CODES, NotSpecialized, Source, Unusual

Write = Callable[[Any], bytes]

_TABLE_SIZE = 17
"""Shorter arrays of numbers are packed with a precompiled format."""

_NUMBERS: dict[Any, str] = {name: code for name, code in FIXED_FORMATS.items() if name != "bool"}
"""Formats of numbers; bools are written one by one, since `pack` accepts any value as a bool."""

_ONE_BYTE = tuple(bytes([number]) for number in range(128))


def specialized_writer(message: type[Any], version: int) -> Write:
    """Return the function for a version, or raise `NotSpecialized`."""
    return _WriterSource(message, version).compile()


def wide(number: int) -> bytes:
    """Return the varint of a size, or of a length plus one, of more than one byte."""
    if number > MAX_LENGTH:
        raise Unusual
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def wide_string(number: int) -> bytes:
    """Return the varint of a string's length plus one."""
    if number > MAX_STRING_LENGTH + 1:
        raise Unusual
    return wide(number)


@cache
def _packers(before: str, code: str) -> tuple[Callable[..., bytes], ...]:
    """Return packers by count, each for the values `before` and an array of numbers."""
    return tuple(struct.Struct(f">{before}{n}{code}").pack for n in range(_TABLE_SIZE))


class _WriterSource:
    """Writes the lines of the function; `_run` holds the values that the next call packs."""

    def __init__(self, message: type[Any], version: int) -> None:
        self._message = message
        self._version = version
        self._source = Source()
        self._run: list[tuple[str, str]] = []
        self._add = "add"
        self._source.names |= {
            "UUID": UUID,
            "ONE_BYTE": _ONE_BYTE,
            "ZERO": b"\x00",
            "pack": struct.pack,
            "text": str.encode,
            "to_bytes": int.to_bytes,
            "type": type,
            "wide": wide,
            "wide_string": wide_string,
        }

    def compile(self) -> Write:
        source, message = self._source, self._message
        with source.block("def write(message):"):
            self._refuse_unless("message", message)
            source.line("parts = []")
            source.line("add = parts.append")
            self._struct("message", message)
            self._flush()
            source.line("return b''.join(parts)")
        return source.compile("write", f"write {message.__name__} {self._version}")

    # -- runs ------------------------------------------------------------------------------

    def _put(self, code: str, value: str) -> None:
        """Append a value of fixed size to the run."""
        self._run.append((code, value))

    def _flush(self) -> None:
        """Write the call that packs the run."""
        run, self._run = self._run, []
        codes = "".join(code for code, _ in run)
        if codes == "x":
            self._add_part("ZERO")
        elif run:
            pack = self._source.bind("pack", codes, lambda: struct.Struct(f">{codes}").pack)
            self._add_part(f"{pack}({', '.join(value for code, value in run if code != 'x')})")

    def _add_part(self, value: str) -> None:
        self._source.line(f"{self._add}({value})")

    def _put_varint(self, number: str, widen: str = "wide") -> None:
        """Write a varint; most are below 128."""
        self._flush()
        self._add_part(f"ONE_BYTE[{number}] if {number} < 128 else {widen}({number})")

    def _refuse_unless(self, value: str, cls: type[Any]) -> None:
        """Write code that gives up unless a value is of exactly this class."""
        self._source.refuse_if(f"type({value}) is not {self._source.class_name(cls)}")

    # -- structs ---------------------------------------------------------------------------

    def _struct(self, var: str, cls: type[Any]) -> None:
        """Write a struct; its class has been checked."""
        layout: VersionLayout = cls.LAYOUT.at(self._version)
        reasons = [f"{var}.unknown_tagged_fields"]
        for field in layout.absent:
            if not field.spec.ignorable:
                reasons.append(self._differs(f"{var}.{field.name}", field.spec))
        self._source.refuse_if(" or ".join(f"({reason})" for reason in reasons))
        for field in layout.ordinary:
            self._field(f"{var}.{field.name}", field)
        if layout.flexible:
            self._tags(var, layout)

    def _differs(self, value: str, field: Field) -> str:
        """Return the expression that tests, as the emitted code does, if a field is not default."""
        default = field.default
        if default != default:
            raise NotSpecialized("a default that is not equal to itself")
        if field.is_optional_struct:
            return f"{value} is not None and {self._struct_differs(value, field)}"
        if default is None or isinstance(default, bool):
            return f"{value} is not {default}"
        if default == ():
            return f"{value} != []" if field.is_array else self._struct_differs(value, field)
        return f"{value} != {self._source.constant(default)}"

    def _struct_differs(self, value: str, field: Field) -> str:
        cls = field.struct_class(self._message)
        return self._source.struct_differs(value, self._message, cls)

    def _tags(self, var: str, layout: VersionLayout) -> None:
        if not layout.tagged:
            self._put("x", "")
            return
        self._flush()
        source = self._source
        tags, outer = source.fresh("tags"), self._add
        source.line(f"{tags} = []")
        for field in layout.tagged:
            value = f"{var}.{field.name}"
            with source.block(f"if {self._differs(value, field.spec)}:"):
                payload = source.fresh("payload")
                source.line(f"{payload} = []")
                self._add = f"{payload}.append"
                self._field(value, field)
                self._flush()
                self._add = outer
                source.line(f"{payload} = b''.join({payload})")
                size = source.fresh("size")
                source.line(f"{size} = len({payload})")
                head = f"ONE_BYTE[{size}] if {size} < 128 else wide({size})"
                tag = field.tag or 0
                number = f"ONE_BYTE[{tag}]" if tag < 128 else f"wide({tag})"
                source.line(f"{tags} += ({number}, {head}, {payload})")
        with source.block(f"if {tags}:"):
            # Each tag is three parts; no struct has so many that its count takes two bytes.
            source.line(f"{self._add}(ONE_BYTE[len({tags}) // 3])")
            source.line(f"{self._add}(b''.join({tags}))")
        with source.block("else:"):
            self._add_part("ZERO")

    # -- fields ----------------------------------------------------------------------------

    def _field(self, value: str, field: VersionField) -> None:
        if field.type in CODES:
            self._put(CODES[field.type], self._packable(value, field.type))
        elif isinstance(field.type, StructType):
            self._one_struct(value, field, field.type.class_in(self._message))
        else:
            self._with_length(value, field.type, field.compact, field.nullable)

    def _packable(self, value: str, kind: Type) -> str:
        """Return the expression to pack for a value, after writing the checks that `pack` lacks."""
        if kind == "bool":
            self._refuse_unless(value, bool)
        if kind == "uuid":
            self._refuse_unless(value, UUID)
            return f"to_bytes({value}.int, 16)"
        return value

    def _one_struct(self, value: str, field: VersionField, cls: type[Any]) -> None:
        source = self._source
        var = source.fresh("struct")
        source.line(f"{var} = {value}")
        if field.nullable:
            self._flush()
            with source.block(f"if {var} is None:"):
                self._add_part(r"b'\xff'" if field.tag is None else "ZERO")
            with source.block("else:"):
                self._refuse_unless(var, cls)
                self._put("b", "1")
                self._struct(var, cls)
                self._flush()
            return
        if field.spec.is_optional_struct and field.tag is None:
            with source.block(f"if {var} is None:"):
                source.line(f"{var} = {source.class_name(cls)}()")
        self._refuse_unless(var, cls)
        self._struct(var, cls)

    def _with_length(self, value: str, kind: Type, compact: bool, nullable: bool) -> None:
        """Write a string, bytes or an array.

        The length and the content come from the same value: immutable bytes, or a copy of the
        list. Numbers need no copy, since `pack` raises if their count has changed.
        """
        source = self._source
        var, size, count = source.fresh("value"), source.fresh("size"), source.fresh("count")
        code = _NUMBERS.get(kind.element) if isinstance(kind, Array) else None
        source.line(f"{var} = {value}")
        if nullable:
            with source.block(f"if {var} is None:"):
                source.line(f"{var} = {'[]' if isinstance(kind, Array) else repr(b'')}")
                source.line(f"{size} = {0 if compact else -1}")
                if code:
                    source.line(f"{count} = 0")
            with source.block("else:"):
                self._measure(var, kind, size, count, compact)
        else:
            self._measure(var, kind, size, count, compact)
        if code:
            self._numbers(var, code, size, count, compact)
            return
        if compact:
            self._put_varint(size, "wide_string" if kind == "string" else "wide")
        else:
            self._put("h" if kind == "string" else "i", size)
        self._flush()
        if isinstance(kind, Array):
            self._items(var, kind.element, compact)
        else:
            self._add_part(var)

    def _measure(self, var: str, kind: Type, size: str, count: str, compact: bool) -> None:
        """Encode a string or copy a list, give up for another type, and set the length."""
        line, more = self._source.line, " + 1" if compact else ""
        if kind == "string":
            line(f"{var} = text({var})")
        else:
            self._refuse_unless(var, list if isinstance(kind, Array) else bytes)
        if isinstance(kind, Array) and kind.element in _NUMBERS:
            line(f"{count} = len({var})")
            line(f"{size} = {count}{more}")
            return
        if isinstance(kind, Array):
            line(f"{var} = [*{var}]")
        line(f"{size} = len({var}){more}")

    def _numbers(self, items: str, code: str, size: str, count: str, compact: bool) -> None:
        """Write an array of numbers, its count and the run before it in one call."""
        source = self._source
        before, self._run = self._run, []
        whole = [*before, ("B" if compact else "i", size)]
        codes = "".join(code for code, _ in whole)
        table = source.bind("table", (codes, code), lambda: _packers(codes, code))
        values = ", ".join(value for code, value in whole if code != "x")
        with source.block(f"if {count} < {_TABLE_SIZE}:"):
            self._add_part(f"{table}[{count}]({values}, *{items})")
        with source.block("else:"):
            self._run = before if compact else whole
            if compact:
                self._put_varint(size)
            self._flush()
            self._add_part(f'pack(f">{{{count}}}{code}", *{items})')

    def _items(self, items: str, element: str | StructType, compact: bool) -> None:
        item = self._source.fresh("item")
        with self._source.block(f"for {item} in {items}:"):
            if isinstance(element, StructType):
                cls = element.class_in(self._message)
                self._refuse_unless(item, cls)
                self._struct(item, cls)
            elif element in CODES:
                self._put(CODES[element], self._packable(item, element))
            else:
                self._with_length(item, element, compact, nullable=False)
            self._flush()
