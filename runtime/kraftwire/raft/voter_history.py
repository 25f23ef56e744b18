"""Which voter set was in force at which offset.

A set is in force from the record on that says it, committed or not (KIP-853): what is
truncated takes its sets with it, and the one before is in force again. What stands before
every record, a static configuration or the bootstrap checkpoint, has the offset -1.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter
from typing import NamedTuple

from kraftwire.raft.voters import VoterSet

BEFORE_THE_LOG = -1


class VoterChange(NamedTuple):
    """A voter set, and the offset of the record that said it."""

    offset: int
    voters: VoterSet


class VoterHistory:
    """The voter sets of a log, by the offsets from which they are in force."""

    def __init__(self, initial: VoterSet | None = None) -> None:
        """`initial` is in force before every record."""
        self._changes: list[VoterChange] = []
        if initial is not None:
            self._changes.append(VoterChange(BEFORE_THE_LOG, initial))

    @property
    def changes(self) -> tuple[VoterChange, ...]:
        """All sets, in the order of their offsets."""
        return tuple(self._changes)

    @property
    def last(self) -> VoterChange | None:
        """The newest set, which is the one in force; None where none is known."""
        return self._changes[-1] if self._changes else None

    def before(self, offset: int) -> VoterSet | None:
        """The set that records before an offset leave in force: that of a log that ends there."""
        place = bisect_left(self._changes, offset, key=itemgetter(0))
        return self._changes[place - 1].voters if place else None

    def uncommitted(self, high_watermark: int) -> list[VoterChange]:
        """The sets whose records are not committed."""
        place = bisect_left(self._changes, high_watermark, key=itemgetter(0))
        return self._changes[place:]

    def add(self, offset: int, voters: VoterSet) -> None:
        """Take in a record; `ValueError` where its offset is not behind all others."""
        last = self.last
        if last is not None and offset <= last.offset:
            raise ValueError(f"offset {offset} is not behind {last.offset}")
        self._changes.append(VoterChange(offset, voters))

    def truncate(self, offset: int) -> None:
        """Forget what records from an offset on said."""
        del self._changes[bisect_left(self._changes, offset, key=itemgetter(0)) :]

    def forget_before(self, offset: int) -> None:
        """Forget what was in force only before an offset, where the log begins now."""
        place = bisect_left(self._changes, offset, key=itemgetter(0)) - 1
        if place > 0:
            del self._changes[:place]
