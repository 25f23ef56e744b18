"""Addresses are found by schema, and nothing else of a message changes."""

from __future__ import annotations

import random

import pytest

from kraftwire.capture.addresses import addresses_in, rewrite_addresses
from kraftwire_messages.kafka import (
    FindCoordinatorResponse,
    MetadataResponse,
    StreamsGroupHeartbeatResponse,
    registry,
)

from codec_tests.strategies import random_message, same

PROXY = ("proxy", 1)

# Written from the KIPs: where a response says where a broker or controller is.
WITH_ADDRESSES = {
    "MetadataResponse": 0,
    "FindCoordinatorResponse": 0,
    "DescribeClusterResponse": 0,
    "ProduceResponse": 10,
    "FetchResponse": 16,
    "ShareFetchResponse": 1,
    "ShareAcknowledgeResponse": 1,
    "DescribeQuorumResponse": 2,
    "FetchSnapshotResponse": 1,
    "VoteResponse": 1,
    "BeginQuorumEpochResponse": 1,
    "EndQuorumEpochResponse": 1,
    "UpdateRaftVoterResponse": 0,
}
"""Responses, and their first version with an address."""


@pytest.mark.parametrize("name", [name for name in registry if name.endswith("Response")])
def test_addresses_of_brokers_are_found_by_schema(name: str) -> None:
    cls, rng, found = registry.message(name), random.Random(name), set()
    for version in cls.VALID_VERSIONS:
        for _ in range(30):
            message = random_message(cls, version, rng)
            before = message.encode(version)
            if rewrite_addresses(message, lambda *_: PROXY):
                found.add(version)
                again = cls.decode(message.encode(version), version)
                assert {*addresses_in(again)} == {PROXY}
            else:
                assert message.encode(version) == before
    expected = WITH_ADDRESSES.get(name)
    versions = range(0) if expected is None else range(expected, cls.VALID_VERSIONS.stop)
    assert found == {version for version in versions if version in cls.VALID_VERSIONS}


def test_the_rest_of_a_message_is_unchanged() -> None:
    rng = random.Random(7)
    for name in WITH_ADDRESSES:
        cls = registry.message(name)
        version = cls.VALID_VERSIONS[-1]
        for _ in range(20):
            message = random_message(cls, version, rng, unknown_tags=True)
            there: dict[tuple[str, int], tuple[str, int]] = {}
            back: dict[tuple[str, int], tuple[str, int]] = {}
            for number, address in enumerate(addresses_in(message)):
                there[address], back["proxy", number + 1] = ("proxy", number + 1), address
            before = message.encode(version)
            rewrite_addresses(message, lambda *one, there=there: there.get(one))
            rewrite_addresses(message, lambda *one, back=back: back.get(one))
            assert message.encode(version) == before
            assert same(message, cls.decode(before, version))


def test_addresses_without_a_replacement_are_kept() -> None:
    message = FindCoordinatorResponse(host="elsewhere", port=9092)
    assert not rewrite_addresses(message, lambda *_: None)
    assert not rewrite_addresses(message, lambda host, port: (host, port))
    assert (message.host, message.port) == ("elsewhere", 9092)


def test_a_placeholder_for_no_address_is_not_an_address() -> None:
    assert addresses_in(FindCoordinatorResponse(host="", port=-1)) == []


def test_addresses_are_unique_and_in_order() -> None:
    brokers = [
        MetadataResponse.MetadataResponseBroker(node_id=number, host=host, port=9092)
        for number, host in enumerate(("b", "a", "b"))
    ]
    assert addresses_in(MetadataResponse(brokers=brokers)) == [("b", 9092), ("a", 9092)]


def test_endpoints_of_kafka_streams_are_not_brokers() -> None:
    endpoint = StreamsGroupHeartbeatResponse.Endpoint(host="app", port=80)
    entry = StreamsGroupHeartbeatResponse.EndpointToPartitions(user_endpoint=endpoint)
    message = StreamsGroupHeartbeatResponse(partitions_by_user_endpoint=[entry])
    assert addresses_in(message) == []
    assert not rewrite_addresses(message, lambda *_: PROXY)
