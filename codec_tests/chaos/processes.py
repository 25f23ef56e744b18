"""Three nodes of ours as processes, which can be killed, paused and cut off."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kraftwire.log.segment import read_batches
from kraftwire.log.source import FileSource

from chaos.taps import HOST, Tap
from interop.kafka_server import free_port

KRAFTWIRE = (str(Path(sys.executable).with_name("kraftwire")),)
_STOPS_WITHIN_S = 20


class NodeProcess:
    """A node; `tap` is what others know of it."""

    def __init__(self, number: int, directory: Path) -> None:
        self.number = number
        self.directory = directory
        self.port, self.key_port = free_port(), free_port()
        self.tap = Tap(self.port)
        self.advertised = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.is_paused = False

    @property
    def config(self) -> Path:
        """Its settings."""
        return self.directory / "server.properties"

    def format(self, cluster_id: str, voters: str) -> None:
        """Write its settings, and make its directory."""
        self.directory.mkdir(parents=True)
        told = {
            "process.roles": "controller",
            "node.id": self.number,
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listeners": f"CONTROLLER://{HOST}:{self.port}",
            "advertised.listeners": f"CONTROLLER://{HOST}:{self.advertised}",
            "log.dirs": self.directory / "data",
            "metadata.log.max.record.bytes.between.snapshots": 200_000,
        }
        self.config.write_text("".join(f"{key}={value}\n" for key, value in told.items()))
        command = [*KRAFTWIRE, "storage", "format", "-t", cluster_id, "-c", str(self.config)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def start(self) -> None:
        """Start it."""
        command = [*KRAFTWIRE, "node", "run", "-c", str(self.config), "--example", "kv"]
        command += ["--listen", f"{HOST}:{self.key_port}", "--log-format", "json"]
        with (self.directory / "events.jsonl").open("ab") as events:
            self.process = subprocess.Popen(command, stderr=events)
        self.is_paused = False

    def kill(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(_STOPS_WITHIN_S)
            self.process = None

    def pause(self) -> None:
        """Have it stand still."""
        if self.process is not None:
            os.kill(self.process.pid, signal.SIGSTOP)
            self.is_paused = True

    def resume(self) -> None:
        """Have it go on."""
        if self.process is not None and self.is_paused:
            os.kill(self.process.pid, signal.SIGCONT)
        self.is_paused = False

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        self.resume()
        if self.process is None:
            return 0
        self.process.terminate()
        try:
            return self.process.wait(_STOPS_WITHIN_S)
        finally:
            self.kill()

    async def ask(self, line: str, within_s: float = 5.0) -> str:
        """What it answers to a line; `OSError` where it does not."""
        async with asyncio.timeout(within_s):
            reader, writer = await asyncio.open_connection(HOST, self.key_port)
            try:
                writer.write(f"{line}\n".encode())
                return (await reader.readline()).decode().strip()
            finally:
                writer.close()

    async def values(self, keys: Sequence[str]) -> list[str]:
        """What it answers for each of many keys."""
        reader, writer = await asyncio.open_connection(HOST, self.key_port)
        try:
            answers = []
            for key in keys:
                writer.write(f"get {key}\n".encode())
                answers.append((await reader.readline()).decode().strip())
            return answers
        finally:
            writer.close()

    def records(self) -> dict[int, bytes]:
        """What its log has of the state machine's records, by offset."""
        found: dict[int, bytes] = {}
        for file in sorted((self.directory / "data" / "__cluster_metadata-0").glob("*.log")):
            with FileSource(file) as source:
                for batch in read_batches(source):
                    if not batch.header.is_control:
                        found |= {one.offset: one.value or b"" for one in batch.records}
        return found


class Cluster:
    """Nodes 1 to 3, voters of one quorum."""

    def __init__(self, directory: Path, count: int = 3) -> None:
        self.nodes = [NodeProcess(n, directory / f"node_{n}") for n in range(1, count + 1)]

    async def start(self) -> None:
        """Format and start all, with a tap before each."""
        for node in self.nodes:
            node.advertised = await node.tap.start()
        voters = ",".join(f"{node.number}@{HOST}:{node.advertised}" for node in self.nodes)
        for node in self.nodes:
            await asyncio.to_thread(node.format, "Q2hhb3MtY2x1c3Rlci1pZA", voters)
        for node in self.nodes:
            node.start()

    async def stop(self) -> list[int]:
        """Stop all; their exit codes."""
        codes = await asyncio.gather(*(asyncio.to_thread(node.stop) for node in self.nodes))
        for node in self.nodes:
            await node.tap.close()
        return codes

    def mend(self) -> None:
        """Everybody runs, and reaches everybody."""
        for node in self.nodes:
            node.tap.mend()
            node.resume()
            if node.process is None:
                node.start()

    async def leader(self) -> NodeProcess | None:
        """Who leads, as far as the nodes that answer know."""
        for node in self.nodes:
            try:
                word, _, number = (await node.ask("leader", 0.5)).partition(" ")
            except OSError:
                continue
            if word == "leader" and int(number) == node.number:
                return node
        return None
