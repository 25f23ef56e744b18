"""A request that was not recorded, as a report for people."""

from __future__ import annotations

from dataclasses import dataclass, field

from kraftwire.difference import Difference, format_differences


@dataclass
class Miss:
    """A request that was not recorded.

    Fields:
        api, version: those of the request; an empty API if it could not be read.
        reason: why there is no answer.
        nearest: the frame of the nearest recorded request, if there is one.
        differences: how the request differs from that one.
        count: how often it came.
    """

    api: str
    version: int
    reason: str
    nearest: int | None = None
    differences: list[Difference] = field(default_factory=list)
    count: int = 1

    def __str__(self) -> str:
        text = f"{self.api} version {self.version}: {self.reason}" if self.api else self.reason
        if self.count > 1:
            text += f" (asked {self.count} times)"
        if self.nearest is not None:
            text += f"; the nearest is frame {self.nearest}"
        if self.differences:
            text += ":\n" + format_differences(self.differences, limit=20)
        return text


class NotRecorded(Exception):
    """Raised inside a replay: the request has no recorded answer."""

    def __init__(self, miss: Miss) -> None:
        super().__init__(miss)
        self.miss = miss
