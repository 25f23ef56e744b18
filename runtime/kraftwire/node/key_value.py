"""An example of a state machine: keys and their values, the same on every node.

A record is one line of JSON, `["put", key, value]` or `["delete", key]`. Whoever connects to a
node speaks lines of text:

    put KEY VALUE        ok OFFSET          once it is committed
    delete KEY           ok OFFSET
    get KEY              value VALUE, or none: what this node knows, which may be late
    leader               leader ID, or none
    anything else        error REASON

A key is one word, a value the rest of the line. Only the leader takes changes: another node says
`error not the leader, which is ID`. Behind `error not committed` nobody knows yet what became of
a change; to ask for it again does no harm, since it says what the value is to be.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable
from contextlib import suppress

from kraftwire.log.batch import Batch
from kraftwire.log.errors import CorruptBatch
from kraftwire.node.node import Node
from kraftwire.node.proposals import NotCommitted
from kraftwire_wire.errors import KraftwireError

_log = logging.getLogger("kraftwire.node.key_value")
_MOST_BYTES = 64 << 10
_MOST_CLIENTS = 1000


class KeyValues:
    """A state machine; see the module."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def apply(self, batch: Batch) -> None:
        """See `StateMachine`."""
        for record in batch.records:
            match _read(record.value or b"", batch):
                case ["put", str(key), str(value)]:
                    self.values[key] = value
                case ["delete", str(key)]:
                    self.values.pop(key, None)
                case _:
                    reason = f"no change of a key at offset {record.offset}"
                    raise CorruptBatch(batch.file, batch.header.position, reason)

    def load(self, batches: Iterable[Batch]) -> None:
        """See `StateMachine`."""
        self.values.clear()
        for batch in batches:
            self.apply(batch)

    def snapshot(self) -> Iterable[bytes]:
        """See `StateMachine`."""
        return [put(key, value) for key, value in self.values.items()]


def put(key: str, value: str) -> bytes:
    """The record that gives a key a value."""
    return json.dumps(["put", key, value]).encode()


def delete(key: str) -> bytes:
    """The record that takes a key away."""
    return json.dumps(["delete", key]).encode()


def _read(value: bytes, batch: Batch) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        reason = f"{value[:40]!r} is no JSON"
        raise CorruptBatch(batch.file, batch.header.position, reason) from None


class KeyValueServer:
    """Takes the lines of clients."""

    def __init__(self, node: Node, machine: KeyValues) -> None:
        self._node = node
        self._machine = machine
        self._clients = 0

    async def start(self, host: str, port: int) -> int:
        """Listen; the port, which is another than 0."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=_MOST_BYTES)
        bound: int = self._server.sockets[0].getsockname()[1]
        _log.info("serves keys", extra={"host": host, "port": bound})
        return bound

    async def close(self) -> None:
        """Take no more clients."""
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients += 1
        try:
            while self._clients <= _MOST_CLIENTS:
                line = await reader.readline()
                if not line:
                    break
                writer.write(f"{await self._answer(line)}\n".encode())
                await writer.drain()
        except (OSError, ValueError):  # it has gone, or its line is too long
            pass
        finally:
            self._clients -= 1
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, line: bytes) -> str:
        try:
            words = line.decode().strip().split(maxsplit=2)
        except UnicodeDecodeError:
            return "error a line is UTF-8"
        match words:
            case ["put", key, value]:
                return await self._change(put(key, value))
            case ["delete", key]:
                return await self._change(delete(key))
            case ["get", key]:
                found = self._machine.values.get(key)
                return "none" if found is None else f"value {found}"
            case ["leader"]:
                leader = self._node.leader_id
                return "none" if leader is None else f"leader {leader}"
        return "error one of: put KEY VALUE, delete KEY, get KEY, leader"

    async def _change(self, value: bytes) -> str:
        if self._node.leads is None:
            return f"error not the leader, which is {self._node.leader_id}"
        try:
            return f"ok {await self._node.propose([value])}"
        except NotCommitted as error:
            return f"error not {'taken' if error.is_lost else 'committed'}: {error}"
        except KraftwireError as error:
            return f"error {error}"
