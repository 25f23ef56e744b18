"""Nodes in one process that speak to one another over loopback, their logs in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from kraftwire.address import Address
from kraftwire.net.server import Endpoint
from kraftwire.node.key_value import KeyValues
from kraftwire.node.node import Node, NodeSettings
from kraftwire.raft.membership import policy_of
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.metadata_log.store import Store
from kraftwire.raft.state.config import Config, Membership
from kraftwire.raft.state.voters import Listener, ReplicaKey, Voter, VoterSet

from codec_tests.held_ports import HOST, held_port

LISTENER = "CONTROLLER"
WITHIN_S = 30.0


class Cluster:
    """Voters 1 to n by static configuration, on ports that are known before they start."""

    def __init__(
        self, voters: int, observers: int = 0, membership: Membership = Membership.SHIPPED
    ) -> None:
        self.membership = membership
        ports = [held_port() for _ in range(voters + observers)]
        self.addresses = {number + 1: Address(HOST, port) for number, port in enumerate(ports)}
        self.voters = VoterSet(
            Voter(ReplicaKey(number), (self._listener(number),)) for number in range(1, voters + 1)
        )
        self.stores: dict[int, Store] = {}
        self.nodes: dict[int, Node] = {}

    def _listener(self, number: int) -> Listener:
        return Listener(LISTENER, *self.addresses[number])

    def config(self, number: int) -> Config:
        return Config(
            key=ReplicaKey(number, UUID(int=number)),
            cluster_id="a cluster",
            listeners=(self._listener(number),),
            default_listener=LISTENER,
            static_voters=self.voters,
            membership=self.membership,
            election_timeout_ms=200,
            fetch_timeout_ms=2000,
            fetch_max_wait_ms=200,
            retry_backoff_ms=20,
            shutdown_ms=500,
        )

    async def start(self, number: int, store: Store | None = None, **settings: int) -> Node:
        """Start a node with the store that it had before, or another."""
        if store is not None or number not in self.stores:
            registry = policy_of(self.config(number)).registry
            self.stores[number] = store or MemoryStore(self.voters, registry)

        def config_of(ports: Mapping[str, int]) -> Config:
            del ports  # they are known
            return self.config(number)

        endpoint = Endpoint(LISTENER, *self.addresses[number])
        node = Node(
            config_of,
            self.stores[number],
            KeyValues(),
            NodeSettings(endpoints=(endpoint,), **settings),  # type: ignore[arg-type]
        )
        await node.start()
        self.nodes[number] = node
        return node

    async def stop(self, number: int) -> None:
        await self.nodes.pop(number).close()

    async def leader(self) -> Node:
        """The node that leads, as soon as one does."""
        await until(lambda: any(node.leads for node in self.nodes.values()))
        return max(self.nodes.values(), key=lambda node: node.leads or 0)


@asynccontextmanager
async def cluster(
    voters: int,
    observers: int = 0,
    membership: Membership = Membership.SHIPPED,
    *,
    absent: int = 0,
) -> AsyncIterator[Cluster]:
    """A cluster whose voters run, except the last `absent` ones."""
    one = Cluster(voters, observers, membership)
    try:
        for number in range(1, voters - absent + 1):
            await one.start(number)
        yield one
    finally:
        await asyncio.gather(*(node.close() for node in one.nodes.values()))


def run(work: Coroutine[Any, Any, None], within_s: float = WITHIN_S) -> None:
    """Run to the end, in a bounded time."""

    async def bounded() -> None:
        async with asyncio.timeout(within_s):
            await work

    asyncio.run(bounded())


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    while not is_so():
        await asyncio.sleep(0.005)


def keys_of(node: Node) -> dict[str, str]:
    """What the state machine of a node has."""
    assert isinstance(node.machine, KeyValues)
    return node.machine.values
