"""Leaders that remove themselves, voter sets of one, and who stands or is told then."""

from __future__ import annotations

from kraftwire.raft.core.effects import StoppedLeading
from kraftwire.raft.core.inputs import Request, Tick
from kraftwire.raft.core.messages import fetch_request, partition_of
from kraftwire.raft.core.roles import Leader, Resigned, Unattached
from kraftwire.raft.election.leadership import note_heard
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.state.voters import Voter
from kraftwire_messages.kafka import BeginQuorumEpochRequest, EndQuorumEpochRequest
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
    lead,
    listeners_of,
    reply_in,
    sent,
)
from codec_tests.raft.voter_changes import (
    ALONE,
    FOUR,
    TWO_ALONE,
    answered,
    begun,
    error_of,
    flushed,
    removing,
    versions,
)


def test_a_removed_leader_leads_until_that_is_committed() -> None:
    replica = elected()
    assert ask(replica, removing(ME)) is None
    assert not replica.core.is_voter
    flushed(replica)
    assert reply_in(fetched(replica, TWO)) is None, "both others are the majority of two"
    effects = fetched(replica, THREE)
    assert error_of(reply_in(effects)) == ErrorCode.NONE
    assert isinstance(replica.core.role, Resigned)
    assert StoppedLeading(4) in effects
    told = sent(effects, EndQuorumEpochRequest)
    assert [one.address.port for one in told] == [9002, 9003]
    assert partition_of(told[0].message).preferred_successors == [2, 3]


def test_a_removed_leader_resigns_when_the_request_is_long_over() -> None:
    replica = elected()
    ask(replica, removing(ME))
    flushed(replica)
    fetched(replica, TWO)
    replica.step(7000, Tick())
    assert isinstance(replica.core.role, Leader)
    fetched(replica, THREE)
    assert isinstance(replica.core.role, Resigned)


def test_a_removed_leader_tells_those_that_wait_what_is_committed() -> None:
    replica = elected()
    ask(replica, removing(ME))
    flushed(replica)
    fetched(replica, TWO)
    core = replica.core
    place = OffsetAndEpoch(core.log.end, core.log.last_epoch)
    waits = fetch_request(CLUSTER, TWO, 4, place, 1 << 62, max_wait_ms=500, max_bytes=1000)
    assert replica.step(5000, Request("waits", waits, 18, LISTENER)) == []
    partition = partition_of(reply_in(fetched(replica, THREE), "waits"))
    assert (partition.error_code, partition.high_watermark) == (0, core.log.end)


def test_who_has_resigned_as_no_voter_does_not_stand() -> None:
    replica = elected()
    ask(replica, removing(ME))
    flushed(replica)
    fetched(replica, TWO)
    fetched(replica, THREE)
    replica.step(60_000, Tick())
    assert isinstance(replica.core.role, Unattached)
    assert replica.core.role.election_deadline is None
    replica.step(90_000, Tick())
    assert isinstance(replica.core.role, Unattached)


def test_the_rest_of_two_commits_alone() -> None:
    replica = elected(voters=TWO_ALONE)
    ask(replica, removing(TWO))
    assert lead(replica).check_quorum_deadline is None
    assert error_of(reply_in(flushed(replica))) == ErrorCode.NONE


def test_a_sole_voter_that_is_joined_has_to_be_heard() -> None:
    replica = elected(voters=ALONE)
    assert lead(replica).check_quorum_deadline is None
    answered(replica, begun(replica), versions())
    assert lead(replica).check_quorum_deadline == replica.core.now + 3000
    assert reply_in(flushed(replica)) is None
    assert error_of(reply_in(fetched(replica, FOUR))) == ErrorCode.NONE


def test_who_was_removed_does_not_keep_a_leader() -> None:
    replica = elected(voters=VOTERS.adding(Voter(FOUR, listeners_of(4))))
    core = replica.core
    fetched(replica, TWO)
    fetched(replica, THREE)
    lead(replica).heard.clear()
    note_heard(core, lead(replica), TWO)
    ask(replica, removing(TWO))
    assert lead(replica).heard == set()


def test_a_new_voter_is_told_who_leads() -> None:
    replica = elected()
    answered(replica, begun(replica), versions())
    replica.core.now = 7000
    begins = sent(replica.step(7000, Tick()), BeginQuorumEpochRequest)
    assert 9004 in [one.address.port for one in begins]
