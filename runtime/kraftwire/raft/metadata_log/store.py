"""The interface of a replica's disk: its vote, its log and its snapshots.

The caller of a replica carries out the effects in order. Appended batches can be read immediately,
and survive a crash only as far as they were flushed. Votes, truncations and finished snapshots are
durable when the call returns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from kraftwire.log.batches.batch import Batch
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.log_state import LogState, OffsetAndEpoch
from kraftwire.raft.state.election_state import Election


@dataclass
class Recovered:
    """The state of a store when it is opened; `election` is None in a new one."""

    election: Election | None
    log: LogState
    control: ControlState


class Store(Protocol):
    """A replica's disk; every method may raise `OSError`."""

    def recover(self) -> Recovered:
        """Drop an incomplete end and return the rest; raise `KraftwireError` if more is lost."""

    def save_election(
        self, election: Election, kraft_version: int, voter_ids: Iterable[int] = ()
    ) -> None:
        """Replace the saved election."""

    def append(self, batch: Batch) -> None:
        """Append a batch to the log."""

    def flush(self) -> None:
        """Make the appended batches durable."""

    def truncate(self, offset: int) -> None:
        """Remove the log from an offset on, at which a batch begins."""

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Return whole batches, starting with the one that contains an offset of the log.

        They have at most `max_bytes` bytes, unless the first has more.
        """

    def write_snapshot(self, snapshot: OffsetAndEpoch, position: int, data: bytes) -> None:
        """Append bytes to an unfinished snapshot; position 0 starts it again."""

    def finish_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """Make a snapshot durable and visible."""

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        """Return bytes of a finished snapshot; raise `KeyError` if it was removed."""

    def snapshot_size(self, snapshot: OffsetAndEpoch) -> int:
        """Return the size of a finished snapshot; raise `KeyError` if it was removed."""

    def install(self, snapshot: OffsetAndEpoch) -> None:
        """Restart the log after a finished snapshot that is ahead of it.

        This removes earlier snapshots, finished or not.
        """

    def clean(self, snapshot: OffsetAndEpoch) -> None:
        """Remove the records and the snapshots before a finished snapshot."""
