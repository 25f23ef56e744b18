"""KIP-951, the new leader in responses of Fetch and Produce: messages, and how replicas use it.

Shipped Kafka tells where leaders listen once in each response, in newer versions.
"""

from __future__ import annotations

from typing import Any

import pytest

from kraftwire.raft.core.inputs import Request, Response
from kraftwire.raft.core.messages import fetch_request, partition_of
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import Listener
from kraftwire_messages.kafka import FetchRequest, FetchResponse, ProduceResponse
from kraftwire_messages.kip_951 import FetchResponse as DraftFetchResponse
from kraftwire_messages.kip_951 import ProduceResponse as DraftProduceResponse
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.followers import follower
from codec_tests.raft.message_fields import fields, tagged
from codec_tests.raft.replicas import (
    CLUSTER,
    LISTENER,
    THREE,
    fetch_response,
    replica_of,
    reply_in,
    sent,
)

FETCHED, PRODUCED = "responses.partitions", "responses.partition_responses"

# -- messages ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "version", "place"),
    [
        (DraftFetchResponse, 15, f"{FETCHED}.current_leader"),
        (DraftFetchResponse, 15, f"{FETCHED}.current_leader_broker"),
        (DraftProduceResponse, 9, f"{PRODUCED}.current_leader"),
        (DraftProduceResponse, 9, f"{PRODUCED}.current_leader_broker"),
    ],
)
def test_the_leader_is_told_without_a_newer_version(
    kind: type[Message], version: int, place: str
) -> None:
    """KIP-951, FetchResponse and ProduceResponse: in tagged fields of the newest version."""
    assert kind.VALID_VERSIONS[-1] == version
    assert place in tagged(kind, version)


@pytest.mark.parametrize(
    ("kind", "place"), [(DraftFetchResponse, FETCHED), (DraftProduceResponse, PRODUCED)]
)
def test_host_port_and_rack_of_the_leader_are_told(kind: type[Message], place: str) -> None:
    """KIP-951, FetchResponse and ProduceResponse."""
    names = {f"{place}.current_leader_broker.leader_{what}" for what in ("host", "port", "rack")}
    assert names < fields(kind, kind.VALID_VERSIONS[-1])


@pytest.mark.parametrize("rack", [None, "rack"])
def test_a_leader_that_is_not_told_takes_no_bytes(rack: str | None) -> None:
    """KIP-951, FetchResponse."""
    partition = DraftFetchResponse.PartitionData(records=b"")
    topic = DraftFetchResponse.FetchableTopicResponse(partitions=[partition])
    response = DraftFetchResponse(responses=[topic])
    without = response.encode(15)
    broker = DraftFetchResponse.BrokerInfo(leader_host="h", leader_port=9092, leader_rack=rack)
    partition.current_leader_broker = broker
    encoded = response.encode(15)
    assert len(encoded) > len(without)
    assert DraftFetchResponse.decode(encoded, 15) == response
    assert DraftFetchResponse.decode(without, 15).responses[0].partitions[0] != partition


@pytest.mark.parametrize(("kind", "version"), [(FetchResponse, 16), (ProduceResponse, 10)])
def test_shipped_responses_tell_where_leaders_listen_once(
    kind: type[Message], version: int
) -> None:
    """KIP-951, FetchResponse and ProduceResponse. Shipped: node_endpoints, tagged."""
    assert "node_endpoints" in tagged(kind, version)
    assert "node_endpoints" not in fields(kind, version - 1)
    assert not any("broker" in name for name in fields(kind, version))


# -- replicas ---------------------------------------------------------------------------------


def asked(election: Election, version: int, listener: str = LISTENER) -> Any:
    """What a replica that does not lead answers a Fetch in epoch 3."""
    message = fetch_request(CLUSTER, THREE, 3, OffsetAndEpoch(0, 0), 0, max_wait_ms=0, max_bytes=1)
    request = Request("asked", message, version, listener)
    return reply_in(replica_of(election).step(5000, request))


def test_who_does_not_lead_tells_who_does_and_where() -> None:
    """KIP-951, FetchResponse. Shipped: from version 17 on."""
    response = asked(Election(3, 2), 17)
    partition = partition_of(response)
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (2, 3)
    assert [(one.node_id, one.port, one.rack) for one in response.node_endpoints] == [
        (2, 9002, None)
    ]


@pytest.mark.parametrize(
    ("election", "listener"),
    [(Election(3), LISTENER), (Election(3, 2), "OTHER")],
    ids=["no leader", "another listener"],
)
def test_what_is_not_known_is_not_told(election: Election, listener: str) -> None:
    """KIP-951, FetchResponse."""
    assert asked(election, 17, listener).node_endpoints == []


def test_a_replica_asks_the_new_leader_next_where_that_listens() -> None:
    """KIP-951, FetchResponse."""
    replica = follower()
    (fetch,) = sent(replica.start(), FetchRequest)
    response = fetch_response(5, 3, ErrorCode.NOT_LEADER_OR_FOLLOWER, host="new", port=7)
    (send,) = sent(replica.step(5000, Response(fetch.number, response)), FetchRequest)
    assert send.address == ("new", 7)
    assert replica.core.leader_listeners == (Listener(LISTENER, "new", 7),)
