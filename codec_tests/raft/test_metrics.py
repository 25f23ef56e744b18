"""Metrics: one test for each name."""

from __future__ import annotations

from uuid import UUID

import pytest

from kraftwire.raft.core.inputs import Propose, Resign
from kraftwire.raft.core.messages import remove_raft_voter_request
from kraftwire.raft.replica import Replica
from kraftwire.raft.self_description.metrics import metrics_of
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import ReplicaKey

from codec_tests.raft.replicas import (
    CLUSTER,
    ME,
    THREE,
    TWO,
    VOTERS,
    ask,
    elected,
    fetched,
    replica_of,
)
from codec_tests.raft.voter_changes import begun

OF_LEADERS = {
    "number-of-observers",
    "uncommitted-voter-change",
    "number-of-possible-voters",
    "pending-add-voter",
    "pending-remove-voter",
}


def metric(replica: Replica, name: str) -> int | str:
    return metrics_of(replica.core)[name]


def standing(election: Election) -> Replica:
    replica = replica_of(election)
    replica.core.become_prospective()
    return replica


def candidate() -> Replica:
    replica = standing(Election(3))
    replica.core.become_candidate()
    return replica


def resigned() -> Replica:
    replica = elected()
    replica.step(5000, Resign())
    return replica


def test_current_state() -> None:
    states = {
        "leader": elected(),
        "prospective": standing(Election(3)),
        "prospective-voted": standing(Election(3, None, TWO)),
        "candidate": candidate(),
        "unattached-voted": replica_of(Election(3, None, TWO)),
        "follower": replica_of(Election(3, 2)),
        "observer": replica_of(Election(3, 2), voters=VOTERS.removing(ME)),
        "unattached": replica_of(Election(3)),
    }
    for state, replica in states.items():
        assert metric(replica, "current-state") == state
    assert metric(resigned(), "current-state") == "unattached"


def test_current_leader() -> None:
    replicas = [elected(), replica_of(Election(3, 2)), replica_of(Election(3))]
    assert [metric(one, "current-leader") for one in replicas] == [1, 2, -1]


def test_current_vote() -> None:
    voted = replica_of(Election(3, None, TWO))
    replicas = [elected(), candidate(), voted, replica_of(Election(3))]
    assert [metric(one, "current-vote") for one in replicas] == [1, 1, 2, -1]


def test_current_vote_directory_id() -> None:
    voted = replica_of(Election(3, None, TWO))
    found = [metric(one, "current-vote-directory-id") for one in (elected(), voted)]
    assert found == ["AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"]
    nobody = metric(replica_of(Election(3)), "current-vote-directory-id")
    assert nobody == "AAAAAAAAAAAAAAAAAAAAAA"


def test_current_epoch() -> None:
    assert metric(elected(), "current-epoch") == 4


def test_high_watermark() -> None:
    replica = elected()
    assert metric(replica, "high-watermark") == replica.core.log.end
    assert metric(replica_of(Election(3, 2)), "high-watermark") == -1


def test_log_end_offset() -> None:
    replica = elected()
    end = replica.core.log.end
    replica.step(5000, Propose("p", [b"a", b"b"]))
    assert metric(replica, "log-end-offset") == end + 2


def test_log_end_epoch() -> None:
    assert metric(elected(), "log-end-epoch") == 4


def test_number_unknown_voter_connections() -> None:
    assert metric(elected(), "number-unknown-voter-connections") == 0


def test_number_of_voters() -> None:
    replica = elected()
    assert metric(replica, "number-of-voters") == 3
    ask(replica, remove_raft_voter_request(CLUSTER, THREE))
    assert metric(replica, "number-of-voters") == 2


def test_ignored_static_voters() -> None:
    assert metric(elected(), "ignored-static-voters") == 0, "there are none"
    static = replica_of(Election(3), kraft_version=0, static_voters=VOTERS)
    assert metric(static, "ignored-static-voters") == 0
    ignored = replica_of(Election(3), static_voters=VOTERS.removing(TWO))
    assert metric(ignored, "ignored-static-voters") == 1


@pytest.mark.parametrize("replica", [replica_of(Election(3, 2)), candidate(), resigned()])
def test_only_leaders_know_of_others(replica: Replica) -> None:
    assert metrics_of(elected().core).keys() - metrics_of(replica.core).keys() == OF_LEADERS


def test_number_of_observers() -> None:
    replica = elected()
    assert metric(replica, "number-of-observers") == 0
    fetched(replica, ReplicaKey(4))
    assert metric(replica, "number-of-observers") == 1


def test_number_of_possible_voters() -> None:
    replica = elected()
    fetched(replica, ReplicaKey(4))
    assert metric(replica, "number-of-possible-voters") == 0, "it has told no directory"
    fetched(replica, ReplicaKey(5, UUID(int=5)))
    assert metric(replica, "number-of-possible-voters") == 1


def test_uncommitted_voter_change() -> None:
    replica = elected()
    assert metric(replica, "uncommitted-voter-change") == 0
    begun(replica)
    assert metric(replica, "uncommitted-voter-change") == 1


def test_pending_add_voter() -> None:
    replica = elected()
    assert metric(replica, "pending-add-voter") == 0
    begun(replica)
    assert (metric(replica, "pending-add-voter"), metric(replica, "pending-remove-voter")) == (1, 0)


def test_pending_remove_voter() -> None:
    replica = elected()
    assert metric(replica, "pending-remove-voter") == 0
    ask(replica, remove_raft_voter_request(CLUSTER, THREE))
    assert (metric(replica, "pending-add-voter"), metric(replica, "pending-remove-voter")) == (0, 1)
