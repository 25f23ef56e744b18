"""The rules of matching."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.capture.replay.matching import BOUND, POLLED, RULES, MatchRules, distance, is_polled
from kraftwire_messages.kafka import HeartbeatRequest, MetadataRequest, registry
from kraftwire_wire.message import Message, Struct

REQUESTS = [registry.request(key) for key in registry.api_keys]


def has_path(message: type[Message], path: str) -> bool:
    struct: type[Struct] = message
    for step in path.split("."):
        field = next((one for one in struct.LAYOUT.fields if one.name == step), None)
        if field is None:
            return False
        if field.is_struct:
            struct = field.struct_class(message)
    return True


@pytest.mark.parametrize(
    ("pattern", "path"), [(messages, path) for messages, paths in RULES.items() for path in paths]
)
def test_every_rule_is_about_a_field(pattern: str, path: str) -> None:
    named = [one for one in REQUESTS if fnmatchcase(one.__name__, pattern)]
    assert any(has_path(one, path) for one in named)


def test_bound_names_name_volatile_fields() -> None:
    for name, path in BOUND.items():
        assert has_path(registry.message(name), path)
        assert MatchRules().is_volatile(name, path)


def test_polled_patterns_match_apis() -> None:
    apis = [one.__name__.removesuffix("Request") for one in REQUESTS]
    for pattern in POLLED:
        assert any(fnmatchcase(api, pattern) for api in apis), pattern


@pytest.mark.parametrize("api", ["Produce", "JoinGroup", "OffsetCommit", "CreateTopics", "EndTxn"])
def test_requests_that_change_something_are_not_polled(api: str) -> None:
    assert not is_polled(api)


@given(st.lists(st.text(max_size=5), max_size=5))
def test_lists_are_compared_regardless_of_order(names: list[str]) -> None:
    def asked(of: list[str]) -> MetadataRequest:
        topic = MetadataRequest.MetadataRequestTopic
        return MetadataRequest(topics=[topic(name=name) for name in of])

    rules = MatchRules()
    assert rules.shape(asked(names), (12,)) == rules.shape(asked(names[::-1]), (12,))
    more = rules.shape(asked([*names, "more"]), (12,))
    assert more.fixed != rules.shape(asked(names), (12,)).fixed


def test_distance_counts_differing_volatile_fields() -> None:
    rules = MatchRules()
    recorded = rules.shape(HeartbeatRequest(generation_id=1, member_id="m"), (4,))
    living = rules.shape(HeartbeatRequest(generation_id=2, member_id="me"), (4,))
    assert recorded.fixed == living.fixed
    assert distance(living, recorded) == 2
    assert distance(living, recorded, {"m": "me"}) == 1


@pytest.mark.parametrize("message", REQUESTS)
def test_every_request_has_a_shape(message: type[Message]) -> None:
    versions = message.VALID_VERSIONS
    for version in {versions[0], versions[-1]}:
        shape = MatchRules().shape(message(), (version, versions[-1]))
        hash(shape.fixed)
