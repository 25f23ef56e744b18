"""Replicas that were told of a false leader, and what is kept of an epoch that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from kraftwire.log.directories.partition import METADATA_TOPIC
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.writers.snapshot_writer import SnapshotWriter
from kraftwire.raft.core.effects import Effect, Send
from kraftwire.raft.core.inputs import Request, RequestFailed, Tick
from kraftwire.raft.core.roles import Follower, Unattached
from kraftwire.raft.metadata_log.batches import data_batch
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.bounds import MAX_EPOCH, MAX_OFFSET
from kraftwire.raft.state.election_state import Election, decode_election
from kraftwire.raft.state.voters import NO_VOTERS
from kraftwire_messages import kafka
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.replicas import (
    LISTENER,
    ME,
    THREE,
    TWO,
    VOTERS,
    ask,
    elected,
    listeners_of,
    replica_of,
    sent,
)
from codec_tests.raft.strangers import (
    BOOTSTRAP,
    LAST,
    NEAR_THE_END,
    NOWHERE,
    answer,
    answered,
    begin,
    bootstrapped,
    following,
)

# -- who was deceived about the leader ----------------------------------------------------------


def failed(replica: Replica, effects: list[Effect]) -> list[Effect]:
    """Let every request fail that was sent."""
    found: list[Effect] = []
    for one in effects:
        if isinstance(one, Send):
            found += replica.step(replica.core.now, RequestFailed(one.number))
    return found


def test_an_observer_whose_leader_is_silent_asks_others_who_leads() -> None:
    replica, asked = bootstrapped(Election(3))
    answered(replica, asked, answer(3))
    effects = ask(replica, begin(4))
    assert effects is not None
    assert isinstance(replica.core.role, Follower)
    ports = set()
    for _ in range(40):
        replica.core.now += 100
        effects = replica.step(replica.core.now, Tick())
        ports |= {one.address.port for one in sent(effects, kafka.FetchRequest)}
        failed(replica, effects)
    assert BOOTSTRAP.port in ports
    assert replica.core.epoch == 4


def test_a_leader_that_has_never_answered_gives_way_to_one_that_voters_name() -> None:
    replica = replica_of(Election(3))
    ask(replica, begin(4))
    assert replica.core.leader_id == 99
    replica.core.now += 60_000
    asked, *_ = sent(replica.step(replica.core.now, Tick()), kafka.VoteRequest)
    named = _vote_refused(4, leader=3)
    answered(replica, asked, named)
    assert (replica.core.leader_id, replica.core.epoch) == (3, 4)
    assert replica.core.leader_listeners == listeners_of(3)


def _vote_refused(epoch: int, leader: int) -> Any:
    partition = kafka.VoteResponse.PartitionData(leader_id=leader, leader_epoch=epoch)
    topic = kafka.VoteResponse.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return kafka.VoteResponse(topics=[topic])


def test_a_leader_that_has_answered_is_not_replaced_in_its_epoch() -> None:
    replica, asked = following()
    answered(replica, asked, answer(3, 2))
    replica.core.now += 60_000
    asked, *_ = sent(replica.step(replica.core.now, Tick()), kafka.VoteRequest)
    answered(replica, asked, _vote_refused(3, leader=3))
    assert replica.core.leader_id == 2


def test_where_a_leader_listens_is_learnt_again_from_itself() -> None:
    """A stranger has said that leader 2 listens nowhere."""
    replica = replica_of(Election(3))
    ask(replica, begin(4, leader=2))
    assert replica.core.leader_listeners == NOWHERE
    ask(replica, begin(4, leader=2, listeners=listeners_of(2)))
    assert replica.core.leader_listeners == listeners_of(2)


def test_who_is_said_to_lead_a_later_epoch_moves_on_to_it() -> None:
    """A voter has been told so by a stranger, and would never follow in an earlier one."""
    replica = elected()
    replica.core.now += 1000
    replica.core.connections.forget()
    effects = replica.step(replica.core.now, Tick())
    asked, *_ = [one for one in effects if isinstance(one, Send)]
    partition = kafka.BeginQuorumEpochResponse.PartitionData(
        error_code=ErrorCode.FENCED_LEADER_EPOCH, leader_id=1, leader_epoch=7
    )
    topic = kafka.BeginQuorumEpochResponse.TopicData(
        topic_name=METADATA_TOPIC, partitions=[partition]
    )
    answered(replica, asked, kafka.BeginQuorumEpochResponse(topics=[topic]))
    assert isinstance(replica.core.role, Unattached)
    assert replica.core.epoch == 7


# -- the last epoch -----------------------------------------------------------------------------


def test_in_the_last_epoch_nobody_is_elected_and_nothing_ends() -> None:
    for election in (Election(MAX_EPOCH), Election(MAX_EPOCH, 1), Election(MAX_EPOCH, None, ME)):
        for voters in (VOTERS, VOTERS.removing(TWO).removing(THREE)):
            replica = replica_of(election, voters=voters)
            failed(replica, replica.start())
            for _ in range(30):
                replica.core.now += 500
                failed(replica, replica.step(replica.core.now, Tick()))
            assert replica.core.epoch == MAX_EPOCH


# -- what is kept -------------------------------------------------------------------------------


@pytest.mark.parametrize("epoch", [-(1 << 31), -1, *NEAR_THE_END])
def test_an_election_that_a_stranger_has_spoilt_is_refused_with_advice(epoch: int) -> None:
    directory = "AAAAAAAAAAAAAAAAAAAAAA"
    text = f'{{"leaderId":-1,"leaderEpoch":{epoch},"votedId":-1,"votedDirectoryId":"{directory}"}}'
    data = text.replace("}", ',"data_version":1}').encode()
    with pytest.raises(CorruptBatch, match=r"quorum-state.*leaderEpoch.*every voter"):
        decode_election(data, "quorum-state")


@pytest.mark.parametrize("epoch", NEAR_THE_END)
def test_a_log_of_such_an_epoch_is_refused(epoch: int) -> None:
    store = MemoryStore(VOTERS)
    store.append(data_batch(0, epoch, 0, [b"x"]))
    with pytest.raises(CorruptBatch, match=f"{epoch}.*empty directory"):
        store.recover()


@pytest.mark.parametrize(
    "snapshot",
    [OffsetAndEpoch(5, LAST), OffsetAndEpoch(MAX_OFFSET + 1, 3), OffsetAndEpoch(5, MAX_EPOCH + 1)],
)
def test_a_snapshot_of_such_an_epoch_is_refused(snapshot: OffsetAndEpoch) -> None:
    writer = SnapshotWriter(3)
    writer.begin(0, 0)
    store = MemoryStore(VOTERS)
    store.snapshots[snapshot] = writer.finish(0)
    with pytest.raises(CorruptBatch, match=r"snapshot.*empty directory"):
        store.recover()


def test_an_observer_with_nobody_else_to_ask_asks_its_leader_again() -> None:
    replica = replica_of(Election(3), voters=NO_VOTERS, kraft_version=0)
    effects = replica.step(5000, Request("token", begin(4), 1, LISTENER))
    for _ in range(50):
        failed(replica, effects)
        replica.core.now += 100
        effects = replica.step(replica.core.now, Tick())
    assert isinstance(replica.core.role, Follower)
    deadline = replica.next_deadline()
    assert deadline is None or deadline > replica.core.now


def test_an_observer_asks_a_leader_again_that_is_no_bootstrap_server() -> None:
    replica = replica_of(Election(3, 2), voters=VOTERS.removing(ME), bootstrap=(BOOTSTRAP,))
    effects, ports = replica.start(), set()
    for _ in range(60):
        ports |= {one.address.port for one in sent(effects[:], kafka.FetchRequest)}
        failed(replica, effects)
        replica.core.now += 100
        effects = replica.step(replica.core.now, Tick())
        if isinstance(replica.core.role, Unattached):
            break
    ports.clear()
    for _ in range(60):
        ports |= {one.address.port for one in sent(effects, kafka.FetchRequest)}
        failed(replica, effects)
        replica.core.now += 100
        effects = replica.step(replica.core.now, Tick())
    assert ports == {9002, BOOTSTRAP.port}


def test_a_response_of_another_kind_is_no_answer() -> None:
    replica, asked = following()
    answered(replica, asked, kafka.ApiVersionsResponse())
    assert not replica.core.connections.is_ready(2, replica.core.now), "it pauses"
