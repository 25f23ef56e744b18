"""A replica with its disk, its clock, and what a crash does to them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from random import Random

from kraftwire.log.batches.batch import Batch
from kraftwire.log.writers.snapshot_writer import SnapshotWriter
from kraftwire.raft.core.effects import Effect
from kraftwire.raft.core.inputs import Input
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.membership import AddVoter, policy_of
from kraftwire.raft.metadata_log.batches import split_batches
from kraftwire.raft.metadata_log.history import History
from kraftwire.raft.metadata_log.log_state import BOOTSTRAP, OffsetAndEpoch
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.config import Config
from kraftwire.raft.state.voters import VoterSet, encode_voters
from kraftwire.simulation.scenario import TRUE_RATE, Scenario, key_of
from kraftwire_messages.kafka import FetchRequest, VoteRequest
from kraftwire_wire.message import Message

_MOST_MOVES = 500
_EPOCH_BYTES = range(12, 16)
"""Where a batch has its partition leader epoch."""
_OF_AN_EARLIER_RELEASE: dict[type[Message], int] = {VoteRequest: 1, FetchRequest: 17}


class Node:
    """A node; `replica` is None while it does not run."""

    def __init__(self, number: int, scenario: Scenario) -> None:
        self.number = number
        self.scenario = scenario
        self.is_old = number in scenario.old
        self.rate = scenario.rate_of(number)
        self.disk = 0
        self.moves = 0
        self.life = 0
        self.replica: Replica | None = None
        self.fails_flush = False
        self.has_moved = False
        """Whether it listens elsewhere from its next start on."""
        self.is_damaged = False
        """Whether a bit of its disk was flipped."""
        self.is_unread = False
        """Whether its disk has changed, by more than records, since it was last read back."""
        self.unconfirmed: list[int] = []
        """Up to where flushes went that the replica was not told of yet."""
        self.waiting: dict[int, int] = {}
        """Whom it has asked what is not answered, by the numbers of its requests."""
        self._open_disk()

    def _open_disk(self) -> None:
        """Begin with an empty disk, or one that was formatted."""
        self.config: Config = self.scenario.config_of(key_of(self.number, self.disk), self.moves)
        registry = policy_of(self.config).registry
        self.store = MemoryStore(self.config.static_voters, registry)
        self._left: list[VoterSet] = [] if self.disk else [self.scenario.first_voters()]
        self.held: list[OffsetAndEpoch] = []
        """Where each batch on the disk ends, and its epoch."""
        self.base = BOOTSTRAP
        """What the disk's log begins behind."""
        if (
            self.disk == 0
            and self.scenario.has_checkpoints
            and self.number in self.scenario.formatted
        ):
            self.store.snapshots[BOOTSTRAP] = _checkpoint(self.scenario.first_voters())

    # -- its time ------------------------------------------------------------------------------

    def clock(self, now: int) -> int:
        """What its clock says at a true time."""
        return now * self.rate // TRUE_RATE

    def true_time(self, clock: int) -> int:
        """The first true time at which its clock says so."""
        return -(-clock * TRUE_RATE // self.rate)

    def newest(self, kind: type[Message]) -> int:
        """The newest version that it has of a request."""
        newest: int = kind.VALID_VERSIONS[-1]
        return min(newest, _OF_AN_EARLIER_RELEASE.get(kind, newest)) if self.is_old else newest

    # -- its life ------------------------------------------------------------------------------

    def start(self, now: int) -> list[Effect]:
        """Begin with what the disk has; `KraftwireError` where that is damaged."""
        recovered = self.store.recover()
        self.cut_off(recovered.log.end)  # a crash may have taken what was not flushed
        self.life += 1
        self.has_moved = False
        self.replica = Replica(self.config, recovered, self._chance(), self.clock(now))
        return self.replica.start()

    def step(self, now: int, what: Input) -> list[Effect]:
        """Hand it an input; it runs."""
        assert self.replica is not None, "only what runs is handed inputs"
        return self.replica.step(self.clock(now), what)

    def crash(self) -> None:
        """Stop, and lose what was not flushed, or a part of that."""
        committed = 0 if self.replica is None else self.replica.core.committed
        self.replica = None
        self.fails_flush = False
        self.unconfirmed.clear()
        self.waiting.clear()
        self.store.crash(self._chance())
        if not self.is_damaged:  # a set that was not flushed counts no more, but the one before
            found = self.store.copy().recover()
            self._left = _sets_that_count(found.control.voters, committed)

    def _chance(self) -> Random:
        """Chance that is the same in each run with these steps."""
        return Random((self.scenario.seed << 20) + (self.number << 12) + self.life)

    def wipe(self) -> None:
        """Get an empty disk, and so another key."""
        self.disk += 1
        self.is_damaged = False
        self._open_disk()

    def move(self) -> None:
        """Listen elsewhere from the next start on."""
        self.has_moved = True
        self.moves = self.moves % _MOST_MOVES + 1
        self.config = self.scenario.config_of(self.config.key, self.moves)

    def voter_sets(self) -> list[VoterSet]:
        """Return the voter sets that count for the node; none for a damaged disk.

        Those are the newest that it knows to be committed, and all after it. For a node that has
        stopped, they are the ones that the crash has left on its disk. A leader that is about to
        add a voter knows the set with that voter too.
        """
        if self.is_damaged:
            return []
        if self.replica is None:
            return self._left
        core = self.replica.core
        sets = _sets_that_count(core.control.voters, core.committed)
        pending = core.role.pending if isinstance(core.role, Leader) else None
        if pending is not None and isinstance(pending.change, AddVoter) and pending.end is None:
            sets.append(core.voters.adding(pending.change.voter))
        return sets

    @property
    def has_waiting_changes(self) -> bool:
        """Whether it leads, and changes of the voters wait that it may make any time (KIP-856)."""
        role = None if self.replica is None else self.replica.core.role
        return isinstance(role, Leader) and bool(role.waiting)

    # -- its disk ------------------------------------------------------------------------------

    def hold(self, batch: Batch) -> None:
        """Note that the disk has a batch behind the others."""
        header = batch.header
        self.held.append(OffsetAndEpoch(header.last_offset + 1, header.partition_leader_epoch))

    def cut_off(self, offset: int) -> None:
        """Note that the disk has nothing from an offset on."""
        del self.held[bisect_left(self.held, OffsetAndEpoch(offset + 1, 0)) :]

    def begin_behind(self, base: OffsetAndEpoch) -> None:
        """Note that the disk has nothing before an offset."""
        self.held = self.held[bisect_left(self.held, OffsetAndEpoch(base.offset + 1, 0)) :]
        self.base = base

    def flip(self, place: int) -> bool:
        """Change a bit of a batch that has others behind it; whether there is one.

        The last batch is left alone, which nothing tells from a torn one then. And so are
        leader epochs, which no checksum of the format protects.
        """
        batches = list(split_batches(bytes(self.store.log)))[:-1]
        bits = [8 * len(batch.data) for batch in batches]
        if not bits:
            return False
        place %= sum(bits)
        byte = place // 8
        batch = next(one for one in batches if byte < one.header.end)
        if byte - batch.header.position in _EPOCH_BYTES:
            return False
        self.store.log[byte] ^= 1 << place % 8
        return True

    @property
    def end(self) -> OffsetAndEpoch:
        """Where the log on the disk ends."""
        return self.held[-1] if self.held else self.base

    def epoch_before(self, offset: int) -> int | None:
        """The epoch of the batch that ends at an offset; None where none does."""
        return self.base.epoch if offset == self.base.offset else epoch_before(self.held, offset)


def epoch_before(batches: Sequence[OffsetAndEpoch], offset: int) -> int | None:
    """The epoch of the batch that ends at an offset; None where none of them does."""
    place = bisect_left(batches, OffsetAndEpoch(offset, 0))
    if place == len(batches) or batches[place].offset != offset:
        return None
    return batches[place].epoch


def _sets_that_count(voters: History[VoterSet], committed: int) -> list[VoterSet]:
    """Return the newest set before an offset up to which records are committed, and all after."""
    known = [place for place, one in enumerate(voters.entries) if one.offset < committed]
    return [change.value for change in voters.entries[max(known, default=0) :]]


def _checkpoint(voters: VoterSet) -> bytes:
    """A bootstrap checkpoint, as formatting writes it."""
    writer = SnapshotWriter(BOOTSTRAP.epoch)
    writer.begin(0, 0, voters=encode_voters(voters))
    return writer.finish(0)
