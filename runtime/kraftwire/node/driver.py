"""A replica with its disk: what it wants done is done, in its order, before the next input.

Nothing here waits, but for the disk: requests, replies and results of proposals are handed on to
whoever speaks to the network. An `OSError` of the disk ends the driver: what was not kept must
not be said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from kraftwire.raft.core.effects import (
    Append,
    Clean,
    Committed,
    Disconnect,
    Effect,
    Flush,
    InstallSnapshot,
    Leading,
    Refused,
    Reply,
    SaveElection,
    Send,
    Settled,
    SnapshotSlice,
    Stopped,
    StoppedLeading,
    Truncate,
    Upgraded,
    WriteSnapshot,
)
from kraftwire.raft.core.inputs import Flushed, Input
from kraftwire.raft.core.messages import partition_of
from kraftwire.raft.metadata_log.store import Recovered, Store
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.config import Config


class Outside(Protocol):
    """What a driver hands on; none of it waits or fails."""

    def send(self, effect: Send) -> None:
        """Ask another node."""

    def reply(self, effect: Reply) -> None:
        """Answer a request; its content has been read."""

    def disconnect(self, effect: Disconnect) -> None:
        """Close the connection of a request."""

    def committed_to(self, effect: Committed | InstallSnapshot) -> None:
        """Records are committed, or a snapshot has taken the place of the log."""

    def told(self, effect: Leading | StoppedLeading | Settled | Upgraded | Stopped) -> None:
        """What the state machine is told of."""

    def refused(self, effect: Refused) -> None:
        """Log that a peer has announced what cannot be."""


class Driver:
    """Steps a replica; `clock` tells ms since 1970, and never goes back."""

    def __init__(
        self,
        config: Config,
        store: Store,
        recovered: Recovered,
        outside: Outside,
        clock: Callable[[], int],
    ) -> None:
        """`recovered` is what the store has; `KraftwireError` where that is not to go on with."""
        self.store = store
        chance = Random()  # noqa: S311  # of how long elections wait
        self.replica = Replica(config, recovered, chance, clock())
        self._clock = clock
        self._inputs: deque[Input] = deque()
        self._is_busy = False
        self._do_of: dict[type[Any], Callable[[Any], None]] = {
            SaveElection: self._save,
            Append: lambda effect: store.append(effect.batch),
            Flush: self._flush,
            Truncate: lambda effect: store.truncate(effect.offset),
            WriteSnapshot: self._write_snapshot,
            InstallSnapshot: self._install,
            Clean: lambda effect: store.clean(effect.snapshot),
            Send: outside.send,
            Reply: self._reply,
            Disconnect: outside.disconnect,
            Committed: outside.committed_to,
            Leading: outside.told,
            StoppedLeading: outside.told,
            Settled: outside.told,
            Upgraded: outside.told,
            Refused: outside.refused,
            Stopped: outside.told,
        }
        self._outside = outside

    def start(self) -> None:
        """Do what is to be done first."""
        self._do_all(self.replica.start())
        self._go_on()

    def take(self, what: Input) -> None:
        """Hand the replica an input, behind those that it has not taken yet."""
        self._inputs.append(what)
        self._go_on()

    def deadline(self) -> int | None:
        """When the replica wants a `Tick`, by the clock."""
        return self.replica.next_deadline()

    def _go_on(self) -> None:
        if self._is_busy:  # an effect has led to another input
            return
        self._is_busy = True
        try:
            while self._inputs:
                self._do_all(self.replica.step(self._clock(), self._inputs.popleft()))
        finally:
            self._is_busy = False

    def _do_all(self, effects: list[Effect]) -> None:
        for effect in effects:
            self._do_of[type(effect)](effect)

    def _save(self, effect: SaveElection) -> None:
        self.store.save_election(effect.election, effect.kraft_version, effect.voter_ids)

    def _flush(self, effect: Flush) -> None:
        self.store.flush()
        self._inputs.append(Flushed(effect.end))

    def _write_snapshot(self, effect: WriteSnapshot) -> None:
        self.store.write_snapshot(effect.snapshot, effect.position, effect.data)

    def _install(self, effect: InstallSnapshot) -> None:
        self.store.finish_snapshot(effect.snapshot)
        self.store.install(effect.snapshot)
        self._outside.committed_to(effect)

    def _reply(self, effect: Reply) -> None:
        content = effect.content
        if content is not None:
            partition = partition_of(effect.message)
            if isinstance(content, SnapshotSlice):
                partition.unaligned_records = self.store.read_snapshot(*content)
            else:
                partition.records = self.store.read(*content)
        self._outside.reply(effect)
