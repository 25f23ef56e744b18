"""JSON as spec files write it: plain JSON plus `//` and `/* */` comments.

`parse_json` returns Python values with lines: every object has the line it starts on (from 1) and
the line of each key. Numbers keep their spelling, because `1.50` as the value of a string key means
"1.50". A byte-order mark is skipped. Repeated keys are an error, since JSON readers disagree about
which one counts. For any text, the result is a value or a `JsonError`.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

DEEPEST_NESTING = 100

_SPACE = re.compile(r"(?:[ \t\r\n]|//[^\r\n]*|/\*.*?\*/)*+", re.DOTALL)
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_STRINGS = json.JSONDecoder()
_STRING_HINTS = {  # by the second word of the standard library's message
    "string": "it has no end; close it with a double quote",
    "control": "it holds a line break, tab or other control character; write \\n, \\t or \\u0000",
    "\\escape": "a backslash starts an escape such as \\n; write \\\\ for a backslash",
    "\\uXXXX": "\\u takes four hexadecimal digits",
}


@dataclass(frozen=True, slots=True)
class JsonNumber:
    """A number in its original spelling."""

    text: str


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object, the line it starts on, and the line of each key."""

    members: dict[str, JsonValue]
    key_lines: dict[str, int]
    line: int


JsonValue = JsonObject | JsonNumber | str | bool | None | list["JsonValue"]


class JsonError(ValueError):
    """The text is not JSON; the message says what to write on `line`."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


def parse_json(text: str, *, last_key_counts: bool = False) -> JsonValue:
    """Return the value in the text; raise `JsonError` if the text is not one JSON value.

    With `last_key_counts`, repeated keys are allowed and the last one counts, as in Jackson.
    """
    return _Scanner(text, last_key_counts).document()


def repeated_key(key: str, holder: JsonObject) -> str:
    """Return the message about a key that an object already has."""
    return f"the key {key[:40]!r} is also on line {holder.key_lines[key]}; remove one of the two"


class _Scanner:
    """A recursive-descent parser; `_at` is the position of the next character."""

    def __init__(self, text: str, last_key_counts: bool) -> None:
        self._text = text
        self._last_key_counts = last_key_counts
        self._at = 1 if text.startswith("\ufeff") else 0
        self._depth = 0
        self._line_ends = [match.start() for match in re.finditer("\n", text)]

    def document(self) -> JsonValue:
        value = self._value()
        if self._next():
            raise self._unexpected("the end of the file")
        return value

    def _line(self, position: int) -> int:
        return bisect_left(self._line_ends, position) + 1

    def _next(self) -> str:
        """Skip spaces and comments; return the next character, or "" at the end."""
        match = _SPACE.match(self._text, self._at)
        if match:
            self._at = match.end()
        return self._text[self._at : self._at + 1]

    def _take(self, char: str, expected: str) -> None:
        if self._next() != char:
            raise self._unexpected(expected)
        self._at += 1

    def _error(self, message: str) -> JsonError:
        return JsonError(self._line(self._at), message)

    def _unexpected(self, expected: str) -> JsonError:
        char = self._next()
        if self._text.startswith("/*", self._at):
            return self._error("this comment has no end; close it with */")
        found = f"{char!r} (U+{ord(char):04X})" if char else "the end of the file"
        hint = "; comments start with // or /*" if char in ("#", "/") else ""
        return self._error(f"expected {expected} but found {found}{hint}")

    def _value(self) -> JsonValue:
        char = self._next()
        if char == "{":
            return self._nested(self._object)
        if char == "[":
            return self._nested(self._array)
        if char == '"':
            return self._string()
        if number := NUMBER.match(self._text, self._at):
            self._at = number.end()
            return JsonNumber(number.group())
        if word := _WORD.match(self._text, self._at):
            return self._constant(word.group())
        if char == "'":
            raise self._error("strings are written in double quotes, not in single ones")
        raise self._unexpected("a value")

    def _nested(self, parse: Callable[[], JsonValue]) -> JsonValue:
        self._depth += 1
        if self._depth > DEEPEST_NESTING:
            raise self._error(f"nested more than {DEEPEST_NESTING} levels deep; use fewer levels")
        value = parse()
        self._depth -= 1
        return value

    def _constant(self, word: str) -> bool | None:
        if word not in CONSTANTS:
            raise self._error(f'{word} is not JSON; write "{word}" in double quotes for text')
        self._at += len(word)
        return CONSTANTS[word]

    def _string(self) -> str:
        value: str
        try:
            value, self._at = _STRINGS.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            hint = _STRING_HINTS.get(error.msg.split()[1].rstrip(":"), error.msg)
            raise JsonError(self._line(error.pos), f"bad string: {hint}") from None
        return value

    def _object(self) -> JsonObject:
        found = JsonObject({}, {}, self._line(self._at))
        self._at += 1
        more = self._next() != "}"
        while more:
            if self._next() != '"':
                raise self._unexpected("a key in double quotes (no comma is allowed before })")
            line = self._line(self._at)
            key = self._string()
            if key in found.members and not self._last_key_counts:
                raise JsonError(line, repeated_key(key, found))
            self._take(":", f"a colon after the key {key!r}")
            found.members[key] = self._value()
            found.key_lines[key] = line
            more = self._comma("}")
        self._at += 1
        return found

    def _array(self) -> list[JsonValue]:
        found: list[JsonValue] = []
        self._at += 1
        more = self._next() != "]"
        while more:
            if found and self._next() == "]":
                raise self._error("no comma is allowed before ]; remove it")
            found.append(self._value())
            more = self._comma("]")
        self._at += 1
        return found

    def _comma(self, end: str) -> bool:
        """Skip a comma and return True; return False at the end of the object or array."""
        char = self._next()
        if char == end:
            return False
        self._take(",", f"a comma or {end}")
        return True
