"""Version ranges as specs write them: `none`, `3`, `1-4`, `2+`.

A range is a pair of inclusive bounds. `2+` ends at 32767, the highest version that a 16-bit
field can hold. The empty range is `VersionRange.NONE` and prints as `none`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

HIGHEST_VERSION = 32767

_NUMBER = r"\+?[0-9]{1,18}"
_RANGE = re.compile(rf"({_NUMBER})(?:(\+)|-({_NUMBER}))?")


@dataclass(frozen=True, slots=True)
class VersionRange:
    """The versions from `lowest` to `highest`, both included; empty if `highest` is lower."""

    lowest: int
    highest: int

    NONE: ClassVar[VersionRange]

    @classmethod
    def parse(cls, text: str) -> VersionRange:
        """Parse the text of a range; raise `ValueError` with a message that says what is wrong."""
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
        """Whether the range has no end, as in `2+`."""
        return bool(self) and self.highest == HIGHEST_VERSION

    @property
    def with_noun(self) -> str:
        """The range after its noun: `version 3`, `versions 1-4`."""
        return f"version{'' if self.lowest == self.highest else 's'} {self}"

    def covers(self, other: VersionRange) -> bool:
        """Whether every version of `other` is in this range; True if `other` is empty."""
        return not other or (self.lowest <= other.lowest and other.highest <= self.highest)

    def intersect(self, other: VersionRange) -> VersionRange:
        """Return the versions that are in both ranges."""
        both = VersionRange(max(self.lowest, other.lowest), min(self.highest, other.highest))
        return both if both else VersionRange.NONE

    def subtract(self, other: VersionRange) -> VersionRange | None:
        """Return this range without `other`, or None if the rest would be two ranges."""
        if not self.intersect(other):
            return self
        below = VersionRange(self.lowest, other.lowest - 1)
        above = VersionRange(other.highest + 1, self.highest)
        if below and above:
            return None
        return below or above or VersionRange.NONE

    def split(self, bounds: Iterable[VersionRange]) -> list[VersionRange]:
        """Cut this range wherever one of the bounds starts or ends."""
        starts = {self.lowest}
        for bound in filter(None, bounds):
            starts |= {start for start in (bound.lowest, bound.highest + 1) if start in self}
        edges = [*sorted(starts), self.highest + 1]
        return [VersionRange(start, end - 1) for start, end in pairwise(edges)] if self else []


VersionRange.NONE = VersionRange(0, -1)
