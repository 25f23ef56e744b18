"""Our own controllers, alone or in a quorum with real ones; they run in the test's process."""

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
from codec_tests.interop.kafka_tools import write_properties

T = TypeVar("T")
WITHIN_S = 60.0
_DONE = (ErrorCode.DUPLICATE_VOTER, ErrorCode.VOTER_NOT_FOUND)
LOG = "00000000000000000000.log"


class OurNode:
    """One of our controllers; `directory` has its settings and its data."""

    def __init__(
        self, directory: Path, number: int, cluster_id: str, settings: Mapping[str, str]
    ) -> None:
        """Write the settings; call `format` next."""
        self.number = number
        self.cluster_id = cluster_id
        self.port = held_port()
        self.directory = directory
        self.directory.mkdir()
        self.data = self.directory / "data"
        self.config = self.directory / "server.properties"
        own = {
            "process.roles": "controller",
            "node.id": str(number),
            "controller.quorum.bootstrap.servers": f"{HOST}:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"CONTROLLER://{HOST}:{self.port}",
            "log.dirs": str(self.data),
            **settings,
        }
        write_properties(self.config, own)

    @classmethod
    def beside(cls, cluster: KafkaCluster, number: int, **settings: str) -> Self:
        """Return a formatted node that can join a cluster; in settings an underscore stands for a
        dot.
        """
        given = {name.replace("_", "."): value for name, value in settings.items()}
        bootstrap = {"controller.quorum.bootstrap.servers": cluster.bootstrap_controllers}
        directory = cluster.directory / f"ours_{number}"
        one = cls(directory, number, cluster.cluster_id, bootstrap | given)
        one.format("--no-initial-controllers")
        return one

    @property
    def address(self) -> Address:
        return Address(HOST, self.port)

    @property
    def directory_id(self) -> UUID:
        found = read_directory(self.data).directory_id
        assert found is not None, "it is formatted"
        return found

    @property
    def key(self) -> ReplicaKey:
        """The replica key with the present disk."""
        return ReplicaKey(self.number, self.directory_id)

    def format(self, *options: str) -> None:
        """Format its directory for the cluster."""
        command("storage", "format", "-t", self.cluster_id, "-c", str(self.config), *options)

    def lose_disk(self) -> None:
        """Replace the directory by a newly formatted one."""
        shutil.rmtree(self.data)
        self.format("--no-initial-controllers")

    @asynccontextmanager
    async def running(self, machine: StateMachine | None = None) -> AsyncIterator[Node]:
        """Run the node in this context."""
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
        """The content of its first segment."""
        return first_segment(self.data)


def command(*arguments: str) -> str:
    """Run a kraftwire command and return its output."""
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def first_segment(data: Path) -> bytes:
    """Return the first segment of the metadata log in a directory."""
    return (data / LOG_NAME / LOG).read_bytes()


def run(work: Coroutine[Any, Any, None], within_s: float = 4 * WITHIN_S) -> None:
    """Run a coroutine with a time limit."""

    async def bounded() -> None:
        async with asyncio.timeout(within_s):
            await work

    asyncio.run(bounded())


async def aside(work: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Call a blocking function in another thread while nodes run."""
    return await asyncio.to_thread(work, *arguments, **named)


async def caught_up(node: Node, cluster: KafkaCluster) -> None:
    """Wait until a node in a real cluster has what the leader has committed."""
    await until("our node knows what is committed", lambda: node.committed > 0)
    leader = await aside(cluster.wait_for_leader)
    end = len(first_segment(leader.directory / "data"))
    ours = cluster.directory / f"ours_{node.config.key.id}" / "data"
    await until("our log is as long", lambda: len(first_segment(ours)) >= end)


async def patiently(change: Callable[[], Awaitable[None]]) -> None:
    """Repeat a voter change while the leader refuses it because another is in progress."""
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
    """Wait until a condition holds."""
    try:
        async with asyncio.timeout(within_s):
            while not is_so():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not within {within_s} s: {what}") from None
