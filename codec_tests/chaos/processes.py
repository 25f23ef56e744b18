"""Nodes of a quorum as processes, which can be killed, paused and cut off.

Each is a node of ours or Kafka's raft without its controller (`RaftKeyValues.java`), both with
the example of keys and values; and each goes on in a directory that the other kind has left.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from kraftwire.log.segments.segment import read_batches
from kraftwire.log.sources.source import FileSource

from codec_tests.chaos.taps import HOST, Tap
from codec_tests.held_ports import held_port
from codec_tests.interop.kafka_server import java_command

Kind = Literal["ours", "kafka"]
KRAFTWIRE = (str(Path(sys.executable).with_name("kraftwire")),)
ALL_OURS: Sequence[Kind] = ("ours", "ours", "ours")
_STOPS_WITHIN_S = 60
_JVM_TERMINATED = 128 + signal.SIGTERM


class NodeProcess:
    """A node; `tap` is what others know of it."""

    def __init__(self, number: int, directory: Path, kind: Kind) -> None:
        self.number = number
        self.directory = directory
        self.kind = kind
        self.port, self.key_port = held_port(), held_port()
        self.tap = Tap(self.port)
        self.advertised = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.is_paused = False

    @property
    def config(self) -> Path:
        """Its settings."""
        return self.directory / "server.properties"

    def format(self, cluster_id: str, settings: Mapping[str, str]) -> None:
        """Write its settings, and make its directory."""
        self.directory.mkdir(parents=True)
        told = {
            "process.roles": "controller",
            "node.id": self.number,
            "controller.listener.names": "CONTROLLER",
            "listeners": f"CONTROLLER://{HOST}:{self.port}",
            "advertised.listeners": f"CONTROLLER://{HOST}:{self.advertised}",
            "log.dirs": self.directory / "data",
            **settings,
        }
        self.config.write_text("".join(f"{key}={value}\n" for key, value in told.items()))
        command = [*KRAFTWIRE, "storage", "format", "-t", cluster_id, "-c", str(self.config)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def start(self) -> None:
        """Start it."""
        if self.kind == "kafka":
            command = java_command("Guarded", "RaftKeyValues", str(self.config), str(self.key_port))
        else:
            command = [*KRAFTWIRE, "node", "run", "-c", str(self.config), "--example", "kv"]
            command += ["--listen", f"{HOST}:{self.key_port}", "--log-format", "json"]
        with (self.directory / f"{self.kind}.log").open("ab") as log:
            # The pipe ends Kafka's process with this one, see Guarded.java.
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)
        self.is_paused = False

    def swap(self) -> None:
        """Be of the other kind from the next start on."""
        self.kind = "ours" if self.kind == "kafka" else "kafka"

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
            code = self.process.wait(_STOPS_WITHIN_S)
            return 0 if code == _JVM_TERMINATED else code
        finally:
            self.kill()

    def has_ended(self) -> bool:
        """Whether it has ended without having been asked to."""
        return self.process is not None and self.process.poll() is not None

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
    """Nodes from 1 on, voters of one quorum."""

    def __init__(
        self,
        directory: Path,
        kinds: Sequence[Kind] = ALL_OURS,
        *,
        with_taps: bool = True,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """A node of each kind that is named; with taps they can be cut off."""
        self._with_taps = with_taps
        self._settings = settings or {}
        self.is_mixed = len(set(kinds)) > 1
        self.nodes = [
            NodeProcess(number, directory / f"node_{number}", kind)
            for number, kind in enumerate(kinds, 1)
        ]

    async def start(self) -> None:
        """Format and start all."""
        for node in self.nodes:
            node.advertised = await node.tap.start() if self._with_taps else node.port
        voters = ",".join(f"{node.number}@{HOST}:{node.advertised}" for node in self.nodes)
        own = {"controller.quorum.voters": voters}
        for node in self.nodes:
            await asyncio.to_thread(
                node.format, "Q2hhb3MtY2x1c3Rlci1pZA", {**own, **self._settings}
            )
        for node in self.nodes:
            node.start()

    async def stop(self) -> list[int]:
        """Stop all; their exit codes."""
        codes = await asyncio.gather(*(asyncio.to_thread(node.stop) for node in self.nodes))
        for node in self.nodes:
            if self._with_taps:
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
