"""Replicas to ask, without a network: three voters, of which the first is asked."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

from kraftwire.log.directories.partition import METADATA_TOPIC
from kraftwire.log.writers.snapshot_writer import SnapshotWriter
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import Effect, Reply, SaveElection, Send
from kraftwire.raft.core.inputs import Flushed, Request, SnapshotTaken
from kraftwire.raft.core.messages import (
    METADATA_TOPIC_ID,
    fetch_request,
    fetch_snapshot_request,
    partition_of,
)
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.core.snapshots import begin_snapshot
from kraftwire.raft.election.vote_client import note_vote, start_election
from kraftwire.raft.membership import policy_of
from kraftwire.raft.metadata_log.batches import data_batch
from kraftwire.raft.metadata_log.log_state import BOOTSTRAP, OffsetAndEpoch
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.config import Config
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import (
    NO_VOTERS,
    Listener,
    ReplicaKey,
    Voter,
    VoterSet,
    encode_voters,
)
from kraftwire_messages.kafka import (
    DescribeQuorumRequest,
    FetchResponse,
    FetchSnapshotRequest,
    TopicRecord,
)
from kraftwire_wire.message import Message

CLUSTER = "cluster"
LISTENER = "CONTROLLER"
ME, TWO, THREE = (ReplicaKey(number, UUID(int=number)) for number in (1, 2, 3))


def listeners_of(number: int) -> tuple[Listener, ...]:
    """Where a replica listens."""
    return (Listener(LISTENER, "127.0.0.1", 9000 + number),)


VOTERS = VoterSet(Voter(key, listeners_of(key.id)) for key in (ME, TWO, THREE))


def core_of(
    election: Election | None = None,
    *,
    log_epoch: int | None = None,
    voters: VoterSet = VOTERS,
    chance: int = 1,
    **more: Any,
) -> Core:
    """Replica 1 as it begins with an election, and a record of an epoch in its log."""
    store = MemoryStore(voters)
    if election is not None:
        store.save_election(election, 1)
    if log_epoch is not None:
        store.append(data_batch(0, log_epoch, 0, [b"record"]))
    config = Config(key=ME, cluster_id=CLUSTER, listeners=listeners_of(1), **more)
    return Core(config, store.recover(), Random(chance), 5000)


def saved(core: Core) -> Election:
    """What was kept last."""
    effects = [effect for effect in core.effects if isinstance(effect, SaveElection)]
    return effects[-1].election


def replies(core: Core) -> list[Reply]:
    """What was answered."""
    return [effect for effect in core.effects if isinstance(effect, Reply)]


def replica_of(
    election: Election, *, kraft_version: int = 1, voters: VoterSet = VOTERS, **more: Any
) -> Replica:
    """Replica 1 as it begins with an election, under a kraft.version."""
    config = Config(key=ME, cluster_id=CLUSTER, listeners=listeners_of(1), **more)
    registry = policy_of(config).registry
    store = MemoryStore(voters if kraft_version == 0 else NO_VOTERS, registry)
    if kraft_version:
        writer = SnapshotWriter(BOOTSTRAP.epoch)
        writer.begin(0, 0, kraft_version=kraft_version, voters=encode_voters(voters))
        store.snapshots[BOOTSTRAP] = writer.finish(0)
    store.save_election(election, 1)
    return Replica(config, store.recover(), Random(1), 5000)


def elected(*, kraft_version: int = 1, voters: VoterSet = VOTERS, **more: Any) -> Replica:
    """Replica 1 as it leads epoch 4, with all that it has committed."""
    replica = replica_of(Election(3), kraft_version=kraft_version, voters=voters, **more)
    core = replica.core
    win(core, *core.others)
    replica.step(5000, Flushed(core.log.end))
    for key in core.others:
        fetched(replica, key)
    return replica


def win(core: Core, *voters: ReplicaKey) -> None:
    """Win the next election with the pre-votes and votes of these voters."""
    start_election(core)
    for _ in range(2):
        for key in voters:
            note_vote(core, key, granted=True)


def fetch_response(epoch: int = 3, leader: int = 2, error: int = 0, **more: Any) -> FetchResponse:
    """A response that names the leader, and where it listens with `port`."""
    host, port = more.pop("host", "127.0.0.1"), more.pop("port", None)
    partition = FetchResponse.PartitionData(
        error_code=error,
        current_leader=FetchResponse.LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch),
        **more,
    )
    topic = FetchResponse.FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=[partition])
    endpoint = FetchResponse.NodeEndpoint(node_id=leader, host=host, port=port or 0)
    return FetchResponse(responses=[topic], node_endpoints=[] if port is None else [endpoint])


def lead(replica: Replica) -> Leader:
    """What a leader knows."""
    role = replica.core.role
    assert isinstance(role, Leader)
    return role


def fetched(replica: Replica, key: ReplicaKey, offset: int | None = None) -> list[Effect]:
    """Let a replica have the leader's log up to an offset, or all of it; what the leader does."""
    core = replica.core
    place = OffsetAndEpoch(core.log.end if offset is None else offset, core.log.last_epoch)
    message = fetch_request(CLUSTER, key, core.epoch, place, 0, max_wait_ms=0, max_bytes=1000)
    return replica.step(core.now, Request("fetch", message, 18, LISTENER))


def ask(replica: Replica, message: Message, version: int | None = None) -> Any:
    """Ask over the wire; the response, over the wire too, or None where there is none yet."""
    version = message.VALID_VERSIONS[-1] if version is None else version
    sent = type(message).decode(message.encode(version), version)
    request = Request("asked", sent, version, LISTENER)
    return reply_in(replica.step(replica.core.now, request))


def reply_in(effects: list[Effect], token: object = "asked") -> Any:
    """The response to what was asked with a token, over the wire."""
    found = [one for one in effects if isinstance(one, Reply) and one.token == token]
    if not found:
        return None
    (reply,) = found
    return type(reply.message).decode(reply.message.encode(reply.version), reply.version)


def sent(effects: list[Effect], kind: type[Message]) -> list[Send]:
    """The requests of a kind that were sent."""
    return [one for one in effects if isinstance(one, Send) and isinstance(one.message, kind)]


def take_snapshot(replica: Replica, end: int | None = None) -> tuple[OffsetAndEpoch, bytes]:
    """Take a snapshot of what is committed, all or up to an offset: its id and content."""
    core = replica.core
    snapshot = replica.snapshot_id(core.committed if end is None else end)
    assert snapshot is not None
    writer = begin_snapshot(core, snapshot, core.now)
    writer.append([(TopicRecord(name=f"topic {number}"), 0) for number in range(9)], core.now)
    content = writer.finish(core.now)
    replica.step(core.now, SnapshotTaken(snapshot, len(content)))
    return snapshot, content


def describe_request(topic: str = METADATA_TOPIC, *partitions: int) -> DescribeQuorumRequest:
    asked = [DescribeQuorumRequest.PartitionData(partition_index=one) for one in partitions or (0,)]
    return DescribeQuorumRequest(
        topics=[DescribeQuorumRequest.TopicData(topic_name=topic, partitions=asked)]
    )


def states(replica: Replica, version: int = 2) -> tuple[list[Any], list[Any]]:
    partition = partition_of(ask(replica, describe_request(), version))
    assert (partition.error_code, partition.error_message or None) == (0, None)
    return partition.current_voters, partition.observers


def snapshot_request(
    snapshot: OffsetAndEpoch,
    position: int = 0,
    *,
    epoch: int = 4,
    replica: ReplicaKey = TWO,
    max_bytes: int = 1000,
) -> FetchSnapshotRequest:
    """What replica 2 asks for."""
    return fetch_snapshot_request(CLUSTER, replica, epoch, snapshot, position, max_bytes=max_bytes)
