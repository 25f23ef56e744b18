"""Endpoints that nodes announce: what cannot be connected to is refused, wherever it is said."""

from __future__ import annotations

import pytest

from kraftwire.raft.core import messages
from kraftwire.raft.core.inputs import Response
from kraftwire.raft.core.listeners import MOST_LISTENERS, announced_problem, listeners_problem
from kraftwire.raft.core.roles import Follower
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import Listener, Voter
from kraftwire_messages.kafka import FetchRequest, FetchResponse, UpdateRaftVoterResponse
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.replicas import (
    CLUSTER,
    LISTENER,
    ME,
    THREE,
    TWO,
    ask,
    elected,
    fetch_response,
    fetched,
    listeners_of,
    replica_of,
    sent,
)
from codec_tests.raft.voter_changes import FOUR

BAD = {
    "NUL": ("a\0b", 9092),
    "a long label": ("x" * 64, 9092),
    "a long name": ("x." * 127, 9092),
    "an empty label": ("a..b", 9092),
    "no host": ("", 9092),
    "a line": ("a\nERROR all is lost", 9092),
    "an escape": ("\x1b[2J", 9092),
    "a blank": ("a b", 9092),
    "a slash": ("http://a", 9092),
    "a surrogate": ("\ud800", 9092),
    "a bidirectional override": ("a\u202eb", 9092),
    "port 0": ("host", 0),
    "a port too high": ("host", 65535 + 1),
    "a negative port": ("host", -1),
}
GOOD = ["localhost", "127.0.0.1", "::1", "fe80::1%eth0", "kafka_1", "b\u00fccher.example", "a.b."]

NEVER_SENT = {"a surrogate", "a port too high", "a negative port"}
"""No request has room for those: a port has 16 bits there, and a host is UTF-8."""
SENT = {name: one for name, one in BAD.items() if name not in NEVER_SENT}

bad = pytest.mark.parametrize(("host", "port"), BAD.values(), ids=BAD)
bad_and_sent = pytest.mark.parametrize(("host", "port"), SENT.values(), ids=SENT)


@pytest.mark.parametrize("host", GOOD)
def test_hosts_that_can_be_looked_up_are_taken(host: str) -> None:
    assert listeners_problem([Listener(LISTENER, host, 1)]) is None


@pytest.mark.parametrize("name", ["", "a b", "\0", "x" * 256, "\u017f"])
def test_names_of_listeners_are_names(name: str) -> None:
    problem = listeners_problem([Listener(name, "host", 1)])
    assert problem is not None
    assert problem.endswith("is not the name of a listener.")
    assert len(problem) < 200


def test_a_node_has_not_any_number_of_listeners() -> None:
    many = [Listener(f"L{number}", "host", 1) for number in range(MOST_LISTENERS + 1)]
    assert listeners_problem(many[1:]) is None
    assert listeners_problem(many) == "A node has at most 32 listeners, not 33."


@bad
def test_what_is_said_of_it_is_short_and_printable(host: str, port: int) -> None:
    problem = listeners_problem([Listener(LISTENER, host, port)])
    assert problem is not None
    assert problem.isascii()
    assert problem.isprintable()
    assert len(problem) < 250


def unchanged(replica: Replica) -> tuple[int, int | None]:
    return replica.core.epoch, replica.core.leader_id


@bad_and_sent
def test_a_leader_is_not_followed_there(host: str, port: int) -> None:
    replica = replica_of(Election(4))
    before = unchanged(replica)
    said = (Listener(LISTENER, "host", 1), Listener("OTHER", host, port))
    begin = ask(replica, messages.begin_quorum_epoch_request(CLUSTER, TWO.id, ME, 5, said))
    assert begin.error_code == ErrorCode.INVALID_REQUEST
    end = ask(replica, messages.end_quorum_epoch_request(CLUSTER, TWO.id, 5, (), said))
    assert end.error_code == ErrorCode.INVALID_REQUEST
    assert unchanged(replica) == before
    sound = messages.begin_quorum_epoch_request(CLUSTER, TWO.id, ME, 5, listeners_of(2))
    assert not ask(replica, sound).error_code
    assert isinstance(replica.core.role, Follower)


@bad_and_sent
def test_a_voter_is_not_added_there(host: str, port: int) -> None:
    replica = elected()
    fetched(replica, FOUR)
    end = replica.core.log.end
    voter = Voter(FOUR, (Listener(LISTENER, host, port),))
    response = ask(
        replica,
        messages.add_raft_voter_request(CLUSTER, voter, timeout_ms=1000, ack_when_committed=True),
    )
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.error_message.startswith(f"Listener {LISTENER} cannot be reached: ")
    assert replica.core.log.end == end


@bad_and_sent
def test_a_voter_is_not_updated_to_there(host: str, port: int) -> None:
    replica = elected()
    before = replica.core.voters
    voter = Voter(TWO, (*listeners_of(2), Listener("OTHER", host, port)), 0, 1)
    response = ask(replica, messages.update_raft_voter_request(CLUSTER, replica.core.epoch, voter))
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert replica.core.voters is before


@bad_and_sent
def test_a_response_that_names_a_leader_there_counts_as_silent_about_it(
    host: str, port: int
) -> None:
    replica = replica_of(Election(4, leader_id=2))
    (fetch,) = sent(replica.start(), FetchRequest)
    error = ErrorCode.FENCED_LEADER_EPOCH
    response = fetch_response(5, 3, error, host=host, port=port)
    again = FetchResponse.decode(response.encode(18), 18)
    assert messages.partition_of(again) is not None
    replica.step(5000, Response(fetch.number, again))
    # The voter set knows where replica 3 listens.
    assert replica.core.leader_listeners == listeners_of(THREE.id)
    assert announced_problem(again) is not None


def test_what_the_answer_to_an_update_announces_is_checked_too() -> None:
    told = UpdateRaftVoterResponse.CurrentLeader(leader_id=1, leader_epoch=1, host="a\0b", port=1)
    assert announced_problem(UpdateRaftVoterResponse(current_leader=told)) is not None
    assert announced_problem(UpdateRaftVoterResponse()) is None
