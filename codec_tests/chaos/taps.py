"""Partitions: every node is reached through a tap, which knows who speaks by the client id.

What is cut is neither delivered nor refused: connections stay open and silent, as when packets
are lost. Time that a link was cut is not made up for; what waited is lost with its connection.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

HOST = "127.0.0.1"
_HEAD = 14
"""Size, API key, version, correlation id, and the length of the client id."""


class Tap:
    """Stands before one node; `cut` are the nodes whose connections to it are silent."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.cut: set[int] = set()
        self._carrying: dict[asyncio.Task[None], int] = {}

    async def start(self) -> int:
        """Listen; the port that others are to be told."""
        self._server = await asyncio.start_server(self._carry, HOST, 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """End."""
        self._server.close()
        for task in list(self._carrying):
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    def mend(self) -> None:
        """Deliver again; connections that were cut are closed, as after a time-out."""
        for task, source in list(self._carrying.items()):
            if source in self.cut:
                task.cancel()
        self.cut.clear()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "it runs in one"
        outer: asyncio.StreamWriter | None = None
        try:
            head = await reader.readexactly(_HEAD)
            name = await reader.readexactly(int.from_bytes(head[-2:]))
            source = int(name.decode().rpartition("-")[2])  # kraftwire-1, raft-client-1
            self._carrying[task] = source
            while source in self.cut:
                await asyncio.sleep(0.05)
            inner, outer = await asyncio.open_connection(HOST, self._port)
            outer.write(head + name)
            await asyncio.gather(
                self._pump(reader, outer, source), self._pump(inner, writer, source)
            )
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._carrying.pop(task, None)
            for one in (writer, outer):
                if one is not None:
                    one.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, source: int
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                while source in self.cut:
                    await asyncio.sleep(0.05)
                writer.write(data)
                await writer.drain()
        writer.close()
