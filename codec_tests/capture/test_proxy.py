"""The proxy between a client and scripted brokers: what passes, and what is recorded."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from kraftwire.address import Address
from kraftwire.capture.decoding.decoder import decode_frames
from kraftwire.capture.proxy.listeners import MAX_LISTENERS
from kraftwire.capture.proxy.proxy import ProxyThread
from kraftwire.net.security import ClientSecurity, ServerSecurity, Tls
from kraftwire.redaction import REDACTED_BYTES
from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    ProduceRequest,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
    registry,
)
from kraftwire_wire.framing import add_size

from codec_tests.capture.proxy_upstreams import (
    HOST,
    Peer,
    Recorded,
    client,
    metadata,
    proxying,
    say_versions,
    scene,
    upstream,
)
from codec_tests.held_ports import held_port
from codec_tests.net.certificates import Authority
from codec_tests.net.servers import in_loop, number_of, serving, vote

PASSWORD = b"\0user\0hunter2-and-more"


async def silent(_: bytes, __: Peer) -> None:
    """Answer nothing."""


@in_loop
async def test_a_broker_that_a_response_names_gets_a_listener() -> None:
    recorded = Recorded()
    async with upstream(say_versions) as second:

        async def name_both(request: bytes, peer: Peer) -> None:
            peer.answer(request, metadata(peer.writer.get_extra_info("sockname"), second))

        async with upstream(name_both) as first, proxying(first, record=recorded) as (proxy, own):
            async with client(own) as peer:
                seen = await peer.receive_for(peer.ask(MetadataRequest(), 12))
                again = await peer.receive_for(peer.ask(MetadataRequest(), 12, 2))
            one, two = ((broker.host, broker.port) for broker in seen.brokers)
            assert one == own, "the broker that clients bootstrap at has a listener already"
            assert two not in (first, second, own)
            assert again == seen
            assert (seen.cluster_id, seen.unknown_tagged_fields) == ("c", [(900, b"kept")])
            async with client(two) as peer:
                await peer.receive_for(peer.ask(ApiVersionsRequest(), 0))
    assert proxy.problems == []
    brokers = [(frame.connection, frame.broker) for frame in recorded.frames]
    assert brokers == [(1, str(first))] * 4 + [(2, str(second))] * 2
    decoded = list(decode_frames(recorded.frames, registry))
    assert all(one.encodes_back(registry) for one in decoded)
    named = decoded[1].message.brokers  # type: ignore[union-attr]
    assert [(one.host, one.port) for one in named] == [first, second], "as the broker sent it"


@in_loop
async def test_responses_without_brokers_pass_unchanged() -> None:
    answers = [b"\0\0\0\1\0\0\0\0\0\0", bytes(4) + bytes(range(200))]

    async def odd(_: bytes, peer: Peer) -> None:
        peer.send(answers.pop(0))

    recorded = Recorded()
    async with scene(odd, record=recorded) as (proxy, _, peer):
        expected = list(answers)
        peer.ask(ApiVersionsRequest(), 0, 1)
        assert await peer.receive() == expected[0]
        peer.ask(MetadataRequest(), 12, 0)
        assert await peer.receive() == expected[1]
    assert recorded.data("response") == expected
    (problem,) = proxy.problems
    assert "passed on unchanged: Metadata version 12" in problem


@in_loop
async def test_a_leniently_readable_response_is_rewritten_too() -> None:
    async def with_trailing_bytes(request: bytes, peer: Peer) -> None:
        header, _ = registry.decode_request_header(request)
        peer.send(registry.encode_response(header, metadata(("b", 9092))) + b"\0")

    async with scene(with_trailing_bytes) as (proxy, _, peer):
        seen = await peer.receive_for(peer.ask(MetadataRequest(), 12))
        assert seen.brokers[0].host == HOST
    assert proxy.problems == []


@in_loop
async def test_pipelined_requests_keep_their_order_and_acks_0_has_no_response() -> None:
    async def answer(request: bytes, peer: Peer) -> None:
        header, message = registry.decode_request(request)
        if not isinstance(message, ProduceRequest):
            peer.answer(request, ApiVersionsResponse(throttle_time_ms=header.correlation_id))

    recorded = Recorded()
    async with scene(answer, record=recorded) as (proxy, _, peer):
        headers = []
        for number in range(200):
            if number % 3 == 0:
                peer.ask(ProduceRequest(acks=0), 9, 1000 + number)
            headers.append(peer.ask(ApiVersionsRequest(), 2, number))
        seen = [await peer.receive_for(header) for header in headers]
    assert [one.throttle_time_ms for one in seen] == list(range(200))
    assert len(recorded.frames) == 467
    assert all(one.error is None for one in decode_frames(recorded.frames, registry))
    assert proxy.problems == []


@pytest.mark.parametrize("redacts", [True, False])
@in_loop
async def test_logins_pass_and_are_recorded_without_passwords(redacts: bool) -> None:
    async def log_in(request: bytes, peer: Peer) -> None:
        if request[:2] == b"\0\x11":
            peer.answer(request, SaslHandshakeResponse(mechanisms=["PLAIN"]))
        elif request[:2] == b"\0\x24":
            peer.answer(request, SaslAuthenticateResponse(auth_bytes=request[-8:]))
        else:
            peer.send(request)

    recorded = Recorded()
    async with (
        upstream(log_in) as broker,
        proxying(broker, record=recorded, redact=redacts) as (proxy, own),
    ):
        async with client(own) as peer:
            await peer.receive_for(peer.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1))
            header = peer.ask(SaslAuthenticateRequest(auth_bytes=PASSWORD), 1, 2)
            assert (await peer.receive_for(header)).auth_bytes == PASSWORD[-8:]
        async with client(own) as peer:  # KIP-43: tokens without headers
            await peer.receive_for(peer.ask(SaslHandshakeRequest(mechanism="PLAIN"), 0))
            peer.send(PASSWORD)
            assert await peer.receive() == PASSWORD
    assert proxy.problems == []
    raw = b"".join(frame.data for frame in recorded.frames)
    assert raw.count(PASSWORD) == (0 if redacts else 3)
    assert all(one.error is None for one in decode_frames(recorded.frames, registry))
    paths = [frame.redacted for frame in recorded.frames if frame.redacted]
    assert paths == ([("auth_bytes",)] * 2 + [("*",)] * 2 if redacts else [])
    assert (REDACTED_BYTES in raw) == redacts


@in_loop
async def test_the_proxy_speaks_tls_for_its_clients(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    server_side = ServerSecurity(tls=Tls(certificates=authority.issue("broker")))
    security = ClientSecurity(tls=Tls(authorities=authority.file))
    async with serving(security=server_side) as server:
        broker = Address(HOST, server.ports["CONTROLLER"])
        async with proxying(broker, security=security) as (proxy, own), client(own) as peer:
            assert number_of(await peer.receive_for(peer.ask(vote(42), 2))) == 42
        assert proxy.problems == []
        async with proxying(broker) as (proxy, own), client(own) as peer:
            peer.ask(vote(42), 2)
            assert await peer.is_hung_up_on()
        (problem,) = proxy.problems
        assert str(broker) in problem


# -- what goes wrong -----------------------------------------------------------------------


@in_loop
async def test_a_client_is_disconnected_if_the_broker_refuses() -> None:
    async with upstream(silent) as gone:
        pass
    async with proxying(gone) as (proxy, own), client(own) as peer:
        assert await peer.is_hung_up_on()
        async with client(own) as other:
            assert await other.is_hung_up_on()
    (problem,) = proxy.problems
    assert problem.startswith(f"{gone}: no connection: ")


@in_loop
async def test_a_broker_that_leaves_requests_unanswered_is_reported() -> None:
    async def hang_up(_: bytes, peer: Peer) -> None:
        peer.close()

    async with upstream(hang_up) as broker, proxying(broker) as (proxy, own), client(own) as peer:
        peer.ask(ApiVersionsRequest(), 0)
        assert await peer.is_hung_up_on()
    assert proxy.problems == [f"{broker} closed a connection and left requests unanswered"]


@in_loop
async def test_clients_may_connect_and_disconnect() -> None:
    recorded = Recorded()
    async with upstream(silent) as broker, proxying(broker, record=recorded) as (proxy, own):
        async with client(own):
            pass
        async with client(own) as peer:
            peer.ask(ApiVersionsRequest(), 0)
            peer.writer.write(b"\0\0\0\x09half")
        async with client(own) as peer:
            peer.ask(ApiVersionsRequest(), 0)
            peer.writer.transport.abort()
        while len(recorded.frames) < 2:
            await asyncio.sleep(0)
    assert proxy.problems == []


@in_loop
async def test_a_half_closed_client_gets_its_responses() -> None:
    async with scene(say_versions) as (_, __, peer):
        headers = [peer.ask(ApiVersionsRequest(), 0, number) for number in range(50)]
        peer.writer.write_eof()
        for header in headers:
            await peer.receive_for(header)
        assert await peer.is_hung_up_on()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00", "speaks TLS, where plaintext was expected"),
        (b"GET / HTTP/1.1\r\n", "a frame of more than 104857600 is not passed on"),
        (b"\xff\xff\xff\xff", "frame of -1 bytes"),
        (add_size(b"\0\x12\0\0\0\0\0\1\xff\xff") + b"\x7f\xff\xff\xff", "frame of 2147483647"),
    ],
)
@in_loop
async def test_an_invalid_frame_ends_only_its_connection(data: bytes, told: str) -> None:
    async with scene(say_versions) as (proxy, own, peer), client(own) as other:
        peer.writer.write(data)
        await peer.is_hung_up_on()
        await other.receive_for(other.ask(ApiVersionsRequest(), 0))
    (problem,) = proxy.problems
    assert told in problem
    assert problem.startswith("client 127.0.0.1:")


@in_loop
async def test_random_frames_pass_and_stop_nothing() -> None:
    rng = random.Random(5)

    async def echo(request: bytes, peer: Peer) -> None:
        peer.send(request)

    recorded = Recorded()
    async with upstream(echo) as broker, proxying(broker, record=recorded) as (_, own):
        for _ in range(20):
            async with client(own) as peer:
                for _ in range(20):
                    frame = b"\0" + rng.randbytes(1) + b"\0" + rng.randbytes(rng.randrange(40))
                    peer.send(frame)
                    assert await peer.receive() == frame
    assert len(recorded.frames) == 800


@in_loop
async def test_a_client_that_does_not_read_slows_the_broker_down() -> None:
    size, count, sent = 1 << 20, 64, 0

    async def flood(request: bytes, peer: Peer) -> None:
        nonlocal sent
        assert request
        for _ in range(count):
            peer.send(bytes(size))
            await peer.writer.drain()
            sent += 1

    recorded = Recorded()
    async with scene(flood, record=recorded) as (_, __, peer):
        peer.ask(ApiVersionsRequest(), 0)
        before = -1
        while before != len(recorded.frames) or not sent:  # until nothing moves any more
            before = len(recorded.frames)
            for _ in range(200):
                await asyncio.sleep(0)
        assert sent < count
        for _ in range(count):
            assert len(await peer.receive()) == size
    assert sent == count


@in_loop
async def test_closing_ends_every_connection() -> None:
    async with upstream(silent) as broker, proxying(broker) as (proxy, own), client(own) as peer:
        peer.ask(ApiVersionsRequest(), 0)
        while not proxy.connections:
            await asyncio.sleep(0)
        await proxy.close()
        assert await peer.is_hung_up_on()
        with pytest.raises(OSError):
            await asyncio.open_connection(*own)


@in_loop
async def test_brokers_with_impossible_addresses_get_no_listener() -> None:
    named = [("b" * 300, 9092), ("..", 9092), ("b\0", 9092), ("b", 70_000), (HOST, 1)]
    named += [("\u00e9" * 200, 1), ("", 5), ("b", -1)]

    async def name_all(request: bytes, peer: Peer) -> None:
        peer.answer(request, metadata(*named))

    async with scene(name_all) as (proxy, _, peer):
        seen = await peer.receive_for(peer.ask(MetadataRequest(), 12))
        addresses = [(one.host, one.port) for one in seen.brokers]
        assert addresses[-2:] == named[-2:]
        for address in addresses[:-2]:
            async with client(address) as other:
                assert await other.is_hung_up_on()
        await peer.receive_for(peer.ask(MetadataRequest(), 12, 2))
    assert len(proxy.problems) == len(named) - 2
    assert all(": no connection: " in problem for problem in proxy.problems)


@in_loop
async def test_the_number_of_listeners_is_limited() -> None:
    async def name_many(request: bytes, peer: Peer) -> None:
        peer.answer(request, metadata(*((f"b{number}", 9092) for number in range(300))))

    async with scene(name_many) as (proxy, _, peer):
        seen = await peer.receive_for(peer.ask(MetadataRequest(), 12))
    kept = [one.host for one in seen.brokers if one.port == 9092]
    assert kept == [f"b{number}" for number in range(MAX_LISTENERS - 1, 300)]
    assert len(proxy.problems) == len(kept)


@in_loop
async def test_a_broker_with_an_untrusted_certificate_is_reported(tmp_path: Path) -> None:
    server_side = ServerSecurity(tls=Tls(certificates=Authority(tmp_path).issue("broker")))
    other = Authority(tmp_path, "other")
    security = ClientSecurity(tls=Tls(authorities=other.file))
    async with serving(security=server_side) as server:
        broker = Address(HOST, server.ports["CONTROLLER"])
        async with proxying(broker, security=security) as (proxy, own), client(own) as peer:
            assert await peer.is_hung_up_on()
    (problem,) = proxy.problems
    assert problem.startswith(f"{broker}: no connection: ")
    assert "certificate verify failed" in problem


# -- listeners -----------------------------------------------------------------------------


@in_loop
async def test_listeners_use_the_free_ports_of_a_range() -> None:
    free = held_port()
    named = [(f"broker-{number}", 9092) for number in range(2)]

    async def name_all(request: bytes, peer: Peer) -> None:
        peer.answer(request, metadata(*named))

    async with scene(name_all, ports=range(free, free + 1)) as (proxy, _, peer):
        seen = await peer.receive_for(peer.ask(MetadataRequest(), 12))
    got = [(one.host, one.port) for one in seen.brokers]
    assert got == [(HOST, free), named[1]]
    assert proxy.problems == [
        "the address broker-1:9092 is not replaced, since it has no listener:"
        f" no port of {free}-{free} is free"
    ]


@in_loop
async def test_an_address_of_the_proxy_itself_is_kept() -> None:
    named: list[tuple[str, int]] = []

    async def name_proxy(request: bytes, peer: Peer) -> None:
        peer.answer(request, metadata(*named))

    async with scene(name_proxy) as (proxy, own, peer):
        named.append(own)
        seen = await peer.receive_for(peer.ask(MetadataRequest(), 12))
    assert (seen.brokers[0].host, seen.brokers[0].port) == own
    assert proxy.problems == []


def test_a_thread_serves_synchronous_callers() -> None:
    recorded = Recorded()
    with ProxyThread(Address(HOST, 1), record=recorded) as proxy:
        assert proxy.address.port > 0
        with (
            pytest.raises(OSError),
            ProxyThread(Address(HOST, 1), listen=proxy.address, record=recorded),
        ):
            pass
    assert proxy.problems == []
