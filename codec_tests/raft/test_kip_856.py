"""The rules of KIP-856: what may be changed, how a replica starts, what replicas tell."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.raft.core import messages
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import SaveElection
from kraftwire.raft.core.inputs import Request, Response, Tick
from kraftwire.raft.core.roles import Follower
from kraftwire.raft.membership import (
    AddVoter,
    Kip856,
    RemoveVoter,
    Shipped,
    UpdateVoter,
    VoterChange,
    policy_of,
)
from kraftwire.raft.metadata_log.batches import control_batch
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.log_state import UpToDate
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.config import Config, Membership
from kraftwire.raft.state.election_state import Election, decode_election, encode_election
from kraftwire.raft.state.majorities import majorities_overlap
from kraftwire.raft.state.voters import ReplicaKey, Voter, VoterSet
from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    BeginQuorumEpochRequest,
    FetchRequest,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
)
from kraftwire_messages.kip_856 import AddVoterRecord, RemoveVoterRecord
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.configured import (
    BOTH_DISKS,
    CONFIGURED,
    NAMED,
    NEW_DISK,
    POLICY,
    adding,
    after,
    configured,
    named,
    recovered,
)
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
    sent,
)

KEYS = st.builds(ReplicaKey, st.integers(1, 4), st.sampled_from([UUID(int=1), UUID(int=2)]))
CHANGES: st.SearchStrategy[VoterChange] = st.one_of(
    KEYS.map(lambda key: AddVoter(Voter(key))),
    KEYS.map(RemoveVoter),
    KEYS.map(lambda key: UpdateVoter(Voter(key))),
)


# -- the policy --------------------------------------------------------------------------------


def test_the_configuration_chooses_the_policy() -> None:
    config = Config(key=ME, membership=Membership.KIP_856, static_voters=CONFIGURED)
    assert isinstance(policy_of(config), Kip856)
    assert isinstance(policy_of(Config(key=ME)), Shipped)


@given(st.lists(CHANGES, max_size=20))
def test_no_allowed_change_parts_majorities_nor_takes_an_id_away(
    changes: list[VoterChange],
) -> None:
    start = VoterSet(Voter(ReplicaKey(number, UUID(int=1))) for number in (1, 2, 3))
    voters = start
    for change in changes:
        if POLICY.refusal(voters, change) is None:
            changed = after(POLICY.records(voters, change), voters).voters.last
            assert majorities_overlap(voters.keys, changed.keys)
            assert {voter.id for voter in changed} == {1, 2, 3}
            assert changed != voters
            voters = changed


def test_a_change_is_one_record_and_not_the_set() -> None:
    (added,) = POLICY.records(NAMED, AddVoter(Voter(NEW_DISK)))
    assert added.message == AddVoterRecord(voter_id=3, voter_uuid=NEW_DISK.directory_id)
    (removed,) = POLICY.records(NAMED, RemoveVoter(THREE))
    assert removed.message == RemoveVoterRecord(voter_id=3, voter_uuid=THREE.directory_id)
    assert POLICY.records(NAMED, UpdateVoter(Voter(TWO))) == []


def test_an_id_may_be_there_with_two_disks() -> None:
    records = POLICY.records(NAMED, AddVoter(Voter(NEW_DISK)))
    control = ControlState(CONFIGURED, POLICY.registry)
    control.apply(control_batch(0, 1, 0, adding(ME, TWO, THREE)))
    control.apply(control_batch(3, 1, 0, records))
    assert control.voters.last == BOTH_DISKS
    control.truncate(3)
    assert control.voters.last == NAMED


def test_a_record_names_the_configured_voter_of_its_id() -> None:
    control = after(adding(ME))
    assert control.voters.last.keys == {ME, ReplicaKey(2), ReplicaKey(3)}
    assert after(adding(ME, TWO, THREE)).voters.last == NAMED


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (AddVoter(Voter(THREE)), ErrorCode.DUPLICATE_VOTER),
        (AddVoter(Voter(ReplicaKey(4, UUID(int=4)))), ErrorCode.INVALID_REQUEST),
        (RemoveVoter(ReplicaKey(4, UUID(int=4))), ErrorCode.INVALID_REQUEST),
        (RemoveVoter(NEW_DISK), ErrorCode.VOTER_NOT_FOUND),
        (RemoveVoter(THREE), ErrorCode.INVALID_REQUEST),
        (UpdateVoter(Voter(TWO)), ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_what_is_refused_is_refused_with_a_reason(change: VoterChange, error: ErrorCode) -> None:
    refusal = POLICY.refusal(NAMED, change)
    assert refusal is not None
    assert (refusal.error, bool(refusal.reason)) == (error, True)


def test_either_disk_of_an_id_may_be_removed() -> None:
    for key in (THREE, NEW_DISK):
        assert POLICY.refusal(BOTH_DISKS, RemoveVoter(key)) is None


# -- starting ----------------------------------------------------------------------------------


def test_a_log_with_a_voter_that_is_not_configured_is_refused() -> None:
    replica = configured(Election(3))
    config, chance = replica.core.config, replica.core.rng
    Replica(config, recovered(ME, TWO, NEW_DISK), chance, 0)
    unlisted = ReplicaKey(4, UUID(int=4))
    with pytest.raises(KraftwireError, match=r"\[4\].*add them there"):
        Replica(config, recovered(ME, unlisted), chance, 0)


def test_under_shipped_rules_any_id_may_vote() -> None:
    core = elected().core
    found = recovered(ReplicaKey(4, UUID(int=4)))
    assert Core(core.config, found, core.rng, 0).voters.of_id(4)


def test_a_vote_is_kept_with_its_directory() -> None:
    replica = configured(Election(3))
    vote = messages.vote_request(CLUSTER, NEW_DISK, ME, 4, UpToDate(0, 0))
    effects = replica.step(5000, Request("asked", vote, 2, LISTENER))
    kept = [one for one in effects if isinstance(one, SaveElection)][-1]
    data = encode_election(kept.election, kept.kraft_version, kept.voter_ids)
    assert decode_election(data).voted == NEW_DISK


# -- what replicas tell one another ------------------------------------------------------------


def follower() -> Replica:
    """Replica 1 in a quorum whose voters are named."""
    replica = configured(Election(3))
    replica.core.control.voters.add(0, NAMED)
    return replica


LOST = ReplicaKey(1, UUID(int=99))


@pytest.mark.parametrize("voter", [LOST, ReplicaKey(4, ME.directory_id), ReplicaKey(4)])
def test_who_is_not_the_voter_that_is_meant_says_so(voter: ReplicaKey) -> None:
    for message in (
        messages.vote_request(CLUSTER, TWO, voter, 4, UpToDate(0, 0)),
        messages.begin_quorum_epoch_request(CLUSTER, 2, voter, 4, listeners_of(2)),
    ):
        partition = messages.partition_of(ask(follower(), message))
        assert partition.error_code == ErrorCode.INVALID_REQUEST


def test_a_directory_that_is_not_told_is_not_checked() -> None:
    for message in (
        messages.vote_request(CLUSTER, TWO, ReplicaKey(1), 4, UpToDate(0, 0)),
        messages.begin_quorum_epoch_request(CLUSTER, 2, ReplicaKey(1), 4, listeners_of(2)),
    ):
        assert messages.partition_of(ask(follower(), message)).error_code == ErrorCode.NONE


def test_the_epoch_is_looked_at_before_the_voter() -> None:
    message = messages.vote_request(CLUSTER, TWO, LOST, 2, UpToDate(0, 0))
    partition = messages.partition_of(ask(follower(), message))
    assert partition.error_code == ErrorCode.FENCED_LEADER_EPOCH
    message = messages.vote_request(CLUSTER, TWO, LOST, 9, UpToDate(0, 0))
    replica = follower()
    partition = messages.partition_of(ask(replica, message))
    assert (partition.error_code, replica.core.epoch) == (ErrorCode.INVALID_REQUEST, 9)


def test_who_is_no_voter_says_so_and_follows_all_the_same() -> None:
    for message in (
        messages.begin_quorum_epoch_request(CLUSTER, 2, ME, 4, listeners_of(2)),
        messages.end_quorum_epoch_request(CLUSTER, 2, 4, [THREE], listeners_of(2)),
    ):
        replica = configured(Election(3))
        replica.core.control.voters.add(0, NAMED.removing(ME))
        assert messages.partition_of(ask(replica, message)).error_code == ErrorCode.VOTER_NOT_FOUND
        assert isinstance(replica.core.role, Follower)


def test_who_is_no_voter_votes() -> None:
    replica = configured(Election(3))
    replica.core.control.voters.add(0, NAMED.removing(ME))
    message = messages.vote_request(CLUSTER, NEW_DISK, ME, 4, UpToDate(0, 0))
    assert messages.partition_of(ask(replica, message)).vote_granted


def test_who_is_not_the_voter_comes_before_who_is_none() -> None:
    replica = configured(Election(3))
    replica.core.control.voters.add(0, NAMED.removing(ME))
    message = messages.begin_quorum_epoch_request(CLUSTER, 2, LOST, 4, listeners_of(2))
    assert messages.partition_of(ask(replica, message)).error_code == ErrorCode.INVALID_REQUEST


def test_under_shipped_rules_there_are_other_errors() -> None:
    replica = replica_of(Election(3), voters=VOTERS.removing(ME))
    begin = messages.begin_quorum_epoch_request(CLUSTER, 2, LOST, 4, listeners_of(2))
    assert messages.partition_of(ask(replica, begin)).error_code == ErrorCode.INVALID_VOTER_KEY
    begin = messages.begin_quorum_epoch_request(CLUSTER, 2, ME, 4, listeners_of(2))
    assert messages.partition_of(ask(replica, begin)).error_code == ErrorCode.NONE


def test_a_voter_that_does_not_know_it_is_one_is_told_again() -> None:
    replica = named()
    core = replica.core
    observer = configured(Election(3))
    observer.core.control.voters.add(0, NAMED.removing(ME))
    begin = messages.begin_quorum_epoch_request(CLUSTER, 2, ME, 3, listeners_of(2))
    refused = ask(observer, begin)
    core.connections.forget()
    assert messages.partition_of(refused).error_code == ErrorCode.VOTER_NOT_FOUND
    for _ in range(3):
        fetched(replica, THREE)
        core.now += core.config.begin_quorum_ms
        sends = sent(replica.step(core.now, Tick()), BeginQuorumEpochRequest)
        (told,) = [one for one in sends if one.address.port == 9002]
        replica.step(core.now, Response(told.number, refused))
    fetched(replica, TWO)
    core.now += core.config.begin_quorum_ms - 1
    assert sent(replica.step(core.now, Tick()), BeginQuorumEpochRequest) == []


def test_where_voters_listen_is_configured() -> None:
    replica = named()
    message = UpdateRaftVoterRequest(
        cluster_id=CLUSTER,
        current_leader_epoch=4,
        voter_id=TWO.id,
        voter_directory_id=TWO.directory_id,
    )
    message.listeners.append(UpdateRaftVoterRequest.Listener(name=LISTENER, host="new", port=1))
    message.kraft_version_feature.max_supported_version = 1
    response = ask(replica, message)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert replica.core.voters == NAMED


@pytest.mark.parametrize("kraft_version", [0, 1])
@pytest.mark.parametrize("voters", [NAMED, NAMED.removing(ME)], ids=["a voter", "an observer"])
def test_followers_do_not_tell_the_leader_what_they_have_become(
    voters: VoterSet, kraft_version: int
) -> None:
    """It would refuse that, and they would ask again and again."""
    replica = configured(Election(3, 2), auto_join=True)
    replica.core.control.voters.add(0, voters)
    replica.core.control.kraft_version.add(0, kraft_version)
    assert isinstance(replica.core.role, Follower)
    replica.core.role.update_deadline = replica.core.now
    effects = replica.step(replica.core.now, Tick())
    assert sent(effects, FetchRequest)
    for kind in (UpdateRaftVoterRequest, AddRaftVoterRequest, RemoveRaftVoterRequest):
        assert not sent(effects, kind)
