"""Elections of a replica: what it asks, what becomes of the answers, how an epoch begins."""

from __future__ import annotations

import pytest

from kraftwire.address import Address
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import Append, Committed, Flush, Leading, SaveElection, Send
from kraftwire.raft.core.inputs import Response, Tick
from kraftwire.raft.core.messages import METADATA_TOPIC_ID, partition_of
from kraftwire.raft.core.roles import Candidate, Follower, Leader, Prospective, Unattached
from kraftwire.raft.election.leadership import note_flushed
from kraftwire.raft.election.vote_client import (
    note_unsupported,
    note_vote,
    start_election,
    time_out,
)
from kraftwire.raft.metadata_log.batches import ControlRecord, controls_of
from kraftwire.raft.metadata_log.history import History
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import decode_voters
from kraftwire_messages.kafka import (
    FetchRequest,
    FetchResponse,
    LeaderChangeMessage,
    VotersRecord,
    registry,
)
from kraftwire_wire.numbers import ErrorCode
from kraftwire_wire.records import ControlType

from codec_tests.raft.replicas import (
    ME,
    THREE,
    TWO,
    VOTERS,
    core_of,
    listeners_of,
    replica_of,
    saved,
    sent,
)


def asked(core: Core) -> list[tuple[int, int, bool]]:
    """Who was asked since it was last looked: port, epoch, and whether it was a pre-vote."""
    found = [effect for effect in core.effects if isinstance(effect, Send)]
    core.effects.clear()
    partitions = [(one.address.port, partition_of(one.message)) for one in found]
    return [(port, one.replica_epoch, one.pre_vote) for port, one in partitions]


def candidate() -> Core:
    """A candidate of epoch 4."""
    core = core_of(Election(3), log_epoch=2)
    start_election(core)
    note_vote(core, TWO, granted=True)
    return core


def test_voters_are_asked_in_the_same_epoch_first() -> None:
    core = core_of(Election(3), log_epoch=2)
    start_election(core)
    assert asked(core) == [(9002, 3, True), (9003, 3, True)]
    note_vote(core, TWO, granted=True)
    assert isinstance(core.role, Candidate)
    assert saved(core) == Election(4, None, ME)
    assert isinstance(core.effects[0], SaveElection), "the vote is kept before others are asked"
    assert asked(core) == [(9002, 4, False), (9003, 4, False)]


def test_a_majority_elects() -> None:
    core = candidate()
    core.effects.clear()
    note_vote(core, THREE, granted=True)
    assert isinstance(core.role, Leader)
    kinds = [type(effect) for effect in core.effects]
    assert kinds == [SaveElection, Leading, Append, Flush]
    assert saved(core) == Election(4, 1)
    append = core.effects[2]
    assert isinstance(append, Append)
    ((_, control),) = controls_of(append.batch, registry)
    assert isinstance(control.message, LeaderChangeMessage)
    assert [one.voter_id for one in control.message.voters] == [1, 2, 3]
    assert [one.voter_id for one in control.message.granting_voters] == [1, 3]
    assert append.batch.header.partition_leader_epoch == 4


def test_a_lost_question_ends_where_it_began() -> None:
    for election, role in ((Election(3), Unattached), (Election(3, 2), Follower)):
        core = core_of(election, log_epoch=2)
        start_election(core)
        for voter in (TWO, THREE):
            note_vote(core, voter, granted=False)
        assert isinstance(core.role, role)
        assert (core.epoch, core.leader_id) == (3, election.leader_id)


def test_a_lost_candidate_waits_for_its_time() -> None:
    core = candidate()
    for voter in (TWO, THREE):
        note_vote(core, voter, granted=False)
    assert isinstance(core.role, Candidate)
    core.effects.clear()
    time_out(core)
    assert isinstance(core.role, Prospective)
    assert asked(core) == [(9002, 4, True), (9003, 4, True)]
    time_out(core)
    assert isinstance(core.role, Unattached)


def test_a_voter_that_knows_no_pre_vote_is_asked_for_its_vote() -> None:
    core = core_of(Election(3), log_epoch=2)
    start_election(core)
    note_unsupported(core)
    assert isinstance(core.role, Candidate)
    assert core.epoch == 4
    note_unsupported(core)
    assert core.epoch == 4


ELSEWHERE = Address("127.0.0.1", 9004)


def test_a_removed_voter_finds_the_leader_between_elections() -> None:
    """It knows neither that it was removed nor who leads, and a voter knows no pre-vote.

    A real candidate becomes Prospective, and then a candidate of the next epoch. It fetches from
    no bootstrap server, and its epoch rises forever (seed 20270, with a stranger).
    """
    replica = replica_of(Election(3), bootstrap=(ELSEWHERE,))
    core = replica.core
    start_election(core)
    note_unsupported(core)
    assert isinstance(core.role, Candidate)
    effects = replica.step(core.role.election_deadline, Tick())
    assert isinstance(core.role, Unattached)
    assert (core.epoch, core.voted) == (4, ME), "it stays in its epoch, and has voted in it"
    (send,) = sent(effects, FetchRequest)
    assert send.address == ELSEWHERE
    node = FetchResponse.NodeEndpoint(node_id=4, host=ELSEWHERE.host, port=ELSEWHERE.port)
    leader = FetchResponse.LeaderIdAndEpoch(leader_id=4, leader_epoch=5)
    partition = FetchResponse.PartitionData(
        error_code=ErrorCode.FENCED_LEADER_EPOCH, current_leader=leader, records=b""
    )
    topic = FetchResponse.FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=[partition])
    response = FetchResponse(responses=[topic], node_endpoints=[node])
    replica.step(core.now, Response(send.number, response))
    assert isinstance(core.role, Follower)
    assert (core.epoch, core.leader_id) == (5, 4)


def test_a_candidate_that_finds_no_leader_runs_again() -> None:
    replica = replica_of(Election(3), bootstrap=(ELSEWHERE,))
    core = replica.core
    for epoch in (4, 5):
        start_election(core)
        note_unsupported(core)
        assert isinstance(core.role, Candidate)
        assert core.epoch == epoch
        time_out(core)
    assert isinstance(core.role, Unattached)
    assert core.role.election_deadline is not None
    replica.step(core.role.election_deadline, Tick())
    assert isinstance(core.role, Prospective)


def test_a_candidate_that_asks_every_bootstrap_server_does_not_wait() -> None:
    core = core_of(Election(3), bootstrap=(Address("127.0.0.1", 9002), Address("127.0.0.1", 9003)))
    start_election(core)
    note_unsupported(core)
    time_out(core)
    assert isinstance(core.role, Prospective)


def test_who_did_not_answer_is_asked_again_and_no_other() -> None:
    core = core_of(Election(3), log_epoch=2)
    start_election(core)
    asked(core)
    note_vote(core, TWO, granted=False)
    assert asked(core) == []


def test_a_sole_voter_elects_itself_and_commits_what_is_flushed() -> None:
    alone = VOTERS.removing(TWO).removing(THREE)
    core = core_of(Election(3), log_epoch=2, voters=alone)
    start_election(core)
    assert isinstance(core.role, Leader)
    assert core.epoch == 4
    assert not [effect for effect in core.effects if isinstance(effect, Committed)]
    note_flushed(core, core.log.end)
    assert core.effects[-1] == Committed(2)
    note_flushed(core, core.log.end)
    assert core.effects.count(Committed(2)) == 1


@pytest.mark.parametrize(
    ("election", "epoch"),
    [(Election(3), 4), (Election(3, voted=ME), 3), (Election(3, ME.id), 5), (Election(3, 2), 4)],
    ids=["unattached", "candidate", "resigned", "follower"],
)
def test_a_sole_voter_leads_as_soon_as_it_starts(election: Election, epoch: int) -> None:
    replica = replica_of(election, voters=VOTERS.removing(TWO).removing(THREE))
    replica.start()
    assert isinstance(replica.core.role, Leader)
    assert replica.core.epoch == epoch


def test_who_is_not_the_only_voter_waits() -> None:
    replica = replica_of(Election(3), voters=VOTERS.removing(ME).removing(THREE))
    replica.start()
    assert isinstance(replica.core.role, Unattached)


def test_what_was_flushed_before_the_epoch_commits_nothing() -> None:
    core = core_of(Election(3), log_epoch=2, voters=VOTERS.removing(TWO).removing(THREE))
    start_election(core)
    note_flushed(core, 1)
    assert core.committed == 0, "an entry of an earlier epoch"


def test_the_first_leader_writes_the_bootstrap_voters_into_the_log() -> None:
    core = core_of(Election(0))
    core.control.kraft_version = History(1)
    start_election(core)
    for _ in range(2):
        note_vote(core, TWO, granted=True)
    (append,) = [effect for effect in core.effects if isinstance(effect, Append)]
    said: list[ControlRecord] = [one for _, one in controls_of(append.batch, registry)]
    assert [one.type for one in said] == [
        ControlType.LEADER_CHANGE,
        ControlType.KRAFT_VERSION,
        ControlType.KRAFT_VOTERS,
    ]
    record = said[2].message
    assert isinstance(record, VotersRecord)
    mine = decode_voters(record).find(ME)
    assert mine is not None
    assert (mine.listeners, mine.max_kraft_version) == (listeners_of(1), 1)
    assert core.voters == decode_voters(record)
