"""What a replica says that it speaks, and what it does with what it does not speak."""

from __future__ import annotations

import pytest

from kraftwire.raft.core.effects import Disconnect
from kraftwire.raft.core.inputs import Request, Response
from kraftwire.raft.replica import _HANDLERS
from kraftwire.raft.self_description.api_versions import APIS
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import Voter
from kraftwire_messages.kafka import ApiVersionsRequest, ProduceRequest, registry
from kraftwire_wire.numbers import ApiKey

from codec_tests.raft.replicas import LISTENER, ME, ask, elected, listeners_of, replica_of
from codec_tests.raft.voter_changes import FOUR, begun


def test_each_api_that_is_spoken_has_a_handler_and_all_its_versions() -> None:
    for key, versions in APIS.items():
        kind = registry.request(key)
        assert kind in _HANDLERS
        assert set(versions) <= set(kind.VALID_VERSIONS)
    assert len(APIS) == len(_HANDLERS)


def test_what_a_replica_says_that_it_speaks() -> None:
    for replica in (elected(), replica_of(Election(3, 2))):
        response = ask(replica, ApiVersionsRequest(), 4)
        spoken = {one.api_key: (one.min_version, one.max_version) for one in response.api_keys}
        assert spoken[ApiKey.FETCH] == (17, 18)
        assert spoken[ApiKey.VOTE] == (1, 2)
        assert len(spoken) == len(APIS)
        (feature,) = response.supported_features
        assert (feature.name, feature.min_version, feature.max_version) == ("kraft.version", 0, 1)


@pytest.mark.parametrize(("version", "count"), [(0, 0), (3, 0), (4, 1)])
def test_earlier_clients_are_told_no_feature_that_begins_at_0(version: int, count: int) -> None:
    response = ask(replica_of(Election(3)), ApiVersionsRequest(), version)
    assert len(response.supported_features) == count


def test_a_leader_finds_another_replica_ready() -> None:
    leader = elected()
    question = begun(leader)
    answer = ask(replica_of(Election(3)), question.message, 4)
    leader.step(5000, Response(question.number, answer))
    assert leader.core.voters.find(FOUR) == Voter(FOUR, listeners_of(4), 0, 1)


def test_what_no_replica_speaks_ends_the_connection() -> None:
    replica = elected()
    effects = replica.step(5000, Request("produce", ProduceRequest(), 11, LISTENER))
    assert effects == [Disconnect("produce")]
    assert replica.core.key == ME
