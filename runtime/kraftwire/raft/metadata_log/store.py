"""What a replica keeps: its vote, its log, snapshots. A store does what the replica says.

Effects are done in their order. What was appended is there for reads at once, and after a
crash only as far as it was flushed; votes, truncations and finished snapshots are durable
when the call returns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from kraftwire.log.batch import Batch
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.log_state import LogState, OffsetAndEpoch
from kraftwire.raft.state.election_state import Election


@dataclass
class Recovered:
    """What a store has when it is opened; `election` is None in one that is new."""

    election: Election | None
    log: LogState
    control: ControlState


class Store(Protocol):
    """A replica's disk, or what stands for one; `OSError` where it fails."""

    def recover(self) -> Recovered:
        """What is there, without what a crash tore; `KraftwireError` where more is missing."""
        ...

    def save_election(
        self, election: Election, kraft_version: int, voter_ids: Iterable[int] = ()
    ) -> None:
        """Keep a vote and a leader, in the place of what was kept before."""
        ...

    def append(self, batch: Batch) -> None:
        """Put a batch at the end of the log."""
        ...

    def flush(self) -> None:
        """Make durable what was appended."""
        ...

    def truncate(self, offset: int) -> None:
        """Remove what lies from an offset on, which begins a batch."""
        ...

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one with an offset on: up to so many bytes, at least one.

        The offset lies in the log.
        """
        ...

    def write_snapshot(self, snapshot: OffsetAndEpoch, position: int, data: bytes) -> None:
        """Put bytes at the end of a snapshot that is not finished; at 0 it is begun anew."""
        ...

    def finish_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """Make a snapshot durable, and let it count."""
        ...

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        """Bytes of a finished snapshot; `KeyError` where it is not there any more."""
        ...

    def snapshot_size(self, snapshot: OffsetAndEpoch) -> int:
        """All bytes of a finished snapshot; `KeyError` where it is not there any more."""
        ...

    def install(self, snapshot: OffsetAndEpoch) -> None:
        """Begin the log anew behind a finished snapshot that is ahead of it.

        Earlier snapshots go, finished or not.
        """
        ...

    def clean(self, snapshot: OffsetAndEpoch) -> None:
        """Remove what a finished snapshot has: records below it, and earlier snapshots."""
        ...
