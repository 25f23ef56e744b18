"""The policy of membership: which changes it allows, and the records that say them."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.raft.membership import (
    AddVoter,
    RemoveVoter,
    Shipped,
    UpdateVoter,
    VoterChange,
    policy_of,
    upgrade_records,
)
from kraftwire.raft.metadata_log.batches import ControlRecord, control_batch
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.state.config import Config
from kraftwire.raft.state.majorities import majorities_overlap
from kraftwire.raft.state.voters import NO_VOTERS, ReplicaKey, Voter, VoterSet
from kraftwire_messages.kafka import KRaftVersionRecord, VotersRecord
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.replicas import ME, THREE, TWO, VOTERS, listeners_of

POLICY = Shipped()
FOUR = Voter(ReplicaKey(4, UUID(int=4)), listeners_of(4), 0, 1)
KEYS = st.builds(ReplicaKey, st.integers(1, 4), st.sampled_from([UUID(int=1), UUID(int=2)]))
CHANGES: st.SearchStrategy[VoterChange] = st.one_of(
    KEYS.map(lambda key: AddVoter(Voter(key))),
    KEYS.map(RemoveVoter),
    KEYS.map(lambda key: UpdateVoter(Voter(key, (), 0, 1))),
)


def said(records: list[ControlRecord], before: VoterSet = VOTERS) -> ControlState:
    """What a log says behind such records."""
    control = ControlState(before)
    control.apply(control_batch(0, 1, 0, records))
    return control


def test_the_shipped_policy_is_the_default() -> None:
    assert isinstance(policy_of(Config(key=ME)), Shipped)


@pytest.mark.slow
@given(st.lists(CHANGES, max_size=12))
def test_no_allowed_change_parts_majorities(changes: list[VoterChange]) -> None:
    voters = VOTERS
    for change in changes:
        if POLICY.refusal(voters, change) is None:
            after = said(POLICY.records(voters, change), voters).voters.last
            assert majorities_overlap(voters.keys, after.keys)
            assert len(after) > 0
            assert len({key.id for key in after.keys}) == len(after)
            voters = after


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (AddVoter(Voter(ReplicaKey(2, UUID(int=99)))), ErrorCode.DUPLICATE_VOTER),
        (AddVoter(Voter(TWO)), ErrorCode.DUPLICATE_VOTER),
        (RemoveVoter(FOUR.key), ErrorCode.VOTER_NOT_FOUND),
        (RemoveVoter(ReplicaKey(2)), ErrorCode.VOTER_NOT_FOUND),
        (UpdateVoter(FOUR), ErrorCode.VOTER_NOT_FOUND),
    ],
)
def test_what_is_refused_is_refused_with_a_reason(change: VoterChange, error: ErrorCode) -> None:
    refusal = POLICY.refusal(VOTERS, change)
    assert refusal is not None
    assert (refusal.error, bool(refusal.reason)) == (error, True)


def test_the_last_voter_stays() -> None:
    alone = VOTERS.removing(TWO).removing(THREE)
    refusal = POLICY.refusal(alone, RemoveVoter(ME))
    assert refusal is not None
    assert refusal.error is ErrorCode.VOTER_NOT_FOUND


def test_an_update_makes_a_directory_known() -> None:
    voters = VoterSet([Voter(ReplicaKey(4))])
    assert POLICY.refusal(voters, UpdateVoter(FOUR)) is None
    assert said(POLICY.records(voters, UpdateVoter(FOUR))).voters.last == VoterSet([FOUR])


def test_an_epoch_begins_with_the_voters_where_the_log_has_not_what_the_leader_is() -> None:
    leader = Voter(ME, listeners_of(1), 0, 1)
    state = said(upgrade_records(1, VOTERS), NO_VOTERS)
    records = POLICY.first_records(state, leader)
    assert [type(one.message) for one in records] == [KRaftVersionRecord, VotersRecord]
    assert said(records).voters.last == VOTERS.updating(leader)
    state = said(upgrade_records(1, VOTERS.updating(leader)), NO_VOTERS)
    assert POLICY.first_records(state, leader) == []


def test_under_kraft_version_0_an_epoch_begins_without_voters() -> None:
    assert POLICY.first_records(ControlState(VOTERS), Voter(ME)) == []
