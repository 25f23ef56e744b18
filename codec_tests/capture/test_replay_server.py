"""The listeners of a replay, over sockets on this machine."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from random import Random
from typing import Any

import pytest

from kraftwire.address import Address
from kraftwire.capture.replay.replay import Replay
from kraftwire.capture.replay.server import ReplayServer, ReplayThread, TooManyBrokers
from kraftwire_messages.kafka import (
    DeleteTopicsRequest,
    MetadataResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
    registry,
)
from kraftwire_wire.framing import add_size

from codec_tests.capture.replaying import (
    batch,
    cassette,
    fetch,
    fetched,
    metadata,
    produce,
    produced,
    values_of,
)
from codec_tests.interop.kafka_connection import Connection

A_BATCH = batch(0, b"one")


def test_a_client_bootstraps_and_finds_every_broker() -> None:
    asked, answered, version = metadata("tea")
    other = MetadataResponse.MetadataResponseBroker(node_id=2, host="10.0.0.2", port=9092)
    assert isinstance(answered, MetadataResponse)
    answered.brokers.append(other)
    with ReplayThread(cassette((asked, answered, version))) as replay:
        with Connection(replay.address.port) as connection:
            brokers = connection.ask(asked, version).brokers
        ports = {broker.port for broker in brokers}
        assert {broker.host for broker in brokers} == {"127.0.0.1"}
        assert len(ports | {replay.address.port}) == 3
        for port in ports:
            with Connection(port) as connection:
                assert connection.ask(asked, version).brokers == brokers


def test_a_fetch_waits_until_something_is_produced() -> None:
    frames = cassette((produce(A_BATCH), produced(0), 9), (fetch(0), fetched(A_BATCH), 12))
    waiting: Any = fetch(0)
    waiting.max_wait_ms = 20_000
    found: list[bytes] = []
    with ReplayThread(frames) as replay:

        def read() -> None:
            with Connection(replay.address.port) as connection:
                found.extend(values_of(connection.ask(waiting, 12)))

        reader = threading.Thread(target=read)
        reader.start()
        with Connection(replay.address.port) as connection:
            connection.ask(produce(A_BATCH), 9)
        reader.join(10)
    assert found == [b"one"]


def test_a_miss_closes_only_its_connection() -> None:
    asked, answered, version = metadata("tea")
    with (
        ReplayThread(cassette((asked, answered, version))) as replay,
        Connection(replay.address.port) as good,
        Connection(replay.address.port) as bad,
    ):
        good.ask(asked, version)
        with pytest.raises(ConnectionError):
            bad.ask(DeleteTopicsRequest(topic_names=["a"]), 5)
        good.ask(asked, version)
        assert [miss.api for miss in replay.replay.misses] == ["DeleteTopics"]


def test_tokens_without_a_header_are_answered() -> None:
    handshake = SaslHandshakeRequest(mechanism="PLAIN")
    asked, answered, version = metadata("tea")
    frames = cassette((handshake, SaslHandshakeResponse(), 0), (asked, answered, version))
    with ReplayThread(frames) as replay, Connection(replay.address.port) as connection:
        connection.ask(handshake, 0)
        connection._socket.sendall(add_size(b"\0alice\0wonder"))
        assert connection._receive(4) == bytes(4)
        connection.ask(asked, version)
        assert replay.replay.misses == []


class Waiting:
    """A writer to a client; every answer has to be waited for before the next."""

    def __init__(self) -> None:
        self.answers = self.waits = 0

    def get_extra_info(self, _: str) -> tuple[str, int]:
        return "127.0.0.1", 1

    def write(self, _: bytes) -> None:
        assert self.answers == self.waits, "a client that reads nothing fills the memory"
        self.answers += 1

    async def drain(self) -> None:
        self.waits += 1


def test_a_client_that_sends_tokens_and_reads_nothing_is_slowed_down() -> None:
    handshake = SaslHandshakeRequest(mechanism="PLAIN")
    asked, *_ = frames = cassette((handshake, SaslHandshakeResponse(), 0))
    writer = Waiting()

    async def send() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(add_size(asked.data) + add_size(b"token") * 50)
        reader.feed_eof()
        server = ReplayServer(Replay(frames, registry))
        await server._answer_all(reader, writer)  # type: ignore[arg-type]

    asyncio.run(send())
    assert writer.answers == writer.waits == 51


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
        struct.pack(">i", -1),
        struct.pack(">i", 0),
        struct.pack(">i", 0x7FFFFFFF) + b"x" * 1000,
        struct.pack(">i", 100) + b"cut off",
        add_size(Random(1).randbytes(500)) * 20,
    ],
    ids=["nothing", "a byte", "HTTP", "a size below 0", "size 0", "2 GiB", "cut off", "noise"],
)
def test_hostile_clients_do_not_stop_it(data: bytes) -> None:
    asked, answered, version = metadata("tea")
    with ReplayThread(cassette((asked, answered, version))) as replay:
        for _ in range(5):
            with socket.create_connection(replay.address, 10) as hostile:
                hostile.sendall(data)
        with Connection(replay.address.port) as connection:
            connection.ask(asked, version)


def test_a_port_in_use_is_reported() -> None:
    with ReplayThread(cassette(metadata("tea"))) as replay:
        server = ReplayServer(Replay([], registry))
        with pytest.raises(OSError, match="in use"):
            asyncio.run(server.start(Address("127.0.0.1", replay.address.port)))


def test_a_cassette_of_a_thousand_brokers_is_refused() -> None:
    pairs = [metadata("tea", port=port) for port in range(1, 1001)]
    with pytest.raises(TooManyBrokers, match="1000 brokers"), ReplayThread(cassette(*pairs)):
        pass
