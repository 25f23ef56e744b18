"""UpdateRaftVoter as a leader answers it, and the way from kraft.version 0 to 1."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraftwire.raft.core.effects import Append, Flush, Reply, UpgradeOutcome
from kraftwire.raft.core.inputs import Request, Resign, UpgradeKRaftVersion
from kraftwire.raft.core.messages import remove_raft_voter_request, update_raft_voter_request
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.metadata_log.batches import controls_of
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.voters import Listener, ReplicaKey, Voter, VoterSet, decode_voters
from kraftwire_messages import kafka
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
)

ELSEWHERE = (Listener(LISTENER, "elsewhere", 1),)
BY_ID = VoterSet(Voter(ReplicaKey(number), listeners_of(number)) for number in (1, 2, 3))


def update(
    key: ReplicaKey = TWO, low: int = 0, high: int = 1, epoch: int = 4
) -> kafka.UpdateRaftVoterRequest:
    return update_raft_voter_request(CLUSTER, epoch, Voter(key, ELSEWHERE, low, high))


def error_of(replica: Replica, message: kafka.UpdateRaftVoterRequest) -> int:
    response = ask(replica, message)
    assert response.current_leader.leader_epoch == replica.core.epoch
    return int(response.error_code)


# -- refused ----------------------------------------------------------------------------------


def test_the_front_checks_in_their_order() -> None:
    replica = elected()
    lead(replica).high_watermark = None
    message = update(ReplicaKey(-1), low=-1, epoch=3)
    message.cluster_id, message.listeners[0].name = "other", "OTHER"
    assert error_of(replica, message) == ErrorCode.INCONSISTENT_CLUSTER_ID
    message.cluster_id = None
    assert error_of(replica, message) == ErrorCode.FENCED_LEADER_EPOCH
    message.current_leader_epoch = 5
    assert error_of(replica, message) == ErrorCode.UNKNOWN_LEADER_EPOCH
    message.current_leader_epoch = 4
    assert error_of(replica, message) == ErrorCode.INVALID_REQUEST
    message.voter_id, message.voter_directory_id = 9, UUID(int=9)
    assert error_of(replica, message) == ErrorCode.INVALID_REQUEST
    message.listeners[0].name = LISTENER
    assert error_of(replica, message) == ErrorCode.INVALID_REQUEST
    message.kraft_version_feature.min_supported_version = 0
    assert error_of(replica, message) == ErrorCode.REQUEST_TIMED_OUT


def test_a_voter_says_all_of_itself() -> None:
    replica = elected()
    lead(replica).high_watermark = None
    assert error_of(replica, update()) == ErrorCode.REQUEST_TIMED_OUT
    assert error_of(replica, update(ReplicaKey(2))) == ErrorCode.INVALID_REQUEST
    assert error_of(replica, update(ReplicaKey(-1, UUID(int=2)))) == ErrorCode.INVALID_REQUEST
    message = update()
    message.listeners[0].name = "OTHER"
    assert error_of(replica, message) == ErrorCode.INVALID_REQUEST


def test_a_new_leader_that_has_committed_nothing_updates_nothing() -> None:
    for version in (0, 1):
        replica = elected(kraft_version=version)
        lead(replica).high_watermark = None
        assert error_of(replica, update(low=7, high=8)) == ErrorCode.REQUEST_TIMED_OUT


def test_an_update_that_comes_when_a_change_has_taken_too_long_is_looked_at() -> None:
    replica = elected()
    ask(replica, remove_raft_voter_request(CLUSTER, THREE))
    message = update(ReplicaKey(9, UUID(int=9)), low=7, high=8)
    replica.core.control.voters.truncate(replica.core.log.end - 1)
    effects = replica.step(7000, Request("update", message, 0, LISTENER))
    assert reply_in(effects).error_code == ErrorCode.REQUEST_TIMED_OUT
    assert reply_in(effects, "update").error_code == ErrorCode.INVALID_REQUEST


def test_a_replica_that_has_resigned_updates_nothing_and_names_itself() -> None:
    replica = elected()
    replica.step(5000, Resign())
    response = ask(replica, update())
    leader = response.current_leader
    assert response.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (leader.leader_id, leader.host, leader.port) == (1, "127.0.0.1", 9001)


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, -1), (1, 0)])
def test_a_range_of_versions_is_one(low: int, high: int) -> None:
    replica = elected()
    lead(replica).high_watermark = None
    assert error_of(replica, update(low=low, high=high)) == ErrorCode.INVALID_REQUEST


def test_a_pending_or_uncommitted_change_is_waited_for() -> None:
    replica = elected()
    ask(replica, remove_raft_voter_request(CLUSTER, THREE))
    assert error_of(replica, update(low=7, high=8)) == ErrorCode.REQUEST_TIMED_OUT
    lead(replica).pending = None
    assert error_of(replica, update(low=7, high=8)) == ErrorCode.REQUEST_TIMED_OUT


def test_a_voter_has_the_kraft_version_of_the_quorum() -> None:
    unknown = ReplicaKey(9, UUID(int=9))
    for version in (0, 1):
        replica = elected(kraft_version=version)
        message = update(unknown, low=7, high=8)
        assert error_of(replica, message) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("key", [ReplicaKey(9, UUID(int=9)), ReplicaKey(2, UUID(int=99))])
def test_only_a_voter_is_updated(key: ReplicaKey) -> None:
    assert error_of(elected(), update(key)) == ErrorCode.VOTER_NOT_FOUND


def test_a_leader_is_not_told_of_itself() -> None:
    for version in (0, 1):
        replica = elected(kraft_version=version)
        end = replica.core.log.end
        assert error_of(replica, update(ME)) == ErrorCode.INVALID_REQUEST
        assert replica.core.log.end == end


# -- taken in ---------------------------------------------------------------------------------


def test_an_update_is_in_force_and_answered_before_it_is_committed() -> None:
    replica = elected()
    effects = replica.step(5000, Request("asked", update(), 0, LISTENER))
    response = reply_in(effects)
    assert (response.error_code, response.current_leader.leader_id) == (0, 1)
    kinds = [type(effect) for effect in effects]
    assert kinds.index(Append) < kinds.index(Flush) < kinds.index(Reply)
    voter = replica.core.voters.find(TWO)
    assert voter == Voter(TWO, ELSEWHERE, 0, 1)
    assert error_of(replica, update(THREE)) == ErrorCode.REQUEST_TIMED_OUT


def test_a_voter_that_updates_has_been_heard() -> None:
    for version in (0, 1):
        replica = elected(kraft_version=version)
        replica.core.now += 500
        assert error_of(replica, update()) == 0
        assert lead(replica).check_quorum_deadline == 8500


def test_under_kraft_version_0_the_leader_remembers() -> None:
    replica = elected(kraft_version=0)
    end = replica.core.log.end
    assert error_of(replica, update()) == 0
    assert (replica.core.log.end, replica.core.voters) == (end, VOTERS)
    described = lead(replica).described
    assert described is not None
    assert described.find(TWO) == Voter(TWO, ELSEWHERE, 0, 1)
    other_disk = ReplicaKey(2, UUID(int=99))
    assert error_of(replica, update(other_disk)) == 0, "the id is what counts"
    assert error_of(replica, update(ReplicaKey(9, UUID(int=9)))) == ErrorCode.VOTER_NOT_FOUND


# -- kraft.version ----------------------------------------------------------------------------


def upgraded(replica: Replica, version: int = 1, epoch: int = 4, **more: Any) -> UpgradeOutcome:
    effects = replica.step(5000, UpgradeKRaftVersion("u", epoch, version, **more))
    (found,) = [effect for effect in effects if isinstance(effect, UpgradeOutcome)]
    assert (found.token, found.reason is None) == ("u", found.error == 0)
    return found


def described() -> Replica:
    """A leader under kraft.version 0 that all voters have told what they are."""
    replica = elected(kraft_version=0, voters=BY_ID)
    for key in (TWO, THREE):
        assert error_of(replica, update(key)) == 0
    return replica


def test_an_upgrade_writes_version_and_voters() -> None:
    replica = described()
    effects = replica.step(5000, UpgradeKRaftVersion("u", 4, 1))
    assert effects[-1] == UpgradeOutcome("u")
    (append,) = [effect for effect in effects if isinstance(effect, Append)]
    version, voters = [one.message for _, one in controls_of(append.batch, kafka.registry)]
    assert isinstance(version, kafka.KRaftVersionRecord)
    assert isinstance(voters, kafka.VotersRecord)
    assert version.kraft_version == replica.core.control.kraft_version.last == 1
    assert decode_voters(voters).keys == {ME, TWO, THREE}
    assert replica.core.is_voter


def test_what_is_known_of_voters_outlives_that_their_directories_become_known() -> None:
    replica = described()
    end = replica.core.log.end
    upgraded(replica)
    progress = lead(replica).progress
    assert set(progress) == {ME, TWO, THREE}
    assert progress[TWO].end_offset == end
    fetched(replica, TWO)
    assert error_of(replica, update(TWO)) == ErrorCode.REQUEST_TIMED_OUT, "it is not committed"
    fetched(replica, THREE)
    assert error_of(replica, update(TWO)) == 0


def test_an_observer_that_tells_no_directory_is_not_taken_for_a_voter() -> None:
    replica = elected()
    nameless = ReplicaKey(2)
    fetched(replica, nameless, 0)
    assert error_of(replica, update()) == 0
    assert lead(replica).progress[nameless].end_offset == 0
    assert lead(replica).progress[TWO].end_offset != 0


def test_an_upgrade_that_is_only_looked_at_writes_nothing() -> None:
    replica = described()
    end = replica.core.log.end
    assert upgraded(replica, validate_only=True).error == 0
    assert replica.core.log.end == end
    assert upgraded(replica).error == 0


def test_an_upgrade_to_what_is_there_does_nothing() -> None:
    replica = elected()
    end = replica.core.log.end
    assert upgraded(replica, 1).error == 0
    assert replica.core.log.end == end


def test_upgrades_that_are_refused() -> None:
    assert upgraded(elected(), 0).error == ErrorCode.INVALID_UPDATE_VERSION, "no way back"
    assert upgraded(described(), 2).error == ErrorCode.INVALID_UPDATE_VERSION, "nobody has it"
    assert upgraded(described(), epoch=3).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    untold = elected(kraft_version=0, voters=BY_ID)
    assert error_of(untold, update(TWO)) == 0
    assert upgraded(untold).error == ErrorCode.INVALID_UPDATE_VERSION, "replica 3 is not known"
    assert error_of(untold, update(THREE, high=0)) == 0
    assert upgraded(untold).error == ErrorCode.INVALID_UPDATE_VERSION, "it lacks the version"


def test_who_does_not_lead_upgrades_nothing() -> None:
    replica = described()
    replica.step(5000, Resign())
    assert not isinstance(replica.core.role, Leader)
    assert upgraded(replica).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
