"""Records that wait to be committed.

All records that were proposed while the disk was busy become one batch and share one flush, so many
concurrent proposals cost little more than one (group commit).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from kraftwire.raft.core.inputs import Propose
from kraftwire_wire.errors import KraftwireError

_RECORD_OVERHEAD = 32
"""An upper bound of the framing of a record."""
_BATCH_OVERHEAD = 128


class NotCommitted(KraftwireError):
    """This node does not lead, or stopped leading.

    If `is_lost`, the records are certainly not committed; otherwise they may be.
    """

    def __init__(self, reason: str, *, is_lost: bool) -> None:
        super().__init__(reason)
        self.is_lost = is_lost


@dataclass(slots=True)
class Proposal:
    """Values of records to commit together, and the future of the caller."""

    values: Sequence[bytes]
    done: asyncio.Future[int]

    @property
    def size(self) -> int:
        """An upper bound of its bytes in a batch."""
        return sum(len(value) + _RECORD_OVERHEAD for value in self.values)

    def fail(self, error: NotCommitted) -> None:
        if not self.done.done():
            self.done.set_exception(error)


Batch = list[Proposal]
"""Proposals whose records are one batch of the log."""


class Proposals:
    """Collects proposals and makes batches of them."""

    def __init__(self, max_batch_bytes: int) -> None:
        self._most = max_batch_bytes - _BATCH_OVERHEAD
        self._waiting: list[Proposal] = []
        self._in_log: list[Batch] = []

    def add(self, values: Sequence[bytes]) -> asyncio.Future[int]:
        """Return a future that gets the offset after the last value, once it is committed."""
        proposal = Proposal(values, asyncio.get_running_loop().create_future())
        if not values:
            raise ValueError("no records to propose")
        if proposal.size > self._most:
            reason = f"{proposal.size} bytes of records exceed the batch limit of {self._most}"
            raise NotCommitted(f"{reason}; propose fewer at a time", is_lost=True)
        self._waiting.append(proposal)
        return proposal.done

    def next_batch(self) -> Propose | None:
        """Return the waiting proposals, up to the size of a batch; None if there are none."""
        size, taken = 0, 0
        for proposal in self._waiting:
            size += proposal.size
            if size > self._most:
                break
            taken += 1
        if not taken:
            return None
        batch, self._waiting = self._waiting[:taken], self._waiting[taken:]
        self._in_log.append(batch)
        return Propose(batch, [value for proposal in batch for value in proposal.values])

    def settle(self, batch: Batch, end: int | None) -> None:
        """Complete the futures of a batch that ends at `end`; None if it may be lost."""
        self._in_log.remove(batch)
        offset = 0 if end is None else end - sum(len(one.values) for one in batch)
        for proposal in batch:
            offset += len(proposal.values)
            if end is None:
                reason = "the leadership was lost before the records were known to be committed"
                proposal.fail(NotCommitted(reason, is_lost=False))
            elif not proposal.done.done():  # otherwise the caller was cancelled
                proposal.done.set_result(offset)

    def refuse(self, reason: str) -> None:
        """Fail the proposals that are not in the log."""
        for proposal in self._waiting:
            proposal.fail(NotCommitted(reason, is_lost=True))
        self._waiting.clear()

    def give_up(self, reason: str) -> None:
        """Fail all proposals, including those in the log."""
        self.refuse(reason)
        for proposal in (one for batch in self._in_log for one in batch):
            proposal.fail(NotCommitted(reason, is_lost=False))
        self._in_log.clear()
