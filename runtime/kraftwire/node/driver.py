"""Drives a replica: performs each effect of a step, in order, before the next input.

The driver writes to the disk itself, and passes all other effects to handlers. It waits only for
the disk. An `OSError` from the disk ends the driver: the replica must not announce what it could
not store.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from kraftwire.raft.core.effects import (
    Append,
    Clean,
    Effect,
    Flush,
    InstallSnapshot,
    Reply,
    SaveElection,
    SnapshotSlice,
    Truncate,
    WriteSnapshot,
)
from kraftwire.raft.core.inputs import Flushed, Input
from kraftwire.raft.core.messages import partition_of
from kraftwire.raft.metadata_log.store import Recovered, Store
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.config import Config

Handlers = Mapping[type[Any], Callable[[Any], None]]
"""Functions of the driver's owner, by the type of the effect that they get. None waits or raises.

The one for `Reply` gets it with its records; the one for `InstallSnapshot` runs once that snapshot
is on disk.
"""


class Driver:
    """Steps a replica; `clock` returns ms since 1970 and never goes back."""

    def __init__(
        self,
        config: Config,
        store: Store,
        recovered: Recovered,
        handlers: Handlers,
        clock: Callable[[], int],
    ) -> None:
        """Raise `KraftwireError` if the replica cannot start from what the store recovered."""
        self.store = store
        rng = Random()  # noqa: S311  # spreads the election timeouts
        self.replica = Replica(config, recovered, rng, clock())
        self._clock = clock
        self._inputs: deque[Input] = deque()
        self._is_busy = False
        self._handlers: dict[type[Any], Callable[[Any], None]] = {
            **handlers,
            SaveElection: self._save,
            Append: lambda effect: store.append(effect.batch),
            Flush: self._flush,
            Truncate: lambda effect: store.truncate(effect.offset),
            WriteSnapshot: self._write_snapshot,
            InstallSnapshot: self._install,
            Clean: lambda effect: store.clean(effect.snapshot),
            Reply: self._reply,
        }
        self._on_installed = handlers[InstallSnapshot]
        self._on_reply = handlers[Reply]

    def start(self) -> None:
        """Perform the first effects of the replica."""
        self._perform(self.replica.start())
        self._run()

    def step(self, what: Input) -> None:
        """Pass an input to the replica, after those that still wait."""
        self._inputs.append(what)
        self._run()

    def deadline(self) -> int | None:
        """Return when the replica needs a `Tick`, by the clock."""
        return self.replica.next_deadline()

    def _run(self) -> None:
        if self._is_busy:  # an effect has led to another input
            return
        self._is_busy = True
        try:
            while self._inputs:
                self._perform(self.replica.step(self._clock(), self._inputs.popleft()))
        finally:
            self._is_busy = False

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            self._handlers[type(effect)](effect)

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
        self._on_installed(effect)

    def _reply(self, effect: Reply) -> None:
        content = effect.content
        if content is not None:
            partition = partition_of(effect.message)
            if isinstance(content, SnapshotSlice):
                partition.unaligned_records = self.store.read_snapshot(*content)
            else:
                partition.records = self.store.read(*content)
        self._on_reply(effect)
