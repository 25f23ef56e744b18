"""Schemas of nullable values, and of values after a length or a count.

A length or count that is not allowed or exceeds the input is refused before memory is allocated.
"""

from __future__ import annotations

from typing import Any

import construct as c  # type: ignore[import-untyped]

from kraftwire.construct_schema.parts import Label, Part, Refusal
from kraftwire.construct_schema.primitives import COMPACT_LENGTH
from kraftwire_wire.errors import count_of
from kraftwire_wire.forms import MAX_STRING_LENGTH

_NULL = c.Computed(None)


def nullable_value(marker: Any, null: int, value: Any) -> Any:
    """Return the schema of a marker and, unless the marker means null, a value."""
    is_null = (lambda this: this.marker < 0) if null < 0 else (lambda this: this.marker == 0)
    return c.FocusedSeq(
        "value",
        "marker" / c.Rebuild(marker, lambda this: null if this.value is None else 1),
        "value" / c.IfThenElse(is_null, _NULL, value),
    )


class Announcement(c.Adapter):  # type: ignore[misc]
    """Checks a length or count against its limit and the input.

    `unit` is the minimum size of one counted element in bytes.
    """

    def __init__(
        self,
        subcon: Any,
        what: str,
        *,
        nullable: bool = False,
        longest: int | None = None,
        unit: int = 1,
        noun: str = "byte",
    ) -> None:
        super().__init__(subcon)
        self.what = what
        self.nullable = nullable
        self.longest = longest
        self.unit = unit
        self.noun = noun

    def _decode(self, number: int, context: Any, _path: str) -> int:
        self._check(number)
        left = bytes_left(context._io)
        if number * self.unit > left:
            needs = ""
            if self.unit > 1:
                needs = f", which takes at least {number * self.unit} bytes"
            rest = str(left) if self.noun == "byte" or needs else count_of(left, "byte")
            are = "is" if left == 1 else "are"
            raise Refusal(f"{self._announce(number)}{needs}, {rest} {are} left")
        return number

    def _encode(self, number: int, _context: Any, _path: str) -> int:
        self._check(number)
        return number

    def _check(self, number: int) -> None:
        if number < 0 and not self.nullable:
            raise Refusal(f"expected {with_article(self.what)}, got null")
        if self.longest is not None and number > self.longest:
            raise Refusal(f"{self._announce(number)}, at most {self.longest} are allowed")

    def _announce(self, number: int) -> str:
        joined = "of" if self.noun == "byte" else "with"
        return f"{with_article(self.what)} {joined} {count_of(number, self.noun)} is announced"


def with_article(noun: str) -> str:
    """Return `a string` or `an array`."""
    return f"an {noun}" if noun.startswith(("a", "e", "i", "o", "un")) else f"a {noun}"


def with_length(length: Any, value: Any, part: Part) -> Any:
    """Return the schema of a length and a value; the value's schema can use `this.length`."""
    return c.FocusedSeq(
        "value",
        "length"
        / Label(
            c.Rebuild(length, lambda this: -1 if this.value is None else len(this.value)), part
        ),
        "value" / c.IfThenElse(lambda this: this.length < 0, _NULL, value),
    )


def bytes_left(stream: Any) -> int:
    """Return the number of bytes after the position."""
    here = stream.tell()
    end = stream.seek(0, 2)
    stream.seek(here)
    return int(end - here)


def length_form(type_name: str, *, compact: bool) -> tuple[Any, str]:
    """Return the construct of a type's length or count, and the name of its wire type."""
    if compact:
        return COMPACT_LENGTH, "unsigned varint"
    return (c.Int16sb, "int16") if type_name == "string" else (c.Int32sb, "int32")


def bytes_with_length(name: str, type_name: str, *, compact: bool, nullable: bool) -> Any:
    """Return the schema of a string, bytes or records that parses to bytes."""
    what = f"compact {type_name}" if compact else type_name
    form, form_name = length_form(type_name, compact=compact)
    length = Announcement(
        form,
        what,
        nullable=nullable,
        longest=MAX_STRING_LENGTH if type_name == "string" else None,
    )
    length_part = Part("length", form_name, name=name)
    shown = f"nullable {what}" if nullable else what
    value = Label(c.Bytes(c.this.length), Part("value", shown, name=name))
    return with_length(length, value, length_part)


def text(raw: Any) -> Any:
    """Return the schema of a string; `raw` is the schema of its bytes."""
    return c.ExprAdapter(raw, _decode_text, _encode_text)


def _decode_text(raw: bytes | None, _context: Any) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError as error:
        raise c.StringError(str(error)) from None


def _encode_text(value: str | None, _context: Any) -> bytes | None:
    """Encode UTF-8; a surrogate pair becomes one character, a lone surrogate `?`."""
    if value is None:
        return None
    paired = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return paired.encode(errors="replace")
