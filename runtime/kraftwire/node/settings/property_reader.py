"""Java properties files, read with the line of every entry, and typed values out of them.

Whoever reads values asks for all of them and looks at `findings` once, so that a person sees
everything that is wrong at the same time. A value that is wrong counts as its default until
then. What was never asked for is a warning: Kafka's files have much that is not for us.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar

from kraftwire.log.java_properties import Entry, read_entries
from kraftwire_wire.errors import KraftwireError, count_of

T = TypeVar("T")
S = TypeVar("S")
E = TypeVar("E", bound=StrEnum)

MAX_INT = (1 << 31) - 1
MAX_LONG = (1 << 63) - 1


class InvalidProperties(KraftwireError):
    """A properties file with values that cannot be: `findings` has a line for each."""

    def __init__(self, file: str, findings: Iterable[str]) -> None:
        self.file = file
        self.findings = tuple(findings)
        super().__init__(file, self.findings)

    def __str__(self) -> str:
        found = count_of(len(self.findings), "wrong setting")
        return "\n".join([f"{self.file}: {found}", *self.findings])


class PropertyReader:
    """Values out of the entries of one file; see the module."""

    def __init__(self, data: bytes, file: str) -> None:
        """`file` is what messages call it."""
        self.file = file
        self.findings: list[str] = []
        self.warnings: list[str] = []
        self._entries: dict[str, Entry] = {}
        self._asked: set[str] = set()
        for entry in read_entries(data):
            before = self._entries.get(entry.key)
            if before is not None:
                self.warn(entry.key, f"line {entry.line} says it again, and counts")
            self._entries[entry.key] = entry

    def has(self, key: str) -> bool:
        """Whether there is an entry for a key."""
        self._asked.add(key)
        return key in self._entries

    def wrong(self, key: str, reason: str) -> None:
        """Something is wrong with a key, be it there or not."""
        finding = f"{self._where(key)}: {reason}"
        if finding not in self.findings:
            self.findings.append(finding)

    def warn(self, key: str, reason: str) -> None:
        """Something about a key that a person should know."""
        self.warnings.append(f"{self._where(key)}: {reason}")

    def value(self, key: str, parse: Callable[[str], T], default: S) -> T | S:
        """A value as `parse` understands it, whose `ValueError` says what is allowed."""
        if not self.has(key):
            return default
        text = self._entries[key].value.strip()
        try:
            return parse(text)
        except ValueError as error:
            self.wrong(key, str(error))
            return default

    def required(self, key: str, parse: Callable[[str], T], missing: S, why: str) -> T | S:
        """A value that must be there, and not be empty; `why` says what it is for."""
        if not self.has(key) or not self._entries[key].value.strip():
            self.wrong(key, f"it is missing: {why}")
            return missing
        return self.value(key, parse, missing)

    def text(self, key: str, default: str = "") -> str:
        """A value as it stands."""
        return self.value(key, str, default)

    def number(self, key: str, default: int, least: int = 0, most: int = MAX_INT) -> int:
        """A whole number within bounds."""
        return self.value(key, lambda text: parse_number(text, least, most), default)

    def flag(self, key: str, default: bool) -> bool:
        """`true` or `false`."""
        return self.value(key, _parse_flag, default)

    def words(self, key: str) -> tuple[str, ...]:
        """What stands between commas."""
        return self.value(key, parse_words, ())

    def choice(self, key: str, default: E) -> E:
        """One of the names of an enumeration, in any case."""
        return self.value(key, lambda text: _parse_choice(text, type(default)), default)

    def settings(self) -> dict[str, str]:
        """All entries, for somebody else to read; `used` says which those are."""
        return {entry.key: entry.value for entry in self._entries.values()}

    def used(self, *prefixes: str) -> None:
        """Somebody else reads what begins with one of these."""
        self._asked.update(key for key in self._entries if key.startswith(prefixes))

    def check(self) -> None:
        """`InvalidProperties` where something is wrong."""
        if self.findings:
            raise InvalidProperties(self.file, self.findings)

    def all_warnings(self) -> tuple[str, ...]:
        """The warnings until now, and one for each entry that nobody has asked for."""
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
    """A whole number within bounds; `ValueError` says what is allowed."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20):
        raise ValueError(f"{text[:60]!r} is no number; {least} to {most} is allowed")
    if not least <= int(text) <= most:
        raise ValueError(f"{text} is not allowed; {least} to {most} is")
    return int(text)


def parse_words(text: str) -> tuple[str, ...]:
    """What stands between commas, without blanks; nothing where there is nothing."""
    words = tuple(word.strip() for word in text.split(","))
    if words == ("",):
        return ()
    if "" in words:
        raise ValueError(f"nothing stands between two commas of {text[:60]!r}")
    return words


def _parse_flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text[:60]!r} is not allowed; true or false is")
    return text.lower() == "true"


def _parse_choice(text: str, kind: type[E]) -> E:
    for one in kind:
        if one.value.lower() == text.lower():
            return one
    allowed = ", ".join(one.value for one in kind)
    raise ValueError(f"{text[:60]!r} is not allowed; one of {allowed} is")
