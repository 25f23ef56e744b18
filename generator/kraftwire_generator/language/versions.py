"""Version ranges as specs write them: `none`, `3`, `1-4`, `2+`.

A range is a pair of inclusive bounds. `2+` ends at 32767, the highest version a
16-bit field can name. The empty range is `VersionRange.NONE` and prints as `none`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

HIGHEST_VERSION = 32767

_NUMBER = r"\+?[0-9]{1,18}"
_RANGE = re.compile(rf"({_NUMBER})(?:(\+)|-({_NUMBER}))?")


@dataclass(frozen=True, slots=True)
class VersionRange:
    """The versions from `lowest` to `highest`, both included; empty when `highest` is lower."""

    lowest: int
    highest: int

    NONE: ClassVar[VersionRange]

    @classmethod
    def parse(cls, text: str) -> VersionRange:
        """Read a range as a spec writes it; `ValueError` says what is wrong with the text."""
        text = text.strip(" \t\r\n")
        if text == "none":
            return cls.NONE
        match = _RANGE.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a version range; write none, 3, 1-4 or 2+")
        lowest = int(match[1])
        highest = HIGHEST_VERSION if match[2] else int(match[3] or lowest)
        if max(lowest, highest) > HIGHEST_VERSION:
            raise ValueError(f"{text!r} goes beyond the highest version, {HIGHEST_VERSION}")
        if lowest > highest:
            raise ValueError(f"{text!r} is empty: its first version is above its last")
        return cls(lowest, highest)

    def __bool__(self) -> bool:
        return self.lowest <= self.highest

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.lowest == self.highest:
            return str(self.lowest)
        if self.highest == HIGHEST_VERSION:
            return f"{self.lowest}+"
        return f"{self.lowest}-{self.highest}"

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    @property
    def is_open(self) -> bool:
        """True for ranges such as `2+`, which hold for every later version."""
        return bool(self) and self.highest == HIGHEST_VERSION

    def covers(self, other: VersionRange) -> bool:
        """True when every version of `other` is in this range; the empty range always is."""
        return not other or (self.lowest <= other.lowest and other.highest <= self.highest)

    def intersect(self, other: VersionRange) -> VersionRange:
        """The versions that both ranges have."""
        both = VersionRange(max(self.lowest, other.lowest), min(self.highest, other.highest))
        return both if both else VersionRange.NONE

    def subtract(self, other: VersionRange) -> VersionRange | None:
        """This range without `other`; None where the rest would be two ranges."""
        if not self.intersect(other):
            return self
        below = VersionRange(self.lowest, other.lowest - 1)
        above = VersionRange(other.highest + 1, self.highest)
        if below and above:
            return None
        return below or above or VersionRange.NONE


VersionRange.NONE = VersionRange(0, -1)
