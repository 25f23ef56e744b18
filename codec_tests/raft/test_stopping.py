"""Resign and ShutDown: what is given up, who waits for whom, when a replica may end."""

from __future__ import annotations

from kraftwire.log.directories.partition import METADATA_TOPIC
from kraftwire.raft.core.effects import (
    Effect,
    Leading,
    ProposalOutcome,
    Send,
    Stopped,
    StoppedLeading,
)
from kraftwire.raft.core.inputs import Propose, Request, Resign, Response, ShutDown, Tick
from kraftwire.raft.core.messages import begin_quorum_epoch_request, partition_of, vote_request
from kraftwire.raft.core.roles import Candidate, Leader, Prospective, Resigned, Unattached
from kraftwire.raft.metadata_log.log_state import UpToDate
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.election_state import Election
from kraftwire_messages.kafka import EndQuorumEpochRequest, VoteRequest, VoteResponse
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.replicas import (
    CLUSTER,
    LISTENER,
    ME,
    THREE,
    TWO,
    VOTERS,
    ask,
    elected,
    fetched,
    listeners_of,
    replica_of,
    reply_in,
    sent,
)


def stopped(effects: list[Effect]) -> list[bool]:
    """Whether it was clean, for each time that the end was told."""
    return [effect.is_clean for effect in effects if isinstance(effect, Stopped)]


def test_a_leader_that_resigns_names_the_longest_log_first() -> None:
    replica = elected()
    replica.step(5000, Propose("p", [b"value"]))
    fetched(replica, THREE)
    effects = replica.step(5000, Resign())
    assert isinstance(replica.core.role, Resigned)
    first, *_ = sent(effects, EndQuorumEpochRequest)
    assert partition_of(first.message).preferred_successors == [3, 2]
    assert ProposalOutcome("p", None) in effects
    assert StoppedLeading(4) in effects


def test_only_the_leader_of_the_epoch_that_is_meant_resigns() -> None:
    replica = elected()
    for epoch in (3, 5):
        replica.step(5000, Resign(epoch))
        assert isinstance(replica.core.role, Leader)
    replica.step(5000, Resign(4))
    assert isinstance(replica.core.role, Resigned)
    follower = replica_of(Election(3, 2))
    follower.step(5000, Resign())
    assert follower.core.leader_id == 2


def test_a_leader_that_shuts_down_waits_until_another_is_known() -> None:
    replica = elected()
    effects = replica.step(5000, ShutDown())
    assert isinstance(replica.core.role, Resigned)
    assert stopped(effects) == []
    assert sent(effects, EndQuorumEpochRequest)
    begin = begin_quorum_epoch_request(CLUSTER, 2, ME, 5, listeners_of(2))
    effects = replica.step(5100, Request("begin", begin, 1, LISTENER))
    assert effects[-1] == Stopped(is_clean=True)


def test_who_shuts_down_stays_in_its_epoch_and_votes() -> None:
    replica = elected()
    replica.step(5000, ShutDown())
    replica.step(9900, Tick())
    assert isinstance(replica.core.role, Resigned)
    vote = vote_request(CLUSTER, TWO, ME, 5, UpToDate(4, 99))
    assert partition_of(ask(replica, vote)).vote_granted
    assert isinstance(replica.core.role, Unattached)


def test_who_is_needed_is_given_5_s() -> None:
    replica = elected()
    replica.step(5000, ShutDown())
    assert stopped(replica.step(9999, ShutDown())) == []
    deadline = replica.next_deadline()
    assert deadline is not None
    assert deadline <= 10_000
    assert stopped(replica.step(10_000, Tick())) == [False]


def test_who_has_stopped_does_nothing_more() -> None:
    replica = replica_of(Election(3, 2))
    assert stopped(replica.step(5000, ShutDown())) == [True], "it follows a leader"
    vote = vote_request(CLUSTER, TWO, ME, 5, UpToDate(4, 99))
    assert replica.step(5000, Request("vote", vote, 2, LISTENER)) == []
    assert replica.core.epoch == 3


def test_observers_and_sole_voters_stop_at_once() -> None:
    observer = replica_of(Election(3), voters=VOTERS.removing(ME))
    observer.core.effects.clear()
    assert observer.step(5000, ShutDown()) == [Stopped(is_clean=True)]
    alone = elected(voters=VOTERS.removing(TWO).removing(THREE))
    alone.step(5000, Propose("p", [b"value"]))
    effects = alone.step(5000, ShutDown())
    assert effects[-1] == Stopped(is_clean=True)
    assert ProposalOutcome("p", None) in effects
    assert StoppedLeading(4) in effects


def test_a_voter_without_a_leader_does_not_stand_any_more() -> None:
    replica = replica_of(Election(3))
    assert stopped(replica.step(5000, ShutDown())) == []
    replica.step(9999, Tick())
    assert isinstance(replica.core.role, Unattached)
    assert replica.next_deadline() == 10_000


def standing(replica: Replica) -> list[Send]:
    """Let a replica ask for pre-votes; what it asks."""
    replica.start()
    asked = sent(replica.step(7000, Tick()), VoteRequest)
    assert isinstance(replica.core.role, Prospective)
    return asked


def granted(replica: Replica, asked: Send) -> list[Effect]:
    """Let a voter grant what it was asked."""
    partition = VoteResponse.PartitionData(
        leader_id=-1, leader_epoch=replica.core.epoch, vote_granted=True
    )
    topic = VoteResponse.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return replica.step(replica.core.now, Response(asked.number, VoteResponse(topics=[topic])))


def test_who_stands_goes_on_asking_and_gives_up_what_it_wins() -> None:
    replica = replica_of(Election(3))
    asked, _ = standing(replica)
    assert stopped(replica.step(7000, ShutDown())) == []
    asked, _ = sent(granted(replica, asked), VoteRequest)
    assert isinstance(replica.core.role, Candidate)
    effects = granted(replica, asked)
    assert isinstance(replica.core.role, Resigned), "it has led for no time"
    leading = [one for one in effects if isinstance(one, Leading | StoppedLeading)]
    assert leading == [Leading(4), StoppedLeading(4)]
    assert sent(effects, EndQuorumEpochRequest)


def test_who_stands_and_shuts_down_does_not_time_out() -> None:
    replica = replica_of(Election(3))
    asked, _ = standing(replica)
    granted(replica, asked)
    replica.step(7000, ShutDown())
    replica.step(9000, Tick())
    effects = replica.step(9020, Tick())
    assert isinstance(replica.core.role, Candidate)
    assert len(sent(effects, VoteRequest)) == 2


def test_a_leader_that_has_resigned_still_names_itself_to_other_replicas() -> None:
    """As Kafka does: a replica that knows the leader of an epoch must not hear of another."""
    replica = elected()
    replica.step(5000, Resign())
    partition = partition_of(reply_in(fetched(replica, TWO), "fetch"))
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (1, 4)
