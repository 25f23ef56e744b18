"""A node in a process of its own, with few file descriptors, for tests that attack it."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from codec_tests.held_ports import HOST, held_port

_KRAFTWIRE = str(Path(sys.executable).with_name("kraftwire"))
CLUSTER_ID = "Q2hhb3MtY2x1c3Rlci1pZA"


class Victim:
    """Voter 1, the only one, with the example of keys and values."""

    def __init__(self, directory: Path, **settings: str) -> None:
        self.directory = directory
        self.port, self.key_port = held_port(), held_port()
        self.config = directory / "server.properties"
        self.log = directory / "node.log"
        lines = {
            "process.roles": "controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{HOST}:{self.port}",
            "controller.quorum.election.timeout.ms": "200",
            "controller.quorum.fetch.timeout.ms": "1000",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"CONTROLLER://{HOST}:{self.port}",
            "log.dirs": str(directory / "data"),
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self.config.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        command = [_KRAFTWIRE, "storage", "format", "-t", CLUSTER_ID, "-c", str(self.config)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, descriptors: int) -> None:
        """Start it with a limit of open files."""
        listen = f"{HOST}:{self.key_port}"
        command = [_KRAFTWIRE, "node", "run", "-c", str(self.config), "--example", "kv"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--listen", listen],
                stderr=log,
                preexec_fn=lambda: resource.setrlimit(  # no threads yet
                    resource.RLIMIT_NOFILE, (descriptors, descriptors)
                ),
            )

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.process is not None and self.process.poll() is None

    @property
    def descriptors(self) -> int:
        """How many file descriptors it has open."""
        assert self.process is not None
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))  # noqa: PTH208  # names alone

    @property
    def peak_bytes(self) -> int:
        """The most memory that it has had."""
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) << 10

    @property
    def said(self) -> str:
        """What it has logged."""
        return self.log.read_text()

    async def ask(self, line: str) -> str:
        """What it answers to a line."""
        reader, writer = await asyncio.open_connection(HOST, self.key_port)
        try:
            writer.write(f"{line}\n".encode())
            return (await reader.readline()).decode().strip()
        finally:
            writer.close()

    async def commits(self, key: str) -> None:
        """Wait until it commits a change; it fails where the node has ended."""
        while True:
            assert self.is_running, self.said[-3000:]
            try:
                if (await self.ask(f"put {key} 1")).startswith("ok"):
                    return
            except OSError:
                pass
            await asyncio.sleep(0.02)

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@asynccontextmanager
async def victim(directory: Path, descriptors: int = 300, **settings: str) -> AsyncIterator[Victim]:
    """A node that runs, and leads."""
    one = Victim(directory, **settings)
    one.start(descriptors)
    try:
        await one.commits("first")
        yield one
    finally:
        one.stop()
