"""Commits per second and time to fail over: three of our nodes, compared with Kafka's raft.

    python -m codec_tests.bench.quorum [--rounds 20]

All are processes on this machine with the same key-value state machine and the same clients.
Kafka's is its raft without the controller (`RaftKeyValues.java`). "In flight" is the number of
connections that each wait for a commit. Kafka's leader by default waits up to 25 ms for more
records, and is also measured without that. A fail-over is the time from kill -9 of the leader to
the next acknowledged commit, with default timeouts. The systems take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from codec_tests.chaos.processes import Cluster, Kind
from codec_tests.interop.kafka_connection import HOST

SECONDS = 5.0
ROUNDS = 5
"""Of each rate; the best counts."""
IN_FLIGHT = (1, 256)
WITHIN_S = 30.0

Commit = Callable[[], Awaitable[None]]


class System:
    """Three nodes of one kind; `fails_over` says whether fail-overs are measured."""

    def __init__(
        self, name: str, directory: Path, kind: Kind, *, fails_over: bool = True, **settings: str
    ) -> None:
        self.name = name
        self.fails_over = fails_over
        given = {key.replace("_", "."): value for key, value in settings.items()}
        self.cluster = Cluster(directory / name, [kind] * 3, with_taps=False, settings=given)
        self._keys = itertools.count()

    async def client(self) -> Commit:
        """Connect to the leader; return a call that commits one record, or raises `OSError`."""
        node = await self.cluster.leader()
        if node is None:
            raise ConnectionError("no node leads")
        reader, writer = await asyncio.open_connection(HOST, node.key_port)

        async def commit() -> None:
            writer.write(f"put {next(self._keys) % 1000} value\n".encode())
            if not (await reader.readline()).startswith(b"ok "):
                raise ConnectionError("it no longer leads")

        return commit

    async def kill_leader(self) -> Callable[[], None]:
        """Kill the leader with kill -9; return what starts it again."""
        node = await self.cluster.leader()
        assert node is not None, "it has just committed"
        await asyncio.to_thread(node.kill)
        return node.start


async def rate(system: System, in_flight: int) -> float:
    """Return commits per second."""
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
    """Repeat until a commit succeeds."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(1):
                    await (await system.client())()
                    return
            await asyncio.sleep(0.01)


async def fail_over(system: System) -> float:
    """Return the seconds from the leader's end to the next commit."""
    await first_commit(system)
    again = await system.kill_leader()
    began = time.monotonic()
    await first_commit(system)
    took = time.monotonic() - began
    again()
    await asyncio.sleep(SECONDS)  # it restarts and catches up
    return took


async def measure_rates(systems: Sequence[System]) -> None:
    print(f"{'system':24}{'in flight':>10}{'best/s':>10}{'median/s':>10}")
    for in_flight in IN_FLIGHT:
        found: dict[str, list[float]] = {system.name: [] for system in systems}
        for _ in range(ROUNDS):
            for system in systems:
                await first_commit(system)
                found[system.name].append(await rate(system, in_flight))
        for name, rates in found.items():
            best, median = max(rates), statistics.median(rates)
            print(f"{name:24}{in_flight:>10}{best:>10,.0f}{median:>10,.0f}", flush=True)


async def measure_fail_overs(systems: Sequence[System], rounds: int) -> None:
    took: dict[str, list[float]] = {system.name: [] for system in systems}
    for _ in range(rounds):
        for system in systems:
            took[system.name].append(await fail_over(system))
    print(f"{'system':24}{'fail-overs':>10}{'median s':>10}{'worst s':>10}")
    for name, times in took.items():
        print(f"{name:24}{rounds:>10}{statistics.median(times):>10.2f}{max(times):>10.2f}")


async def measure(directory: Path, rounds: int) -> None:
    without = {"controller_quorum_append_linger_ms": "0"}
    systems = [
        System("kraftwire", directory, "ours"),
        System("Kafka's raft", directory, "kafka"),
        System("Kafka's without linger", directory, "kafka", fails_over=False, **without),
    ]
    async with AsyncExitStack() as stack:
        for system in systems:
            await system.cluster.start()
            stack.push_async_callback(system.cluster.stop)
        await measure_rates(systems)
        await measure_fail_overs([one for one in systems if one.fails_over], rounds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="fail-overs")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(measure(Path(directory), said.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
