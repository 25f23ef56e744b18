"""Counts what could not be read of a capture, by reason, with its first position.

A loss is a finding: bytes of a Kafka connection are missing or cannot be read. Everything else that
is left out, such as packets of other protocols, is passed over and is not a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kraftwire_wire.errors import count_of


@dataclass(slots=True)
class LossTally:
    """How often something happened, in how many bytes, and where first."""

    unit: str
    first: str
    count: int = 0
    size_bytes: int = 0


@dataclass
class Losses:
    """The tallies of one capture, by reason."""

    lost: dict[str, LossTally] = field(default_factory=dict)
    passed_over: dict[str, LossTally] = field(default_factory=dict)

    def lose(self, reason: str, size_bytes: int, where: str) -> None:
        """Count bytes of a Kafka connection that could not be read."""
        _add(self.lost, reason, "place", size_bytes, where)

    def pass_over(self, reason: str, unit: str, size_bytes: int, where: str) -> None:
        """Count a packet or connection (`unit`) that is left out because it is not Kafka's."""
        _add(self.passed_over, reason, unit, size_bytes, where)

    def lines(self) -> Iterator[str]:
        """Yield lines for people, losses first."""
        for title, tallies in (("lost", self.lost), ("passed over", self.passed_over)):
            for reason, tally in tallies.items():
                size = f", {count_of(tally.size_bytes, 'byte')}" if tally.size_bytes else ""
                what = f"{count_of(tally.count, tally.unit)}{size}"
                yield f"{title}: {reason}: {what}; first: {tally.first}"


def _add(
    tallies: dict[str, LossTally], reason: str, unit: str, size_bytes: int, where: str
) -> None:
    tally = tallies.setdefault(reason, LossTally(unit, where))
    tally.count += 1
    tally.size_bytes += size_bytes
