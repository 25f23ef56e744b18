"""States of a replica: where it begins, what follows what, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.raft.core.effects import SaveElection
from kraftwire.raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from kraftwire.raft.replication.leader_updates import note_fetched
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import ReplicaKey

from codec_tests.raft.replicas import ME, THREE, TWO, VOTERS, core_of, listeners_of, saved


@pytest.mark.parametrize(
    ("election", "log_epoch", "role", "kept"),
    [
        (None, None, Unattached, Election(0)),
        (Election(3, 2), 4, Unattached, Election(4)),
        (Election(3, None, TWO), 4, Unattached, Election(4)),
        (Election(3, 1), 3, Resigned, Election(3, 1)),
        (Election(3, None, ME), 3, Candidate, Election(3, None, ME)),
        (Election(3, None, ReplicaKey(1)), 3, Candidate, Election(3, None, ME)),
        (Election(3, None, ReplicaKey(1, UUID(int=9))), 3, Unattached, None),
        (Election(3, 2, THREE), 3, Follower, Election(3, 2, THREE)),
        (Election(3, 9, THREE), 3, Unattached, Election(3, 9, THREE)),
        (Election(3, None, TWO), 3, Unattached, Election(3, None, TWO)),
    ],
)
def test_where_a_replica_begins(
    election: Election | None, log_epoch: int | None, role: type, kept: Election | None
) -> None:
    core = core_of(election, log_epoch=log_epoch)
    assert isinstance(core.role, role)
    assert saved(core) == (kept or election)


def test_who_voted_for_itself_and_was_removed_begins_as_an_observer() -> None:
    core = core_of(Election(3, None, ME), voters=VOTERS.removing(ME))
    assert isinstance(core.role, Unattached)
    assert saved(core) == Election(3, None, ME)


def test_an_election_that_is_won() -> None:
    core = core_of(Election(3))
    core.become_prospective()
    assert len(core.effects) == 1, "nothing to keep"
    core.become_candidate()
    assert saved(core) == Election(4, None, ME)
    assert isinstance(core.role, Candidate)
    assert core.role.tally.silent == [TWO, THREE]


def test_a_lost_candidate_asks_again_in_its_epoch_and_keeps_its_vote() -> None:
    core = core_of(Election(3))
    core.become_prospective()
    core.become_candidate()
    core.become_prospective()
    assert (core.epoch, core.voted) == (4, ME)
    core.become_unattached(4)
    assert saved(core) == Election(4, None, ME)


def test_a_vote_outlives_the_leader_and_not_the_epoch() -> None:
    core = core_of(Election(3))
    core.vote(TWO)
    assert saved(core) == Election(3, None, TWO)
    core.become_follower(3, 2, listeners_of(2))
    assert saved(core) == Election(3, 2, TWO)
    core.become_prospective()
    assert (core.leader_id, core.leader_listeners) == (2, listeners_of(2))
    core.become_follower(4, 3, listeners_of(3))
    assert saved(core) == Election(4, 3)


def test_what_contradicts_what_is_known_is_refused() -> None:
    core = core_of(Election(3, 2))
    changes: list[Callable[[], None]] = [
        lambda: core.become_unattached(3),
        lambda: core.become_unattached(2),
        lambda: core.become_follower(3, 3, listeners_of(3)),
        lambda: core.become_follower(4, 3, ()),
        lambda: core.become_follower(4, 1, listeners_of(1)),
        core.become_candidate,
        core.become_resigned,
        lambda: core.vote(TWO),
    ]
    for change in changes:
        with pytest.raises(ValueError, match="from "):
            change()


def test_an_observer_waits_for_no_election() -> None:
    core = core_of(Election(3, 2), voters=VOTERS.removing(ME))
    core.become_unattached(4)
    assert isinstance(core.role, Unattached)
    assert core.role.election_deadline is None
    with pytest.raises(ValueError, match="Prospective"):
        core.become_prospective()


def test_a_lost_election_waits_on_and_a_lost_leader_waits_anew() -> None:
    core = core_of(Election(3))
    core.become_prospective()
    assert isinstance(core.role, Prospective)
    deadline = core.role.election_deadline
    core.now += 500
    core.become_unattached(3)
    assert isinstance(core.role, Unattached)
    assert core.role.election_deadline == deadline
    core.become_follower(5, 2, listeners_of(2))
    core.become_unattached(6)
    assert isinstance(core.role, Unattached)
    assert core.role.election_deadline is not None
    assert core.now + 1000 <= core.role.election_deadline < core.now + 2000


def test_who_has_resigned_votes_for_nobody_else_in_its_epoch() -> None:
    core = core_of(Election(3, 1))
    assert isinstance(core.role, Resigned)
    with pytest.raises(ValueError, match="Prospective of epoch 3 from"):
        core.become_prospective()
    core.become_unattached(4)
    core.become_prospective()
    assert core.epoch == 4


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(
            ["unattached", "follower", "prospective", "candidate", "lead", "resigned", "vote"]
        ),
        st.integers(0, 2),
        st.sampled_from([ME, TWO, THREE]),
    ),
    max_size=30,
)


@given(CHANGES)
def test_epochs_never_fall_and_a_vote_is_given_once(
    changes: list[tuple[str, int, ReplicaKey]],
) -> None:
    core = core_of()
    votes: dict[int, ReplicaKey] = {}
    leaders: dict[int, int] = {}
    for kind, more, other in changes:
        epoch = core.epoch
        try:
            match kind:
                case "unattached":
                    core.become_unattached(epoch + more)
                case "follower":
                    leader = leaders.get(epoch + more, other.id)
                    core.become_follower(epoch + more, leader, listeners_of(leader))
                case "prospective":
                    core.become_prospective()
                case "candidate":
                    core.become_candidate()
                case "lead" if isinstance(core.role, Candidate):
                    core.role = Leader(epoch, ME.id, (), 0, core.role.tally.granted, None)
                case "resigned":
                    core.become_resigned()
                case "vote":
                    core.vote(other)
        except ValueError:
            assert core.epoch == epoch
        assert core.epoch >= epoch
        if core.voted is not None:
            assert votes.setdefault(core.epoch, core.voted) == core.voted
        if core.leader_id is not None:
            assert leaders.setdefault(core.epoch, core.leader_id) == core.leader_id
        kept = saved(core)
        if not isinstance(core.role, Leader | Resigned):
            assert kept.epoch == core.epoch
            assert kept.voted == core.voted


def test_what_is_kept_has_the_voters() -> None:
    core = core_of(Election(3))
    (effect,) = core.effects
    assert effect == SaveElection(Election(3), 0, (1, 2, 3))


def test_an_observer_waits_for_no_election_after_a_start_either() -> None:
    for election in (Election(3), Election(3, 9)):
        core = core_of(election, voters=VOTERS.removing(ME))
        assert isinstance(core.role, Unattached)
        assert core.role.election_deadline is None


def test_followers_of_a_leader_that_dies_do_not_stand_at_the_same_moment() -> None:
    """With the same timers both stood at once, and split the votes in half of the fail-overs."""
    deadlines = set()
    for chance in range(20):
        core = core_of(Election(3, 2), log_epoch=3, chance=chance, fetch_spread_ms=200)
        follower = core.role
        assert isinstance(follower, Follower)
        assert 0 <= follower.fetch_deadline - core.now - core.config.fetch_timeout_ms < 200
        before, core.now = follower.fetch_deadline, core.now + 100
        note_fetched(core, follower)
        assert follower.fetch_deadline == before + 100, "one draw for each leader"
        deadlines.add(before)
    assert len(deadlines) > 10
