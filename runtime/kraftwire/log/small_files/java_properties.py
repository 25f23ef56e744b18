"""Java properties files: the format of `meta.properties` and of settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_KEY_END = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANK = " \t\f"
_SPECIAL = re.compile(r"^ |[^ -\[\]-~]")
"""Characters that a value in a properties file has to escape."""
_PLAIN = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertyEntry(NamedTuple):
    """A key, its value, and the number of the line where they begin, from 1 on."""

    key: str
    value: str
    line: int


def read_entries(data: bytes) -> Iterator[PropertyEntry]:
    """Yield the entries of a properties file as Java reads it: Latin-1, `\\` continues a line."""
    for number, line in _logical_lines(data.decode("latin-1")):
        key = _KEY_END.match(line)
        assert key is not None, "the pattern also matches an empty string"
        separator = _SEPARATOR.match(line, key.end())
        end = separator.end() if separator else key.end()
        yield PropertyEntry(_unescape(key.group()), _unescape(line[end:]), number)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines, joined where a backslash continues them, without leading blanks."""
    joined, first = "", 0
    for number, raw in enumerate(_LINE_END.split(text), 1):
        line = raw.lstrip(_BLANK)
        if not joined:  # also after a line that is only a backslash
            if not line or line[0] in "#!":
                continue
            first = number
        backslashes = len(line) - len(line.rstrip("\\"))
        joined += line[:-1] if backslashes % 2 else line
        if joined and backslashes % 2 == 0:
            yield first, joined
            joined = ""
    if joined:
        yield first, joined


def _unescape(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        code = match.group(1)
        return chr(int(code[1:], 16)) if len(code) == 5 else _PLAIN.get(code, code)

    return _ESCAPE.sub(replace, text)


def escape(text: str) -> str:
    """Escape a value; `read_entries` returns it unchanged."""

    def replace(match: re.Match[str]) -> str:
        char = match.group()
        return f"\\{char}" if char in " \\" else f"\\u{ord(char):04x}"

    return _SPECIAL.sub(replace, text)
