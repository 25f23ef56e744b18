"""Reads the keys of one JSON object of a spec as typed values.

Every method treats null like an absent key. If a value has the wrong type, the method reports a
finding and returns a neutral value, so that the caller can continue with the next key.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from kraftwire_generator.errors import Finding
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.parser.json_text import JsonNumber, JsonObject, JsonValue

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_TRUE = ("true", "True", "TRUE")
_FALSE = ("false", "False", "FALSE", "")


class SpecObject:
    """A JSON object at `path` of `file`; problems are added to `findings`."""

    def __init__(self, source: JsonObject, path: str, file: str, findings: list[Finding]) -> None:
        self.source = source
        self.path = path
        self.line = source.line
        self._file = file
        self._findings = findings

    def report(self, message: str, key: str = "") -> None:
        """Add an error, at the line of `key` if the object has that key."""
        line = self.source.key_lines.get(key, self.line)
        self._findings.append(Finding(self._file, line, self.path, message))

    def nested(self, source: JsonObject, path: str) -> SpecObject:
        return SpecObject(source, path, self._file, self._findings)

    def refuse_unknown_keys(self, known: Sequence[str], what: str) -> None:
        """Report every key that is not in `known`, with the closest match."""
        for key in self.source.members:
            if key in known:
                continue
            near = difflib.get_close_matches(key[:40], known, n=1)
            advice = f"did you mean {near[0]}?" if near else f"its keys are {', '.join(known)}"
            self.report(f"a {what} has no key {key!r}; {advice}", key)

    def has(self, key: str) -> bool:
        """Whether the key exists and is not null."""
        return self.source.members.get(key) is not None

    def text(self, key: str) -> str | None:
        """Return a string, or a number or boolean as JSON spells it."""
        return self._as_text(self.source.members.get(key), key)

    def _as_text(self, value: JsonValue, key: str) -> str | None:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, JsonNumber):
            return value.text
        if isinstance(value, str) or value is None:
            return value
        self.report(f"{key} must be text in double quotes, not {_kind(value)}", key)
        return None

    def integer(self, key: str, lowest: int, highest: int) -> int | None:
        """Return a whole number, quoted or not."""
        value = self.source.members.get(key)
        if value is None:
            return None
        text = value.text if isinstance(value, JsonNumber) else value
        if not isinstance(text, str) or not _INTEGER.fullmatch(text.strip()):
            self.report(f"{key} must be a whole number such as 3, not {_kind(value)}", key)
        elif not lowest <= int(text) <= highest:
            self.report(f"{key} is {text}; write a number from {lowest} to {highest}", key)
        else:
            return int(text)
        return None

    def flag(self, key: str) -> bool:
        """Return a boolean: true, "true", or a whole number other than 0."""
        value = self.source.members.get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        if isinstance(value, JsonNumber) and _INTEGER.fullmatch(value.text):
            return int(value.text) != 0
        if isinstance(value, str) and value.strip() in _TRUE + _FALSE:
            return value.strip() in _TRUE
        self.report(f"{key} must be true or false, not {_kind(value)}", key)
        return False

    def versions(self, key: str, fallback: VersionRange) -> VersionRange | None:
        """Return a version range; None if the key is absent or blank, `fallback` if it is wrong."""
        text = self.text(key)
        if text is None or not text.strip():
            return None
        try:
            return VersionRange.parse(text)
        except ValueError as error:
            self.report(f"{key}: {error}", key)
            return fallback

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings; a single string counts as a list of one."""
        texts = (self._as_text(value, key) for value in self._values(key))
        return tuple(text for text in texts if text is not None)

    def objects(self, key: str) -> list[JsonObject]:
        """Return a list of objects; a single object counts as a list of one."""
        found = []
        for value in self._values(key):
            if isinstance(value, JsonObject):
                found.append(value)
            else:
                self.report(f"{key} must hold objects in braces, not {_kind(value)}", key)
        return found

    def _values(self, key: str) -> list[JsonValue]:
        value = self.source.members.get(key)
        if value is None:
            return []
        return value if isinstance(value, list) else [value]


def _kind(value: JsonValue) -> str:
    if isinstance(value, JsonObject):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, JsonNumber):
        return value.text[:40]
    return "null" if value is None else repr(value)[:40]
