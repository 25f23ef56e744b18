"""Reads typed values from a Java properties file, and collects mistakes with their lines.

A caller reads all values and then calls `check`, so that users see all mistakes together. Until
then, an invalid value is replaced by its default. An entry that nobody read causes a warning:
Kafka's files have many settings that kraftwire does not use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar

from kraftwire.log.small_files.java_properties import PropertyEntry, read_entries
from kraftwire_wire.errors import KraftwireError, count_of

T = TypeVar("T")
S = TypeVar("S")
E = TypeVar("E", bound=StrEnum)

MAX_INT = (1 << 31) - 1
MAX_LONG = (1 << 63) - 1


class InvalidProperties(KraftwireError):
    """A properties file with wrong values: `findings` has a line for each."""

    def __init__(self, file: str, findings: Iterable[str]) -> None:
        self.file = file
        self.findings = tuple(findings)
        super().__init__(file, self.findings)

    def __str__(self) -> str:
        found = count_of(len(self.findings), "wrong setting")
        return "\n".join([f"{self.file}: {found}", *self.findings])


class PropertyReader:
    """The values of one file."""

    def __init__(self, data: bytes, file: str) -> None:
        """`file` is the name in messages."""
        self.file = file
        self.findings: list[str] = []
        self.warnings: list[str] = []
        self._entries: dict[str, PropertyEntry] = {}
        self._asked: set[str] = set()
        for entry in read_entries(data):
            before = self._entries.get(entry.key)
            if before is not None:
                self.warn(entry.key, f"line {entry.line} overrides it")
            self._entries[entry.key] = entry

    def has(self, key: str) -> bool:
        """Whether the file has an entry for a key."""
        self._asked.add(key)
        return key in self._entries

    def wrong(self, key: str, reason: str) -> None:
        """Add a mistake about a key, which may be missing."""
        finding = f"{self._where(key)}: {reason}"
        if finding not in self.findings:
            self.findings.append(finding)

    def warn(self, key: str, reason: str) -> None:
        """Add a warning about a key."""
        self.warnings.append(f"{self._where(key)}: {reason}")

    def value(self, key: str, parse: Callable[[str], T], default: S) -> T | S:
        """Return a parsed value; a `ValueError` of `parse` is a mistake."""
        if not self.has(key):
            return default
        text = self._entries[key].value.strip()
        try:
            return parse(text)
        except ValueError as error:
            self.wrong(key, str(error))
            return default

    def required(self, key: str, parse: Callable[[str], T], missing: S, why: str) -> T | S:
        """Return a value that must not be missing or empty; `why` explains it."""
        if not self.has(key) or not self._entries[key].value.strip():
            self.wrong(key, f"it is missing: {why}")
            return missing
        return self.value(key, parse, missing)

    def text(self, key: str, default: str = "") -> str:
        """Return a value without parsing it."""
        return self.value(key, str, default)

    def number(self, key: str, default: int, least: int = 0, most: int = MAX_INT) -> int:
        """Return an integer within bounds."""
        return self.value(key, lambda text: parse_number(text, least, most), default)

    def flag(self, key: str, default: bool) -> bool:
        """Return True for `true`, and False for `false`."""
        return self.value(key, _parse_flag, default)

    def choice(self, key: str, default: E) -> E:
        """Return a member of an enumeration, by its value in any case."""
        return self.value(key, lambda text: _parse_choice(text, type(default)), default)

    def settings(self) -> dict[str, str]:
        """Return all entries, for another reader; `used` marks what it reads."""
        return {entry.key: entry.value for entry in self._entries.values()}

    def used(self, *prefixes: str) -> None:
        """Mark keys with these prefixes as read."""
        self._asked.update(key for key in self._entries if key.startswith(prefixes))

    def check(self) -> None:
        """Raise `InvalidProperties` if there are mistakes."""
        if self.findings:
            raise InvalidProperties(self.file, self.findings)

    def all_warnings(self) -> tuple[str, ...]:
        """Return the warnings, and one for each entry that was not read."""
        unknown = [key for key in self._entries if key not in self._asked]
        for key in unknown:
            near = get_close_matches(key, self._asked - self._entries.keys(), 1, cutoff=0.85)
            hint = f"; did you mean {near[0]}?" if near else ""
            self.warn(key, f"kraftwire does not use it{hint}")
        return tuple(self.warnings)

    def _where(self, key: str) -> str:
        entry = self._entries.get(key)
        return f"{self.file}, {key}" if entry is None else f"{self.file}, line {entry.line}, {key}"


def parse_number(text: str, least: int = 0, most: int = MAX_INT) -> int:
    """Parse an integer within bounds; raise `ValueError` with the bounds."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20):
        raise ValueError(f"{text[:60]!r} is not a number from {least} to {most}")
    if not least <= int(text) <= most:
        raise ValueError(f"{text} is out of range ({least} to {most})")
    return int(text)


def parse_words(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list and strip its items; an empty string has none."""
    words = tuple(word.strip() for word in text.split(","))
    if words == ("",):
        return ()
    if "" in words:
        raise ValueError(f"{text[:60]!r} has an empty item between commas")
    return words


def _parse_flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text[:60]!r} is neither true nor false")
    return text.lower() == "true"


def _parse_choice(text: str, kind: type[E]) -> E:
    for one in kind:
        if one.value.lower() == text.lower():
            return one
    allowed = ", ".join(one.value for one in kind)
    raise ValueError(f"{text[:60]!r} is not one of {allowed}")
