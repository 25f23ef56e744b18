"""Followers of replica 2 in epoch 3, and what their leader answers."""

from __future__ import annotations

from random import Random
from typing import Any

from kraftwire.log.writers.snapshot_writer import SnapshotWriter
from kraftwire.raft.core.effects import Effect, Send
from kraftwire.raft.core.inputs import Response, Tick
from kraftwire.raft.core.roles import Follower
from kraftwire.raft.metadata_log.batches import data_batch
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.config import Config
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import VoterSet, encode_voters
from kraftwire_messages.kafka import FetchResponse, FetchSnapshotResponse, TopicRecord, VotersRecord
from kraftwire_wire.message import Message

from codec_tests.raft.replicas import (
    CLUSTER,
    ME,
    THREE,
    VOTERS,
    fetch_response,
    listeners_of,
    replica_of,
)

WITHOUT_ME = VOTERS.removing(ME)


def follower(voters: VoterSet = VOTERS, **more: Any) -> Replica:
    """Replica 1 as it follows replica 2 in epoch 3."""
    replica = replica_of(Election(3, 2), voters=voters, **more)
    assert isinstance(replica.core.role, Follower)
    return replica


def role(replica: Replica) -> Follower:
    assert isinstance(replica.core.role, Follower)
    return replica.core.role


def fetch_answered(replica: Replica, fetch: Send, records: bytes = b"") -> list[Effect]:
    """Let the leader answer a Fetch."""
    response = Response(fetch.number, fetch_response(records=records))
    return replica.step(replica.core.now, response)


SNAPSHOT = OffsetAndEpoch(50, 3)


PAIR = VOTERS.removing(THREE)


"""The voters while the log is short: nobody can be asked but the leader."""


def content_of(voters: VotersRecord | None = None) -> bytes:
    writer = SnapshotWriter(SNAPSHOT.epoch)
    writer.begin(0, 0, voters=encode_voters(VOTERS) if voters is None else voters)
    writer.append([(TopicRecord(name="topic"), 0)] * 3, 0)
    return writer.finish(0)


CONTENT = content_of()


class Following:
    """A follower of replica 2 in epoch 3, with what it has asked last and wanted done."""

    def __init__(self, voters: VoterSet = PAIR, **more: Any) -> None:
        store = MemoryStore(voters)
        store.save_election(Election(3, 2), 1)
        store.append(data_batch(0, 2, 0, [b"a", b"b"]))
        config = Config(key=ME, cluster_id=CLUSTER, listeners=listeners_of(1), **more)
        self.replica = Replica(config, store.recover(), Random(1), 5000)
        self.number = 0
        self.asked: Message | None = None
        self.done: list[Effect] = []
        self.take(self.replica.start())

    def take(self, effects: list[Effect]) -> None:
        self.done = effects
        for effect in effects:
            if isinstance(effect, Send):
                self.number, self.asked = effect.number, effect.message

    def tick(self, now: int) -> None:
        self.asked = None
        self.take(self.replica.step(now, Tick()))

    def answer(self, message: Message, more_ms: int = 0) -> None:
        """Have what was asked last answered, over the wire."""
        version = message.VALID_VERSIONS[-1]
        sent = type(message).decode(message.encode(version), version)
        self.asked = None
        now = self.replica.core.now + more_ms
        self.take(self.replica.step(now, Response(self.number, sent)))

    def answer_fetch(self, **partition: Any) -> None:
        self.answer(fetch_response(**partition))

    def name(self, snapshot: OffsetAndEpoch = SNAPSHOT) -> None:
        """Have the Fetch answered with a snapshot."""
        offset, epoch = snapshot
        self.answer_fetch(snapshot_id=FetchResponse.SnapshotId(end_offset=offset, epoch=epoch))

    @property
    def follower(self) -> Follower:
        assert isinstance(self.replica.core.role, Follower)
        return self.replica.core.role

    @property
    def position(self) -> int | None:
        """How much has come of what is fetched; None where nothing is."""
        download = self.follower.download
        return None if download is None else download.position


def piece(begin: int, end: int | None = None, **more: Any) -> FetchSnapshotResponse:
    """Bytes of the snapshot from the leader of epoch 3."""
    content = more.pop("content", CONTENT)
    snapshot = more.pop("snapshot", SNAPSHOT)
    told = {
        "snapshot_id": FetchSnapshotResponse.SnapshotId(
            end_offset=snapshot.offset, epoch=snapshot.epoch
        ),
        "current_leader": FetchSnapshotResponse.LeaderIdAndEpoch(leader_id=2, leader_epoch=3),
        "size": len(content),
        "position": begin,
        "unaligned_records": content[begin:end],
        **more,
    }
    partition = FetchSnapshotResponse.PartitionSnapshot(**told)
    topic = FetchSnapshotResponse.TopicSnapshot(name="__cluster_metadata", partitions=[partition])
    return FetchSnapshotResponse(topics=[topic])
