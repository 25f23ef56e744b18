"""A replica with its disk and its clock, which can crash."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from random import Random

from kraftwire.log.batches.batch import Batch
from kraftwire.log.writers.snapshot_writer import SnapshotWriter
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import Effect
from kraftwire.raft.core.inputs import Input
from kraftwire.raft.core.roles import Leader, Role
from kraftwire.raft.membership import AddVoter, policy_of
from kraftwire.raft.metadata_log.batches import split_batches
from kraftwire.raft.metadata_log.history import History
from kraftwire.raft.metadata_log.log_state import BOOTSTRAP, OffsetAndEpoch
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.config import Config
from kraftwire.raft.state.voters import VoterSet, encode_voters
from kraftwire.simulation.network import Parcel
from kraftwire.simulation.scenario import TRUE_RATE, Scenario, key_of
from kraftwire_messages.kafka import FetchRequest, VoteRequest
from kraftwire_wire.message import Message

_MAX_MOVES = 500
_EPOCH_BYTES = range(12, 16)
"""The partition leader epoch in a batch header."""
_VERSIONS_OF_OLD_NODES: dict[type[Message], int] = {VoteRequest: 1, FetchRequest: 17}


class SimulatedNode:
    """A node; `replica` is None while it is stopped."""

    def __init__(self, number: int, scenario: Scenario) -> None:
        self.number = number
        self.scenario = scenario
        self.rate = scenario.rate_of(number)
        self.disk = 0
        self.moves = 0
        self.incarnation = 0
        """How many times it has started."""
        self.replica: Replica | None = None
        self.fails_flush = False
        self.has_moved = False
        """Whether its address changes with its next start."""
        self.is_damaged = False
        """Whether a bit of its disk was flipped."""
        self.needs_reopen = False
        """Whether its disk has changed, except for data batches, since the ledger last read it."""
        self.unconfirmed: list[int] = []
        """End offsets of finished flushes that the replica has not been notified of."""
        self.pending: dict[int, Parcel] = {}
        """Its unanswered requests, by request number."""
        self._open_disk()

    def _open_disk(self) -> None:
        """Start with a formatted disk, or an empty one if an earlier disk was lost."""
        self.config: Config = self.scenario.config_of(key_of(self.number, self.disk), self.moves)
        registry = policy_of(self.config).registry
        self.store = MemoryStore(self.config.static_voters, registry)
        self._sets_on_disk: list[VoterSet] = [] if self.disk else [self.scenario.first_voters()]
        self.batch_ends: list[OffsetAndEpoch] = []
        """The end offset and the epoch of each batch on the disk."""
        self.log_start = BOOTSTRAP
        """The end of the records before the disk's log, which a snapshot replaces."""
        has_checkpoint = (
            self.scenario.has_checkpoints and self.number in self.scenario.first_voter_ids
        )
        if has_checkpoint and not self.disk:
            self.store.snapshots[BOOTSTRAP] = _bootstrap_checkpoint(self.scenario.first_voters())

    @property
    def core(self) -> Core:
        assert self.replica is not None, "only a running node has state"
        return self.replica.core

    @property
    def role(self) -> Role | None:
        """The role of its replica; None while it is stopped."""
        return None if self.replica is None else self.replica.core.role

    # -- time ----------------------------------------------------------------------------------

    def clock(self, now: int) -> int:
        return now * self.rate // TRUE_RATE

    def true_time(self, clock: int) -> int:
        """Return the first true time at which its clock shows `clock`."""
        return -(-clock * TRUE_RATE // self.rate)

    def newest_version(self, kind: type[Message]) -> int:
        newest: int = kind.VALID_VERSIONS[-1]
        is_old = self.number in self.scenario.old
        return min(newest, _VERSIONS_OF_OLD_NODES.get(kind, newest)) if is_old else newest

    # -- start and stop ------------------------------------------------------------------------

    def start(self, now: int) -> list[Effect]:
        """Recover from the disk; raise `KraftwireError` if that is damaged."""
        recovered = self.store.recover()
        self.note_truncation(recovered.log.end)  # a crash may have lost unflushed batches
        self.incarnation += 1
        self.has_moved = False
        self.replica = Replica(self.config, recovered, self._rng(), self.clock(now))
        return self.replica.start()

    def step(self, now: int, event: Input) -> list[Effect]:
        assert self.replica is not None, "only a running node has inputs"
        return self.replica.step(self.clock(now), event)

    def crash(self) -> None:
        """Stop, and lose all or a part of the unflushed data."""
        committed = 0 if self.replica is None else self.replica.core.committed
        self.replica = None
        self.fails_flush = False
        self.unconfirmed.clear()
        self.pending.clear()
        self.store.crash(self._rng())
        if not self.is_damaged:  # a lost voter set restores the one before it
            recovered = self.store.copy().recover()
            self._sets_on_disk = _possible_sets(recovered.control.voters, committed)

    def _rng(self) -> Random:
        """Return a generator that depends only on the seed, the node and its incarnation."""
        return Random((self.scenario.seed << 20) + (self.number << 12) + self.incarnation)

    def wipe(self) -> None:
        """Replace the disk by an empty one, with another directory id."""
        self.disk += 1
        self.is_damaged = False
        self._open_disk()

    def move(self) -> None:
        """Change the address, for the next start."""
        self.has_moved = True
        self.moves = self.moves % _MAX_MOVES + 1
        self.config = self.scenario.config_of(self.config.key, self.moves)

    # -- voters --------------------------------------------------------------------------------

    def voter_sets(self) -> list[VoterSet]:
        """Return the voter sets that may be in force for the node; none if its disk is damaged.

        These are the newest set that it knows to be committed, and all later ones. For a stopped
        node they are the sets that the crash has left on its disk. For a leader that is about to
        add a voter they include the set with that voter.
        """
        if self.is_damaged:
            return []
        if self.replica is None:
            return self._sets_on_disk
        core, role = self.core, self.role
        sets = _possible_sets(core.control.voters, core.committed)
        pending = role.pending if isinstance(role, Leader) else None
        if pending is not None and isinstance(pending.change, AddVoter) and pending.end is None:
            sets.append(core.voters.adding(pending.change.voter))
        return sets

    @property
    def has_waiting_changes(self) -> bool:
        """Whether it leads and may make a queued voter change at any time (KIP-856)."""
        return isinstance(self.role, Leader) and bool(self.role.waiting)

    # -- disk ----------------------------------------------------------------------------------

    def note_append(self, batch: Batch) -> None:
        header = batch.header
        end = OffsetAndEpoch(header.last_offset + 1, header.partition_leader_epoch)
        self.batch_ends.append(end)

    def note_truncation(self, offset: int) -> None:
        del self.batch_ends[bisect_left(self.batch_ends, OffsetAndEpoch(offset + 1, 0)) :]

    def note_log_start(self, start: OffsetAndEpoch) -> None:
        del self.batch_ends[: bisect_left(self.batch_ends, OffsetAndEpoch(start.offset + 1, 0))]
        self.log_start = start

    def flip(self, number: int) -> bool:
        """Flip a bit of a batch other than the last; return whether a bit was flipped.

        Recovery cannot distinguish a damaged last batch from an incomplete one. Leader epochs stay
        intact, too, because the batch CRC does not cover them.
        """
        batches = list(split_batches(bytes(self.store.log)))[:-1]
        bits = 8 * sum(len(batch.data) for batch in batches)
        if not bits:
            return False
        byte, bit = divmod(number % bits, 8)
        batch = next(one for one in batches if byte < one.header.end)
        if byte - batch.header.position in _EPOCH_BYTES:
            return False
        self.store.log[byte] ^= 1 << bit
        return True

    @property
    def log_end(self) -> OffsetAndEpoch:
        """The end offset of the log on the disk, and its last epoch."""
        return self.batch_ends[-1] if self.batch_ends else self.log_start

    def epoch_before(self, offset: int) -> int | None:
        if offset == self.log_start.offset:
            return self.log_start.epoch
        return epoch_before(self.batch_ends, offset)


def epoch_before(batch_ends: Sequence[OffsetAndEpoch], offset: int) -> int | None:
    """Return the epoch of the batch that ends at an offset; None if none does."""
    index = bisect_left(batch_ends, OffsetAndEpoch(offset, 0))
    if index == len(batch_ends) or batch_ends[index].offset != offset:
        return None
    return batch_ends[index].epoch


def _possible_sets(voters: History[VoterSet], committed: int) -> list[VoterSet]:
    """Return the newest committed voter set and all later ones."""
    known = [index for index, one in enumerate(voters.entries) if one.offset < committed]
    return [change.value for change in voters.entries[max(known, default=0) :]]


def _bootstrap_checkpoint(voters: VoterSet) -> bytes:
    writer = SnapshotWriter(BOOTSTRAP.epoch)
    writer.begin(0, 0, voters=encode_voters(voters))
    return writer.finish(0)
