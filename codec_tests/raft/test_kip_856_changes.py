"""AddVoter and RemoveVoter as KIP-856 has them: what is refused, and what a change waits for."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraftwire.raft.core.inputs import Propose, Resign, Tick
from kraftwire.raft.core.messages import add_raft_voter_request
from kraftwire.raft.self_description.metrics import metrics_of
from kraftwire.raft.state.voters import ReplicaKey, Voter
from kraftwire_messages.kafka import AddRaftVoterRequest
from kraftwire_messages.kip_856 import AddVoterRecord, RemoveVoterRecord
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.configured import NEW_DISK, flushed, named, said, unnamed
from codec_tests.raft.configured_changes import UNLISTED, added, adding, removing, wished
from codec_tests.raft.replicas import (
    CLUSTER,
    LISTENER,
    ME,
    THREE,
    TWO,
    ask,
    fetched,
    lead,
    listeners_of,
    reply_in,
)
from codec_tests.raft.voter_changes import error_of

# -- refused ----------------------------------------------------------------------------------


def test_another_cluster_a_follower_and_half_a_key_are_refused_first() -> None:
    replica = named()
    for message in (adding(UNLISTED), removing(UNLISTED)):
        message.cluster_id = "other"
        assert error_of(ask(replica, message)) == ErrorCode.INCONSISTENT_CLUSTER_ID
    for message in (adding(ReplicaKey(3)), removing(ReplicaKey(3))):
        assert error_of(ask(replica, message)) == ErrorCode.INVALID_REQUEST
    replica.step(replica.core.now, Resign())
    for message in (adding(ReplicaKey(3)), removing(ReplicaKey(3))):
        assert error_of(ask(replica, message)) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_committed_voter_is_added_already() -> None:
    message = adding(THREE)
    message.listeners.append(AddRaftVoterRequest.Listener(name=LISTENER, host="host", port=1))
    assert error_of(ask(named(), message)) == ErrorCode.DUPLICATE_VOTER


def test_a_voter_that_is_not_committed_is_no_observer() -> None:
    replica = named()
    fetched(replica, NEW_DISK)
    wished(replica, adding())
    assert error_of(ask(replica, adding())) == ErrorCode.INVALID_REQUEST


def test_who_has_never_fetched_is_no_observer() -> None:
    assert error_of(ask(named(), adding())) == ErrorCode.INVALID_REQUEST


def test_a_configured_voter_that_is_not_named_yet_is_no_observer() -> None:
    replica = unnamed()
    fetched(replica, THREE)
    assert error_of(ask(replica, adding(THREE))) == ErrorCode.INVALID_REQUEST


def test_where_a_voter_listens_is_not_told() -> None:
    replica = named()
    fetched(replica, NEW_DISK)
    voter = Voter(NEW_DISK, listeners_of(3))
    message = add_raft_voter_request(CLUSTER, voter, timeout_ms=0, ack_when_committed=True)
    assert error_of(ask(replica, message)) == ErrorCode.INVALID_REQUEST


def test_ids_that_are_not_configured_are_neither_added_nor_removed() -> None:
    replica = named()
    fetched(replica, UNLISTED)
    for message in (adding(UNLISTED), removing(UNLISTED)):
        response = ask(replica, message)
        assert error_of(response) == ErrorCode.INVALID_REQUEST
        assert "controller.quorum.voters" in response.error_message


def test_who_is_not_in_the_committed_set_is_removed_already() -> None:
    replica = named()
    assert error_of(ask(replica, removing(NEW_DISK))) == ErrorCode.VOTER_NOT_FOUND
    fetched(replica, NEW_DISK)
    wished(replica, adding())
    assert error_of(ask(replica, removing(NEW_DISK))) == ErrorCode.VOTER_NOT_FOUND


def test_a_voter_whose_removal_is_not_committed_is_none() -> None:
    replica = named()
    added(replica)
    wished(replica, removing())
    assert error_of(ask(replica, removing())) == ErrorCode.INVALID_REQUEST


def test_an_id_is_not_removed_altogether() -> None:
    replica = named()
    for key in (ME, TWO, THREE):
        assert error_of(ask(replica, removing(key))) == ErrorCode.INVALID_REQUEST


# -- made -------------------------------------------------------------------------------------


def test_a_voter_is_added_by_one_record_in_force_at_once_and_answered_when_committed() -> None:
    replica = named()
    fetched(replica, NEW_DISK)
    effects = wished(replica, adding())
    ((record,),) = said(effects)
    assert record.message == AddVoterRecord(voter_id=3, voter_uuid=NEW_DISK.directory_id)
    assert replica.core.voters.keys == {ME, TWO, THREE, NEW_DISK}
    found = replica.core.voters.find(NEW_DISK)
    assert found is not None
    assert found.listeners == listeners_of(3)
    assert reply_in(effects) is None
    flushed(replica)
    assert reply_in(fetched(replica, TWO)) is None, "two of four are no majority"
    assert error_of(reply_in(fetched(replica, NEW_DISK))) == ErrorCode.NONE


def test_a_voter_is_removed_by_one_record_and_answered_when_committed() -> None:
    replica = named()
    added(replica)
    effects = wished(replica, removing())
    ((record,),) = said(effects)
    assert record.message == RemoveVoterRecord(voter_id=3, voter_uuid=THREE.directory_id)
    assert replica.core.voters.keys == {ME, TWO, NEW_DISK}
    flushed(replica)
    assert reply_in(fetched(replica, THREE)) is None, "it is not counted"
    assert error_of(reply_in(fetched(replica, NEW_DISK))) == ErrorCode.NONE


# -- waiting ----------------------------------------------------------------------------------


def test_a_new_voter_is_waited_for_until_it_has_caught_up() -> None:
    replica = named()
    fetched(replica, NEW_DISK, 0)
    end = replica.core.log.end
    assert said(wished(replica, adding())) == []
    replica.step(replica.core.now, Propose("later", [b"record"]))
    assert said(fetched(replica, NEW_DISK, 1)) == []
    assert len(said(fetched(replica, NEW_DISK, end))) == 1, "up to where the log ended then"


@pytest.mark.parametrize("message", [adding(), removing()])
def test_a_change_waits_for_the_first_commit_of_the_epoch(message: Any) -> None:
    replica = named()
    added(replica)
    other = ReplicaKey(3, UUID(int=34))
    fetched(replica, other)
    if isinstance(message, AddRaftVoterRequest):
        message = adding(other)
    leader = lead(replica)
    leader.high_watermark, leader.epoch_start = None, replica.core.log.end
    assert said(wished(replica, message)) == []
    replica.step(replica.core.now, Propose("p", [b"record"]))
    flushed(replica)
    fetched(replica, TWO)
    assert len(said(fetched(replica, NEW_DISK))) == 1


def test_a_change_waits_for_the_one_before_it() -> None:
    replica = named()
    fetched(replica, NEW_DISK)
    other = ReplicaKey(2, UUID(int=22))
    fetched(replica, other)
    wished(replica, adding(), "first")
    assert said(wished(replica, adding(other), "second")) == []
    assert said(fetched(replica, other)) == []
    flushed(replica)
    fetched(replica, TWO)
    effects = fetched(replica, NEW_DISK)
    assert error_of(reply_in(effects, "first")) == ErrorCode.NONE
    assert len(said(effects)) == 1
    assert other in replica.core.voters.keys


def test_changes_that_wait_are_pending_in_the_metrics() -> None:
    replica = named()
    fetched(replica, NEW_DISK)
    wished(replica, adding(), "first")
    wished(replica, removing(), "second")
    found = metrics_of(replica.core)
    names = ("pending-add-voter", "pending-remove-voter", "uncommitted-voter-change")
    assert [found[name] for name in names] == [1, 1, 1]


def test_a_change_that_the_one_before_it_has_made_impossible_is_refused() -> None:
    replica = named()
    added(replica)
    other = ReplicaKey(2, UUID(int=22))
    fetched(replica, other)
    wished(replica, adding(other), "before")
    wished(replica, removing(THREE), "first")
    assert reply_in(wished(replica, removing(NEW_DISK), "second"), "second") is None
    flushed(replica)
    fetched(replica, TWO)
    effects = fetched(replica, NEW_DISK)
    assert error_of(reply_in(effects, "before")) == ErrorCode.NONE
    assert len(said(effects)) == 1
    flushed(replica)
    effects = fetched(replica, TWO) + fetched(replica, NEW_DISK)
    assert error_of(reply_in(effects, "first")) == ErrorCode.NONE
    assert error_of(reply_in(effects, "second")) == ErrorCode.INVALID_REQUEST


def test_the_old_disk_may_be_removed_before_the_new_one_is_committed() -> None:
    replica = named()
    fetched(replica, NEW_DISK)
    wished(replica, adding(), "first")
    assert reply_in(wished(replica, removing(), "second"), "second") is None
    flushed(replica)
    fetched(replica, TWO)
    assert len(said(fetched(replica, NEW_DISK))) == 1
    assert replica.core.voters.keys == {ME, TWO, NEW_DISK}


def test_the_last_disk_of_an_id_is_not_removed_behind_another() -> None:
    replica = named()
    added(replica)
    wished(replica, removing(THREE), "first")
    assert error_of(ask(replica, removing(NEW_DISK))) == ErrorCode.INVALID_REQUEST


def test_who_is_slow_does_not_keep_others_waiting() -> None:
    replica = named()
    added(replica)
    slow = ReplicaKey(2, UUID(int=22))
    fetched(replica, slow, 0)
    wished(replica, adding(slow), "slow")
    assert len(said(wished(replica, removing()))) == 1


def test_a_change_waits_no_longer_than_a_request_may_take() -> None:
    replica = named()
    fetched(replica, NEW_DISK, 0)
    wished(replica, adding())
    deadline = replica.core.now + replica.core.config.request_timeout_ms
    lead(replica).check_quorum_deadline = deadline + 1000
    lead(replica).begin_quorum_deadline = deadline + 1000
    replica.core.connections.forget()
    assert reply_in(replica.step(deadline - 1, Tick())) is None
    assert replica.next_deadline() == deadline
    response = reply_in(replica.step(deadline, Tick()))
    assert error_of(response) == ErrorCode.REQUEST_TIMED_OUT
    assert said(fetched(replica, NEW_DISK)) == [], "it is not made any more"


def test_the_time_counts_from_the_request_on() -> None:
    replica = named()
    fetched(replica, NEW_DISK, 0)
    wished(replica, adding())
    deadline = replica.core.now + replica.core.config.request_timeout_ms
    lead(replica).check_quorum_deadline = deadline + 1000
    replica.core.now = deadline - 1
    assert len(said(fetched(replica, NEW_DISK))) == 1
    response = reply_in(replica.step(deadline, Tick()))
    assert error_of(response) == ErrorCode.REQUEST_TIMED_OUT
    assert NEW_DISK in replica.core.voters.keys


def test_with_the_leadership_those_that_wait_are_lost() -> None:
    replica = named()
    added(replica)
    slow = ReplicaKey(2, UUID(int=22))
    fetched(replica, slow, 0)
    wished(replica, adding(slow), "waits")
    wished(replica, removing(), "pending")
    effects = replica.step(replica.core.now, Resign())
    for token in ("waits", "pending"):
        assert error_of(reply_in(effects, token)) == ErrorCode.NOT_LEADER_OR_FOLLOWER
