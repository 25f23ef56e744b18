"""What a follower tells its leader of itself, and that it asks to be a voter."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraftwire.raft.core.effects import Effect, Send
from kraftwire.raft.core.inputs import RequestFailed, Response, Tick
from kraftwire.raft.core.roles import Prospective, Unattached
from kraftwire.raft.metadata_log.batches import ControlRecord, control_batch
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.voters import Listener, ReplicaKey, Voter, encode_voters
from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    FetchRequest,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode
from kraftwire_wire.records import ControlType

from codec_tests.raft.followers import WITHOUT_ME, fetch_answered, follower, role
from codec_tests.raft.replicas import CLUSTER, LISTENER, ME, THREE, TWO, VOTERS, listeners_of, sent

AS_IT_IS = VOTERS.updating(Voter(ME, listeners_of(1), 0, 1))


def after_the_period(replica: Replica) -> list[Effect]:
    """What it does when 2 s are over, at which a Fetch comes back."""
    (fetch,) = sent(replica.start(), FetchRequest)
    replica.step(6900, Tick())
    (fetch,) = sent(fetch_answered(replica, fetch), FetchRequest)
    assert kinds(replica.step(7000, Tick())) == []
    return fetch_answered(replica, fetch)


def kinds(effects: list[Effect]) -> list[type[Message]]:
    return [type(one.message) for one in effects if isinstance(one, Send)]


def test_a_voter_that_is_not_what_the_set_says_tells_the_leader_when_2_s_are_over() -> None:
    replica = follower()
    effects = after_the_period(replica)
    assert kinds(effects) == [UpdateRaftVoterRequest], "and does not fetch meanwhile"
    (send,) = sent(effects, UpdateRaftVoterRequest)
    message = send.message
    assert isinstance(message, UpdateRaftVoterRequest)
    assert (send.address.port, message.cluster_id) == (9002, CLUSTER)
    assert (message.voter_id, message.voter_directory_id, message.current_leader_epoch) == (*ME, 3)
    assert [(one.name, one.port) for one in message.listeners] == [(LISTENER, 9001)]
    assert message.kraft_version_feature.max_supported_version == 1


def test_a_voter_that_is_what_the_set_says_is_silent() -> None:
    assert kinds(after_the_period(follower(AS_IT_IS))) == [FetchRequest]


def test_the_order_of_listeners_says_nothing() -> None:
    two = (*listeners_of(1), Listener("OTHER", "127.0.0.1", 1))
    assert Voter(ME, two).describes_same_as(Voter(ME, two[::-1]))
    assert not Voter(ME, two).describes_same_as(Voter(ME, two[:1]))
    assert not Voter(ME, two).describes_same_as(Voter(ME, two, 0, 1))
    assert not Voter(ME, two).describes_same_as(Voter(TWO, two))


def test_under_kraft_version_0_each_leader_is_told_once() -> None:
    replica = follower(AS_IT_IS, kraft_version=0)
    (update,) = sent(after_the_period(replica), UpdateRaftVoterRequest)
    assert role(replica).has_updated is False
    role(replica).has_fetched = False
    replica.core.now = 7100
    assert answered(replica, update) == 9100, "that it answers counts as a Fetch"
    assert role(replica).has_updated
    assert role(replica).has_fetched
    role(replica).fetch_deadline = 99_000
    replica.step(9000, Tick())
    assert UpdateRaftVoterRequest not in kinds(replica.step(9120, Tick()))
    assert role(replica).update_deadline == 11_000


def answered(replica: Replica, update: Send, error: int = 0) -> int:
    """Let the leader answer an update; when the follower gives up the leader then."""
    leader = UpdateRaftVoterResponse.CurrentLeader(
        leader_id=2, leader_epoch=3, host="127.0.0.1", port=9002
    )
    response = UpdateRaftVoterResponse(error_code=error, current_leader=leader)
    replica.step(replica.core.now, Response(update.number, response))
    return role(replica).fetch_deadline


def test_a_leader_that_refuses_is_told_again_later() -> None:
    replica = follower()
    (update,) = sent(after_the_period(replica), UpdateRaftVoterRequest)
    before = role(replica).fetch_deadline
    assert answered(replica, update, ErrorCode.REQUEST_TIMED_OUT) == before
    assert role(replica).has_updated is False
    assert role(replica).update_deadline == 9000
    assert replica.next_deadline() == 7020, "when it fetches again"


def test_a_leader_that_cannot_be_told_counts_as_told() -> None:
    replica = follower(kraft_version=0)
    (update,) = sent(after_the_period(replica), UpdateRaftVoterRequest)
    answered(replica, update, ErrorCode.UNSUPPORTED_VERSION)
    assert role(replica).has_updated


def test_an_answer_may_name_another_leader() -> None:
    replica = follower()
    (update,) = sent(after_the_period(replica), UpdateRaftVoterRequest)
    leader = UpdateRaftVoterResponse.CurrentLeader(leader_id=3, leader_epoch=5, host="h", port=7)
    response = UpdateRaftVoterResponse(error_code=6, current_leader=leader)
    replica.step(7000, Response(update.number, response))
    assert (role(replica).epoch, role(replica).leader_id) == (5, 3)
    assert role(replica).leader_listeners == (Listener(LISTENER, "h", 7),)


def test_an_answer_of_an_earlier_epoch_says_nothing() -> None:
    replica = follower()
    (update,) = sent(after_the_period(replica), UpdateRaftVoterRequest)
    leader = UpdateRaftVoterResponse.CurrentLeader(leader_id=2, leader_epoch=2)
    replica.step(7000, Response(update.number, UpdateRaftVoterResponse(current_leader=leader)))
    assert not role(replica).has_updated


def test_a_leader_that_pauses_is_waited_for() -> None:
    replica = follower()
    (fetch,) = sent(replica.start(), FetchRequest)
    role(replica).fetch_deadline = 99_000
    assert kinds(replica.step(7000, RequestFailed(fetch.number))) == []
    assert kinds(replica.step(7020, Tick())) == [UpdateRaftVoterRequest]


def test_who_has_nothing_to_tell_fetches_on_and_does_not_wake() -> None:
    replica = follower(AS_IT_IS)
    (fetch,) = sent(replica.start(), FetchRequest)
    role(replica).fetch_deadline = 99_000
    replica.core.connections.finish(fetch.number, 5000)
    assert replica.next_deadline() == 99_000
    assert kinds(replica.step(7000, Tick())) == [FetchRequest]


def test_a_leader_that_has_no_address_here_is_told_nothing() -> None:
    replica = follower()
    role(replica).leader_listeners = (Listener("OTHER", "127.0.0.1", 1),)
    role(replica).fetch_deadline = 99_000
    assert UpdateRaftVoterRequest not in kinds(replica.step(7000, Tick()))
    assert role(replica).update_deadline == 9000


def test_an_answer_without_a_leader_is_none() -> None:
    replica = follower()
    (update,) = sent(after_the_period(replica), UpdateRaftVoterRequest)
    effects = replica.step(7000, Response(update.number, UpdateRaftVoterResponse()))
    assert not role(replica).has_updated
    assert 9002 not in [one.address.port for one in sent(effects, FetchRequest)], "it pauses"


def test_a_follower_wakes_when_it_is_time_and_the_leader_can_be_asked() -> None:
    replica = follower()
    (fetch,) = sent(replica.start(), FetchRequest)
    replica.step(5500, Tick())
    fetch_answered(replica, fetch)
    role(replica).fetch_deadline = 99_000
    assert replica.next_deadline() == 7000
    replica.step(7000, Tick())
    assert replica.next_deadline() == 7500, "when the Fetch that it waits for is given up"


# -- asking to be a voter ---------------------------------------------------------------------


def test_an_observer_asks_to_be_a_voter_where_that_is_wanted() -> None:
    (send,) = sent(after_the_period(follower(WITHOUT_ME, auto_join=True)), AddRaftVoterRequest)
    message = send.message
    assert isinstance(message, AddRaftVoterRequest)
    assert (message.voter_id, message.voter_directory_id) == ME
    assert (message.timeout_ms, message.ack_when_committed) == (2000, False)
    assert [one.port for one in message.listeners] == [9001]


def test_an_observer_asks_first_that_its_lost_disk_be_removed() -> None:
    lost = ReplicaKey(1, UUID(int=99))
    voters = WITHOUT_ME.adding(Voter(lost, listeners_of(1)))
    (send,) = sent(after_the_period(follower(voters, auto_join=True)), RemoveRaftVoterRequest)
    message = send.message
    assert isinstance(message, RemoveRaftVoterRequest)
    assert (message.voter_id, message.voter_directory_id) == lost


@pytest.mark.parametrize(
    "more", [{}, {"auto_join": True, "can_vote": False}, {"auto_join": True, "kraft_version": 0}]
)
def test_other_observers_ask_nothing(more: dict[str, Any]) -> None:
    assert kinds(after_the_period(follower(WITHOUT_ME, **more))) == [FetchRequest]


@pytest.mark.parametrize(
    ("error", "pauses"), [(0, False), (7, False), (126, False), (127, False), (6, True)]
)
def test_who_asks_to_be_a_voter_asks_again_after_2_s(error: int, pauses: bool) -> None:
    for kind in (AddRaftVoterResponse, RemoveRaftVoterResponse):
        replica = follower(WITHOUT_ME, auto_join=True)
        (send,) = sent(after_the_period(replica), AddRaftVoterRequest)
        effects = replica.step(7500, Response(send.number, kind(error_code=error)))
        assert role(replica).update_deadline == (9000 if pauses else 9500)
        asked = [one.address.port for one in sent(effects, FetchRequest)]
        assert (9002 not in asked) == pauses or asked == [9003]


def test_who_does_not_get_through_asks_again() -> None:
    replica = follower(WITHOUT_ME, auto_join=True)
    (send,) = sent(after_the_period(replica), AddRaftVoterRequest)
    replica.step(7000, RequestFailed(send.number))
    assert role(replica).update_deadline == 9000


# -- in force at once -------------------------------------------------------------------------


def test_an_observer_that_becomes_a_voter_waits_for_its_leader_from_then_on() -> None:
    replica = follower(WITHOUT_ME)
    (fetch,) = sent(replica.start(), FetchRequest)
    replica.step(6000, Tick())
    role(replica).fetch_deadline = 0
    added = ControlRecord(ControlType.KRAFT_VOTERS, encode_voters(AS_IT_IS))
    fetch_answered(replica, fetch, control_batch(0, 3, 0, [added]).data)
    assert replica.core.is_voter
    assert role(replica).fetch_deadline == 8000
    replica.step(8000, Tick())
    assert isinstance(replica.core.role, Prospective)
    assert replica.core.role.tally.silent == [TWO, THREE]


def removed() -> Replica:
    """A follower whose removal is in its log, at offset 0, and not committed."""
    replica = follower(AS_IT_IS)
    (fetch,) = sent(replica.start(), FetchRequest)
    said = ControlRecord(ControlType.KRAFT_VOTERS, encode_voters(WITHOUT_ME))
    fetch_answered(replica, fetch, control_batch(0, 3, 0, [said]).data)
    assert not replica.core.is_voter
    return replica


def test_a_voter_whose_removal_is_committed_waits_for_nobody() -> None:
    replica = removed()
    replica.core.commit(1)
    replica.step(60_000, Tick())
    assert isinstance(replica.core.role, Unattached)
    assert replica.core.leader_id == 2


def test_a_voter_whose_removal_is_not_committed_may_be_the_one_that_has_to_lead() -> None:
    replica = removed()
    replica.step(60_000, Tick())
    assert isinstance(replica.core.role, Prospective)
    assert replica.core.role.tally.silent == [TWO, THREE]
    assert not replica.core.role.tally.granted


def test_a_truncated_removal_makes_it_a_voter_again() -> None:
    replica = removed()
    replica.core.truncate(0)
    assert replica.core.is_voter
