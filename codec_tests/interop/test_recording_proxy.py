"""What clients of the proxy see; `test_librdkafka` tests what it records."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kraftwire_messages.kafka import (
    ApiVersionsResponse,
    DescribeClusterResponse,
    FetchResponse,
    FindCoordinatorResponse,
    MetadataResponse,
    ProduceResponse,
    registry,
)
from kraftwire_wire.message import Message

from codec_tests.interop.recording_proxy import NEWEST, RecordingProxy, Route, rewrite_response

BROKER = ("127.0.0.1", 9092)
PROXY = ("127.0.0.1", 19092)


def seen(message: Message, version: int, level: int = NEWEST) -> Any:
    """Return a response as the client gets it."""
    asked = registry.request_header(message, version, correlation_id=1)
    route = Route({BROKER: PROXY}, level, {1: 2}, Counter())
    data = rewrite_response(registry.encode_response(asked, message), asked, route)
    return registry.decode_response(data, asked)[1]


def where(struct: Any) -> tuple[str, int]:
    return struct.host, struct.port


def test_addresses_of_brokers_become_the_proxys() -> None:
    host, port = BROKER
    broker = MetadataResponse.MetadataResponseBroker(node_id=1, host=host, port=port)
    assert where(seen(MetadataResponse(brokers=[broker]), 12).brokers[0]) == PROXY
    assert where(seen(FindCoordinatorResponse(host=host, port=port), 2)) == PROXY
    coordinator = FindCoordinatorResponse.Coordinator(key="g", host=host, port=port)
    found = seen(FindCoordinatorResponse(coordinators=[coordinator]), 4)
    assert where(found.coordinators[0]) == PROXY
    member = DescribeClusterResponse.DescribeClusterBroker(broker_id=1, host=host, port=port)
    assert where(seen(DescribeClusterResponse(brokers=[member]), 1).brokers[0]) == PROXY


def test_addresses_of_new_leaders_become_the_proxys() -> None:
    host, port = BROKER
    leader = ProduceResponse.NodeEndpoint(node_id=1, host=host, port=port)
    assert where(seen(ProduceResponse(node_endpoints=[leader]), 10).node_endpoints[0]) == PROXY
    other = FetchResponse.NodeEndpoint(node_id=1, host=host, port=port)
    assert where(seen(FetchResponse(node_endpoints=[other]), 16).node_endpoints[0]) == PROXY


def test_other_addresses_stay() -> None:
    assert where(seen(FindCoordinatorResponse(host="elsewhere", port=1), 2)) == ("elsewhere", 1)


def test_versions_above_the_level_are_hidden() -> None:
    apis = [
        ApiVersionsResponse.ApiVersion(api_key=key, min_version=0, max_version=13) for key in (1, 3)
    ]
    answer = seen(ApiVersionsResponse(api_keys=apis), 0, level=4)
    ranges = [(api.api_key, api.min_version, api.max_version) for api in answer.api_keys]
    assert ranges == [(1, 4, 6), (3, 0, 4)]  # Fetch begins at 4, and is an exception of the route


def test_what_cannot_be_read_is_passed_on() -> None:
    asked = registry.request_header(MetadataResponse(), 12, correlation_id=1)
    route = Route({}, NEWEST, {}, Counter())
    assert rewrite_response(b"\0\0\0\1garbage", asked, route) == b"\0\0\0\1garbage"


def test_it_listens_on_a_port_of_its_own_for_every_broker_and_closes() -> None:
    with RecordingProxy([BROKER, ("127.0.0.1", 9093)]) as proxy:
        first, second = proxy.listen(), proxy.listen()
    addresses = [*first.addresses.values(), *second.addresses.values()]
    assert len(set(addresses)) == 4
    assert {host for host, _ in addresses} == {"127.0.0.1"}
    assert first.bootstrap.count(",") == 1
