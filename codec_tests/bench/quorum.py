"""Commits a second and time to fail over: three nodes of ours beside three of Kafka's controllers.

    python -m bench.quorum [--rounds 20]

Both are processes on this machine with Kafka's default timeouts, asked over loopback by the same
kind of client: ours to put a key, Kafka's to set a configuration, which is one record and one
commit (IncrementalAlterConfigs to the active controller, KIP-919). In flight means that so many
connections each wait for a commit. A fail-over is the time from kill -9 of the leader to the next
commit that somebody is told of. In turns, so that both meet the same noise.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Protocol

from kraftwire.net.client import Connection
from kraftwire_messages.kafka import IncrementalAlterConfigsRequest
from kraftwire_wire.errors import KraftwireError

from chaos.processes import Cluster
from interop.kafka_connection import HOST
from interop.kafka_server import KafkaCluster, kafka_cluster

SECONDS = 5.0
IN_FLIGHT = (1, 256)
WITHIN_S = 30.0
_BROKERS = 4
"""The type of the resource whose settings are those of all brokers."""

Commit = Callable[[], Awaitable[None]]


class System(Protocol):
    """A quorum that commits."""

    name: str

    async def client(self) -> Commit:
        """A connection to the leader; what commits one record over it, `OSError` where not."""
        ...

    async def kill_leader(self) -> Callable[[], None]:
        """kill -9; what starts it again."""
        ...


class Ours:
    """Nodes with the example of keys and values."""

    name = "kraftwire"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._keys = itertools.count()

    async def client(self) -> Commit:
        """See `System`."""
        node = await self._cluster.leader()
        if node is None:
            raise ConnectionError("nobody leads")
        reader, writer = await asyncio.open_connection(HOST, node.key_port)

        async def commit() -> None:
            writer.write(f"put {next(self._keys) % 1000} value\n".encode())
            if not (await reader.readline()).startswith(b"ok "):
                raise ConnectionError("it does not lead any more")

        return commit

    async def kill_leader(self) -> Callable[[], None]:
        """See `System`."""
        node = await self._cluster.leader()
        assert node is not None, "it has just committed"
        await asyncio.to_thread(node.kill)
        return node.start


class Kafkas:
    """Controllers without brokers."""

    name = "Kafka"

    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster
        self._values = itertools.count(1_000_000)
        self._port: int | None = None
        """Where the active controller is, as far as is known."""

    async def client(self) -> Commit:
        """See `System`."""
        if self._port is None:
            number = await asyncio.to_thread(self._leader)
            known = {one.number: one.ports["CONTROLLER"] for one in self._cluster.controllers}
            self._port = known[number]
        try:
            connection = await Connection.open(HOST, self._port)
        except OSError:
            self._port = None
            raise

        async def commit() -> None:
            value = str(next(self._values))
            config = IncrementalAlterConfigsRequest.AlterableConfig(
                name="log.retention.ms", config_operation=0, value=value
            )
            resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
                resource_type=_BROKERS, resource_name="", configs=[config]
            )
            response = await connection.ask(IncrementalAlterConfigsRequest(resources=[resource]))
            (answer,) = response.responses  # type: ignore[attr-defined]
            if answer.error_code:
                self._port = None
                raise ConnectionError(answer.error_message)

        return commit

    async def kill_leader(self) -> Callable[[], None]:
        """See `System`."""
        number = await asyncio.to_thread(self._leader)
        node = next(one for one in self._cluster.controllers if one.number == number)
        await asyncio.to_thread(node.kill)
        return node.start

    def _leader(self) -> int:
        """Who leads, of those that answer."""
        for node in self._cluster.controllers:
            with suppress(OSError):
                alone = KafkaCluster(self._cluster.directory, [node])
                leader = alone.leader()
                if leader is not None:
                    return leader
        raise ConnectionError("nobody leads")


async def rate(system: System, in_flight: int) -> float:
    """Commits a second."""
    commits = [await system.client() for _ in range(in_flight)]
    end, count = time.monotonic() + SECONDS, 0

    async def go_on(commit: Commit) -> None:
        nonlocal count
        while time.monotonic() < end:
            await commit()
            count += 1

    began = time.monotonic()
    await asyncio.gather(*map(go_on, commits))
    return count / (time.monotonic() - began)


async def first_commit(system: System) -> None:
    """Commit, as soon as somebody does."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            with suppress(OSError, KraftwireError, TimeoutError):
                async with asyncio.timeout(1):
                    await (await system.client())()
                    return
            await asyncio.sleep(0.01)


async def fail_over(system: System) -> float:
    """Seconds from the end of the leader to the next commit."""
    await first_commit(system)
    again = await system.kill_leader()
    began = time.monotonic()
    await first_commit(system)
    took = time.monotonic() - began
    again()
    await asyncio.sleep(SECONDS)  # it comes up, and catches up
    return took


async def measure(systems: list[System], rounds: int) -> None:
    """Print the table."""
    print(f"{'system':12}{'in flight':>10}{'commits/s':>12}")
    for in_flight in IN_FLIGHT:
        for system in systems:
            await first_commit(system)
            found = max([await rate(system, in_flight) for _ in range(3)])
            print(f"{system.name:12}{in_flight:>10}{found:>12,.0f}", flush=True)
    took: dict[str, list[float]] = {system.name: [] for system in systems}
    for _ in range(rounds):
        for system in systems:
            took[system.name].append(await fail_over(system))
    print(f"{'system':12}{'fail-overs':>10}{'median s':>12}{'worst s':>10}")
    for name, times in took.items():
        print(f"{name:12}{rounds:>10}{statistics.median(times):>12.2f}{max(times):>10.2f}")


async def with_ours(directory: Path, kafka: KafkaCluster, rounds: int) -> None:
    """Measure both."""
    cluster = Cluster(directory)
    await cluster.start()
    try:
        await measure([Ours(cluster), Kafkas(kafka)], rounds)
    finally:
        await cluster.stop()


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="fail-overs")
    said = parser.parse_args()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kafka = stack.enter_context(kafka_cluster(controllers=3, brokers=0))
        asyncio.run(with_ours(directory / "ours", kafka, said.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
