"""Connections to other nodes: bounded, closed when idle, those of voters kept longest."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kraftwire.address import Address
from kraftwire.net.calls import Call
from kraftwire.net.limits import Limits
from kraftwire.net.security import PLAINTEXT
from kraftwire.net.server import Endpoint, Server
from kraftwire.node.known_peers import KnownPeers
from kraftwire.node.peers import Peers
from kraftwire.raft.core.effects import Send
from kraftwire.raft.core.inputs import RequestFailed, Response
from kraftwire.raft.state.voters import Listener, ReplicaKey, Voter, VoterSet

from codec_tests.net.servers import APIS, in_loop, vote
from codec_tests.net.servers import answer as answer_vote
from codec_tests.node.clusters import until

_SOME = Limits(peer_connections=3)


class Asker:
    """Peers, and what became of each request."""

    def __init__(self, *known: Address, limits: Limits = _SOME, timeout_ms: int = 20_000) -> None:
        self.answered: set[int] = set()
        self.failed: set[int] = set()
        listeners = tuple(Listener("CONTROLLER", *address) for address in known)
        voters = VoterSet([Voter(ReplicaKey(1), listeners)])
        self.known = KnownPeers((), lambda: voters)
        self.peers = Peers(PLAINTEXT, "test", timeout_ms, self._take, self.known, limits)

    def _take(self, what: Response | RequestFailed) -> None:
        (self.answered if isinstance(what, Response) else self.failed).add(what.number)

    def ask(self, number: int, address: Address) -> None:
        self.peers.send(Send(number, address, vote(1)))

    async def asked(self, number: int, address: Address) -> None:
        self.ask(number, address)
        await until(lambda: number in self.answered)


class Town:
    """A server on all of loopback; it answers unless it is told to be silent."""

    def __init__(self) -> None:
        everywhere = Endpoint("CONTROLLER", "0.0.0.0", 0)
        self.server = Server([everywhere], APIS, self._handle)
        self.is_silent = False

    def _handle(self, call: Call) -> None:
        if not self.is_silent:
            answer_vote(call)

    def address(self, number: int) -> Address:
        return Address(f"127.0.2.{number}", self.server.ports["CONTROLLER"])


@asynccontextmanager
async def town() -> AsyncIterator[Town]:
    one = Town()
    await one.server.start()
    try:
        yield one
    finally:
        await one.server.close()


@in_loop
async def test_a_new_address_takes_the_place_of_the_one_used_least_recently() -> None:
    async with town() as there:
        asker = Asker()
        for number in (1, 2, 3, 1, 4):
            await asker.asked(10 + number, there.address(number))
        await until(lambda: there.server.connections == 3)
        assert len(asker.peers) == 3
        before = there.server.connections
        await asker.asked(20, there.address(1))
        assert there.server.connections == before, "its connection was kept"
        await asker.peers.close()


@in_loop
async def test_voters_keep_their_connections() -> None:
    async with town() as there:
        asker = Asker(there.address(1))
        for number in range(1, 20):
            await asker.asked(number, there.address(number))
        assert asker.known.is_known(there.address(1))
        assert {one.host for one in asker.peers._peers} >= {"127.0.2.1"}
        assert len(asker.peers) == 3
        await asker.peers.close()


@in_loop
async def test_requests_that_lose_their_place_fail() -> None:
    async with town() as there:
        asker = Asker()
        there.is_silent = True
        for number in range(50):
            asker.ask(number, there.address(number + 1))
        await until(lambda: len(asker.failed) == 47)
        await until(lambda: there.server.connections <= 3)
        assert asker.failed == set(range(47))
        await asker.peers.close()


@in_loop
async def test_requests_to_one_address_do_not_pile_up() -> None:
    async with town() as there:
        asker = Asker()
        there.is_silent = True
        for number in range(100):
            asker.ask(number, there.address(1))
        await until(lambda: len(asker.failed) >= 92)
        await asker.peers.close()


@in_loop
async def test_connections_that_are_not_used_are_closed() -> None:
    async with town() as there:
        asker = Asker(limits=Limits(idle_s=0.1))
        await asker.asked(1, there.address(1))
        assert there.server.connections == 1
        await until(lambda: there.server.connections == 0)
        assert len(asker.peers) == 0
        await asker.asked(2, there.address(1))
        await asker.peers.close()


@pytest.mark.parametrize("host", ["a\0b", "x" * 64, "x" * 10_000, "a\nb"])
def test_an_address_that_cannot_be_is_a_request_that_failed(
    host: str, caplog: pytest.LogCaptureFixture
) -> None:
    @in_loop
    async def scene() -> None:
        asker = Asker()
        asker.ask(1, Address(host, 9092))
        await until(lambda: asker.failed == {1})
        await asker.peers.close()

    scene()
    (line,) = caplog.records
    assert all(len(str(value)) < 300 for value in (vars(line)["node"], vars(line)["why"]))
    assert "\n" not in vars(line)["node"]


class _Lines(logging.Handler):
    """Counts lines."""

    count = 0

    def emit(self, _: logging.LogRecord) -> None:
        self.count += 1


@in_loop
async def test_nodes_that_do_not_answer_are_a_few_lines_a_minute() -> None:
    lines = _Lines()
    logging.getLogger("kraftwire.node.peers").addHandler(lines)
    try:
        asker = Asker(limits=Limits())
        for number in range(300):
            asker.ask(number, Address(f"127.0.3.{number % 250 + 1}", 1))
        await until(lambda: len(asker.failed) == 300)
        await asker.peers.close()
    finally:
        logging.getLogger("kraftwire.node.peers").removeHandler(lines)
    assert 0 < lines.count <= 30


def test_hosts_of_voters_are_known_by_their_network_address() -> None:
    def of(*hosts: str) -> VoterSet:
        return VoterSet(
            Voter(ReplicaKey(number), (Listener("C", host, 9092),))
            for number, host in enumerate(hosts)
        )

    voters = [of("10.0.0.1", "voter.example", "::ffff:10.0.0.3")]
    known = KnownPeers([Address("10.0.0.9", 1)], lambda: voters[0])
    assert known.is_host_known("10.0.0.1")
    assert known.is_host_known("::ffff:10.0.0.1")
    assert known.is_host_known("10.0.0.3")
    assert known.is_host_known("10.0.0.9")
    assert not known.is_host_known("10.0.0.2")
    known.note_reached(Address("stranger.example", 9092), "10.0.0.2")
    assert not known.is_host_known("10.0.0.2")
    known.note_reached(Address("voter.example", 9092), "10.0.0.2")
    assert known.is_host_known("10.0.0.2")
    voters[0] = of("10.0.0.4")
    assert known.is_host_known("10.0.0.4")
    assert not known.is_host_known("10.0.0.2")
    assert not known.is_known(Address("10.0.0.4", 1))
