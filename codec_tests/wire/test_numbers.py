"""Names for the protocol's numbers: the values that never change, and none that is missing."""

from __future__ import annotations

import pickle

import pytest

import kraftwire_wire
from kraftwire_messages.kafka import registry
from kraftwire_wire import ApiKey, ErrorCode

ERRORS = [
    ("UNKNOWN_SERVER_ERROR", -1),
    ("NONE", 0),
    ("OFFSET_OUT_OF_RANGE", 1),
    ("NOT_LEADER_OR_FOLLOWER", 6),
    ("UNSUPPORTED_VERSION", 35),
    ("FENCED_LEADER_EPOCH", 74),
    ("UNKNOWN_TOPIC_ID", 100),
    ("INCONSISTENT_CLUSTER_ID", 104),
    ("INVALID_VOTER_KEY", 125),
    ("DUPLICATE_VOTER", 126),
    ("VOTER_NOT_FOUND", 127),
]
API_KEYS = [
    ("PRODUCE", 0),
    ("FETCH", 1),
    ("METADATA", 3),
    ("CONTROLLED_SHUTDOWN", 7),
    ("API_VERSIONS", 18),
    ("VOTE", 52),
    ("BEGIN_QUORUM_EPOCH", 53),
    ("END_QUORUM_EPOCH", 54),
    ("DESCRIBE_QUORUM", 55),
    ("FETCH_SNAPSHOT", 59),
    ("ADD_RAFT_VOTER", 80),
    ("REMOVE_RAFT_VOTER", 81),
    ("UPDATE_RAFT_VOTER", 82),
]


@pytest.mark.parametrize(("name", "number"), ERRORS)
def test_error_codes(name: str, number: int) -> None:
    assert ErrorCode[name] == number
    assert ErrorCode(number).name == name


@pytest.mark.parametrize(("name", "number"), API_KEYS)
def test_api_keys(name: str, number: int) -> None:
    assert ApiKey[name] == number
    assert ApiKey(number).name == name


def test_every_api_key_of_the_registry_has_a_name() -> None:
    assert set(registry.api_keys) <= set(ApiKey)


@pytest.mark.parametrize("api_key", registry.api_keys)
def test_names_of_api_keys_are_those_of_the_requests(api_key: int) -> None:
    request = registry.request(api_key).__name__.removesuffix("Request")
    assert ApiKey(api_key).name.replace("_", "") == request.upper()


def test_error_codes_have_no_gap() -> None:
    codes = sorted(ErrorCode)
    assert codes == list(range(-1, len(codes) - 1))


def test_names_go_where_numbers_go() -> None:
    assert registry.request(ApiKey.VOTE) is registry.request(52)
    assert pickle.loads(pickle.dumps(ErrorCode.NONE)) is ErrorCode.NONE


def test_the_package_has_no_other_attributes_on_demand() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = kraftwire_wire.Nonsense
