"""Quorums whose network loses, repeats and reorders messages, and whose nodes crash."""

from __future__ import annotations

from random import Random
from typing import NamedTuple
from uuid import UUID

from kraftwire.raft.core.effects import (
    Append,
    Clean,
    Effect,
    Flush,
    InstallSnapshot,
    LogSlice,
    Reply,
    SaveElection,
    Send,
    SnapshotSlice,
    Truncate,
    WriteSnapshot,
)
from kraftwire.raft.core.inputs import (
    Flushed,
    Input,
    Propose,
    Request,
    RequestFailed,
    Response,
    SnapshotTaken,
    Tick,
)
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.core.snapshots import begin_snapshot
from kraftwire.raft.metadata_log.batches import split_batches
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.config import Config
from kraftwire.raft.state.voters import Listener, ReplicaKey, Voter, VoterSet
from kraftwire_messages.kafka import FetchResponse, FetchSnapshotResponse

CLUSTER, LISTENER = "cluster", "CONTROLLER"


class Token(NamedTuple):
    """Who waits for a reply, and for which of its requests."""

    sender: int
    life: int
    number: int


class Node:
    """A replica, its store, and how often it was started."""

    def __init__(self, config: Config, voters: VoterSet, chance: Random) -> None:
        self.config = config
        self.store = MemoryStore(voters)
        self.chance = chance
        self.life = 0
        self.replica: Replica | None = None


class Quorum:
    """Replicas, and what is on its way between them."""

    def __init__(self, seed: int, size: int) -> None:
        self.chance = Random(seed)
        self.now = 0
        self.faults = True
        self.away: int | None = None
        """Who does not come back from a crash."""
        self.installed = 0
        """How often a fetched snapshot has taken the place of a log."""
        keys = [ReplicaKey(number, UUID(int=number)) for number in range(1, size + 1)]
        listeners = {key: (Listener(LISTENER, "127.0.0.1", 9000 + key.id),) for key in keys}
        voters = VoterSet(Voter(key, listeners[key]) for key in keys)
        self.nodes = {
            key.id: Node(
                Config(
                    key=key,
                    cluster_id=CLUSTER,
                    listeners=listeners[key],
                    retained_snapshots=1 + seed % 2,
                    clean_interval_ms=200,
                    fetch_snapshot_max_bytes=70,
                ),
                voters,
                Random(seed * 31 + key.id),
            )
            for key in keys
        }
        self.on_the_way: list[tuple[int, Input, int]] = []
        """The receiver, what it gets, and in which of its lives; -1 for any."""
        self.leaders: dict[int, int] = {}
        self.committed: dict[int, bytes] = {}
        self.checked = dict.fromkeys(self.nodes, 0)
        self.epochs = dict.fromkeys(self.nodes, 0)
        for number in self.nodes:
            self.start(number)

    def start(self, number: int) -> None:
        node = self.nodes[number]
        node.life += 1
        node.replica = Replica(node.config, node.store.recover(), node.chance, self.now)
        self.do(number, node.replica.start())

    def crash(self, number: int) -> None:
        node = self.nodes[number]
        node.replica = None
        node.store.crash(self.chance)

    def give(self, number: int, what: Input) -> None:
        replica = self.nodes[number].replica
        if replica is not None:
            self.do(number, replica.step(self.now, what))

    def do(self, number: int, effects: list[Effect]) -> None:
        """Do effects in their order, unless a crash comes between them."""
        node = self.nodes[number]
        for effect in effects:
            if self.faults and self.chance.random() < 0.02:
                self.crash(number)
                return
            match effect:
                case SaveElection():
                    node.store.save_election(
                        effect.election, effect.kraft_version, effect.voter_ids
                    )
                case Append():
                    node.store.append(effect.batch)
                case Flush():
                    node.store.flush()
                    self.on_the_way.append((number, Flushed(effect.end), node.life))
                case Send():
                    token = Token(number, node.life, effect.number)
                    newest = effect.message.VALID_VERSIONS[-1]
                    request = Request(token, effect.message, newest, LISTENER)
                    self.on_the_way.append((effect.address.port - 9000, request, -1))
                case Truncate():
                    node.store.truncate(effect.offset)
                case WriteSnapshot():
                    node.store.write_snapshot(effect.snapshot, effect.position, effect.data)
                case InstallSnapshot():
                    node.store.finish_snapshot(effect.snapshot)
                    if self.faults and self.chance.random() < 0.1:
                        self.crash(number)
                        return
                    node.store.install(effect.snapshot)
                    self.installed += 1
                case Clean():
                    node.store.clean(effect.snapshot)
                case Reply():
                    assert isinstance(effect.token, Token)
                    if isinstance(effect.content, LogSlice):
                        assert isinstance(effect.message, FetchResponse)
                        records = node.store.read(effect.content.offset, effect.content.max_bytes)
                        effect.message.responses[0].partitions[0].records = records
                    if isinstance(effect.content, SnapshotSlice):
                        assert isinstance(effect.message, FetchSnapshotResponse)
                        piece = node.store.read_snapshot(*effect.content)
                        effect.message.topics[0].partitions[0].unaligned_records = piece
                    response = Response(effect.token.number, effect.message)
                    self.on_the_way.append((effect.token.sender, response, effect.token.life))
        self.check(number)

    def check(self, number: int) -> None:
        """One leader in an epoch, and epochs that never fall, over crashes too."""
        replica = self.nodes[number].replica
        assert replica is not None
        core = replica.core
        assert core.epoch >= self.epochs[number]
        self.epochs[number] = core.epoch
        self.check_committed(number)
        if self.chance.random() < 0.1:
            self.check_disk(number)
        if isinstance(core.role, Leader):
            assert self.leaders.setdefault(core.epoch, number) == number
            self.check_granted(core.role, core.voters)

    def check_granted(self, leader: Leader, voters: VoterSet) -> None:
        """Voters have elected it."""
        assert set(voters.keys) >= leader.granted

    def check_disk(self, number: int) -> None:
        """What a replica knows is what it would know after a start."""
        node = self.nodes[number]
        assert node.replica is not None
        core, found = node.replica.core, node.store.copy().recover()
        for name in ("start", "end", "epochs", "snapshots", "last_epoch"):
            assert getattr(core.log, name) == getattr(found.log, name)
        for snapshot in core.log.snapshots:
            assert core.log.size_of(snapshot) == found.log.size_of(snapshot)
        assert core.voters == found.control.voters.last

    def take_snapshot(self, number: int) -> None:
        """Take a snapshot of what a replica knows to be committed, where there may be one."""
        node = self.nodes[number]
        assert node.replica is not None
        core = node.replica.core
        snapshot = node.replica.snapshot_id(core.committed)
        if snapshot is not None:
            content = begin_snapshot(core, snapshot, 0).finish(0)
            node.store.write_snapshot(snapshot, 0, content)
            node.store.finish_snapshot(snapshot)
            self.give(number, SnapshotTaken(snapshot, len(content)))

    def check_committed(self, number: int) -> None:
        """What one replica knows to be committed is what all others know of it."""
        node = self.nodes[number]
        assert node.replica is not None
        end = node.replica.core.committed
        known = max(self.checked[number], node.replica.core.log.start)
        if end > known:
            data = node.store.read(known, 1 << 30)
            for batch in split_batches(data):
                if batch.header.last_offset < end:
                    assert (
                        self.committed.setdefault(batch.header.base_offset, batch.data)
                        == batch.data
                    )
            self.checked[number] = end

    def event(self) -> None:
        """One thing that happens."""
        chance = self.chance
        if self.on_the_way and chance.random() < 0.7:
            place = chance.randrange(len(self.on_the_way)) if self.faults else 0
            number, what, life = self.on_the_way.pop(place)
            fate = chance.random() if self.faults else 1.0
            if fate < 0.1 and not isinstance(what, Flushed):
                if isinstance(what, Request) and isinstance(what.token, Token) and fate < 0.05:
                    failed = RequestFailed(what.token.number)
                    self.on_the_way.append((what.token.sender, failed, what.token.life))
                return
            if fate < 0.2 and not isinstance(what, Flushed):
                self.on_the_way.append((number, what, life))
            if life in (-1, self.nodes[number].life):
                self.give(number, what)
            return
        number = chance.choice(list(self.nodes))
        node = self.nodes[number]
        if node.replica is None:
            if number != self.away:
                self.start(number)
        elif self.faults and chance.random() < 0.05:
            self.crash(number)
        elif chance.random() < 0.05:
            self.take_snapshot(number)
        elif chance.random() < 0.2:
            self.give(number, Propose("p", [b"%d" % self.now]))
        else:
            self.now += chance.randrange(60)
            self.give(number, Tick())

    def calm(self) -> None:
        """From here on nothing is lost, and everybody runs."""
        self.faults = False
        for number, node in self.nodes.items():
            if node.replica is None:
                self.start(number)
