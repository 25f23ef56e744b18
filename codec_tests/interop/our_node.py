"""Nodes of ours, alone or beside real controllers; they run in the process of the test."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self, TypeVar
from uuid import UUID

from click.testing import CliRunner

from kraftwire.address import Address
from kraftwire.cli.commands import main
from kraftwire.node.assembly import Assembly
from kraftwire.node.node import Node
from kraftwire.node.settings.properties import read_properties
from kraftwire.node.state_machine import NoRecords, StateMachine
from kraftwire.node.storage.directories import read_directory
from kraftwire.node.storage.formatting import LOG_NAME
from kraftwire.quorum.admin import Refused
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_wire.numbers import ErrorCode

from codec_tests.held_ports import held_port
from codec_tests.interop.kafka_connection import HOST
from codec_tests.interop.kafka_server import KafkaCluster

T = TypeVar("T")
WITHIN_S = 60.0
_DONE = (ErrorCode.DUPLICATE_VOTER, ErrorCode.VOTER_NOT_FOUND)
LOG = "00000000000000000000.log"


class OurNode:
    """A controller of ours; `directory` has its settings, and its data."""

    def __init__(
        self, directory: Path, number: int, cluster_id: str, settings: Mapping[str, str]
    ) -> None:
        """Writes its settings; `format` comes next."""
        self.number = number
        self.cluster_id = cluster_id
        self.port = held_port()
        self.directory = directory
        self.directory.mkdir()
        self.data = self.directory / "data"
        self.config = self.directory / "server.properties"
        told = {
            "process.roles": "controller",
            "node.id": str(number),
            "controller.quorum.bootstrap.servers": f"{HOST}:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"CONTROLLER://{HOST}:{self.port}",
            "log.dirs": str(self.data),
            **settings,
        }
        lines = [f"{key}={value}" for key, value in told.items()]
        self.config.write_text("\n".join(lines) + "\n", encoding="utf-8")

    @classmethod
    def beside(cls, cluster: KafkaCluster, number: int, **settings: str) -> Self:
        """One that is to join a cluster, formatted; in settings an underscore is a dot."""
        told = {name.replace("_", "."): value for name, value in settings.items()}
        bootstrap = {"controller.quorum.bootstrap.servers": cluster.bootstrap_controllers}
        directory = cluster.directory / f"ours_{number}"
        one = cls(directory, number, cluster.cluster_id, bootstrap | told)
        one.format("--no-initial-controllers")
        return one

    @property
    def address(self) -> Address:
        """Where it listens."""
        return Address(HOST, self.port)

    @property
    def directory_id(self) -> UUID:
        """The id of its directory."""
        found = read_directory(self.data).directory_id
        assert found is not None, "it is formatted"
        return found

    @property
    def key(self) -> ReplicaKey:
        """What it is known by, with the disk that it has."""
        return ReplicaKey(self.number, self.directory_id)

    def format(self, *options: str) -> None:
        """Make its directory that of a replica of the cluster."""
        command("storage", "format", "-t", self.cluster_id, "-c", str(self.config), *options)

    def lose_disk(self) -> None:
        """Begin with an empty directory, formatted anew."""
        shutil.rmtree(self.data)
        self.format("--no-initial-controllers")

    @asynccontextmanager
    async def running(self, machine: StateMachine | None = None) -> AsyncIterator[Node]:
        """The node, which is stopped behind the context."""
        assembly = Assembly(read_properties(self.config))
        with assembly.open_disk() as store:
            node = assembly.node(store, machine or NoRecords())
            await node.start()
            try:
                yield node
            finally:
                await node.close()

    @property
    def log(self) -> bytes:
        """Its first segment."""
        return first_segment(self.data)


def command(*arguments: str) -> str:
    """What a command of ours prints."""
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def first_segment(data: Path) -> bytes:
    """The first segment of the metadata log of a directory."""
    return (data / LOG_NAME / LOG).read_bytes()


def run(work: Coroutine[Any, Any, None], within_s: float = 4 * WITHIN_S) -> None:
    """Run to the end, in a bounded time."""

    async def bounded() -> None:
        async with asyncio.timeout(within_s):
            await work

    asyncio.run(bounded())


async def aside(work: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Do what waits in another thread, while nodes go on."""
    return await asyncio.to_thread(work, *arguments, **named)


async def caught_up(node: Node, cluster: KafkaCluster) -> None:
    """Wait until a node beside a cluster has what the leader has committed."""
    await until("our node knows what is committed", lambda: node.committed > 0)
    leader = await aside(cluster.wait_for_leader)
    end = len(first_segment(leader.directory / "data"))
    ours = cluster.directory / f"ours_{node.config.key.id}" / "data"
    await until("our log is as long", lambda: len(first_segment(ours)) >= end)


async def patiently(change: Callable[[], Awaitable[None]]) -> None:
    """Have a quorum change, which a real leader refuses while it speaks to the voter otherwise."""
    may_be_done = False
    async with asyncio.timeout(WITHIN_S):
        while True:
            try:
                return await change()
            except Refused as error:
                if may_be_done and error.error_code in _DONE:
                    return None
                if error.error_code != ErrorCode.REQUEST_TIMED_OUT:
                    raise
            may_be_done = True
            await asyncio.sleep(0.2)


async def until(what: str, is_so: Callable[[], bool], within_s: float = WITHIN_S) -> None:
    """Wait until something is so."""
    try:
        async with asyncio.timeout(within_s):
            while not is_so():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not within {within_s} s: {what}") from None
