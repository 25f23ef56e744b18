"""A key-value store, as an example of a state machine: every node has the same keys and values.

A record is one line of JSON, `["put", key, value]` or `["delete", key]`. A client connects to a
node and sends lines of text:

    put KEY VALUE        ok OFFSET          once it is committed
    delete KEY           ok OFFSET
    get KEY              value VALUE, or none: the state of this node, which may lag
    leader               leader ID, or none
    anything else        error REASON

A key is one word, a value the rest of the line. Only the leader accepts changes; another node
answers `error not the leader, which is ID`, or that it knows no leader. A leader that has resigned,
or that waits for all voters to be named (KIP-856), answers that too. After `error not committed`
the change may still be committed. Sending it again is safe, since it has the whole value.

Every node skips, counts and logs a committed record that is not such a change. Another program may
have written it as leader, and an exception would stop the node again at each start.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.record import Record
from kraftwire.net.descriptors import is_reserved
from kraftwire.net.limits import Limits
from kraftwire.net.log_rate import LogRate
from kraftwire.node.node import Node
from kraftwire.node.proposals import NotCommitted
from kraftwire.printing import shortened
from kraftwire_wire.errors import KraftwireError

_log = logging.getLogger("kraftwire.node.key_value")
_MOST_BYTES = 64 << 10
_MOST_CLIENTS = 1000
_BACKLOG = 16
"""asyncio accepts this many clients before it calls us: far fewer than the reserved descriptors."""


class KeyValues:
    """The state machine."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.skipped = 0
        """The number of skipped records, and of batches that could not be read."""
        self._rate = LogRate(_log)

    def apply(self, batch: Batch) -> None:
        try:
            for record in batch.records:
                self._apply(record)
        except KraftwireError as error:
            self._skip(batch.header.base_offset, error)

    def _apply(self, record: Record) -> None:
        try:
            change = json.loads(record.value or b"")
        except (ValueError, RecursionError):
            change = None
        match change:
            case ["put", str(key), str(value)]:
                self.values[key] = value
            case ["delete", str(key)]:
                self.values.pop(key, None)
            case _:
                self._skip(record.offset, f"not a change of a key: {(record.value or b'')[:40]!r}")

    def _skip(self, offset: int, why: object) -> None:
        self.skipped += 1
        if self._rate.allows():
            extra = {"offset": offset, "why": shortened(why), "skipped": self.skipped}
            _log.warning("skipped a record", extra=extra)

    def load(self, batches: Iterable[Batch]) -> None:
        self.values.clear()
        for batch in batches:
            self.apply(batch)

    def snapshot(self) -> Iterable[bytes]:
        return [put(key, value) for key, value in self.values.items()]


def put(key: str, value: str) -> bytes:
    """Return the record that sets a key."""
    return json.dumps(["put", key, value]).encode()


def delete(key: str) -> bytes:
    """Return the record that deletes a key."""
    return json.dumps(["delete", key]).encode()


class KeyValueServer:
    """Answers the lines of clients, and disconnects silent ones."""

    def __init__(
        self,
        node: Node,
        machine: KeyValues,
        limits: Limits = Limits(),  # noqa: B008  # nobody changes it
    ) -> None:
        """`limits` bound the wait for the first line and for further lines, and slow readers."""
        self._node = node
        self._machine = machine
        self._limits = limits
        self._clients = 0
        self._rate = LogRate(_log)

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the actual port."""
        self._server = await asyncio.start_server(
            self._serve, host, port, limit=_MOST_BYTES, backlog=_BACKLOG
        )
        bound: int = self._server.sockets[0].getsockname()[1]
        _log.info("serves keys", extra={"host": host, "port": bound})
        return bound

    async def close(self) -> None:
        """Stop accepting clients."""
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = writer.get_extra_info("socket").fileno()
        is_scarce = is_reserved(number, self._limits.connections)
        if is_scarce or self._clients >= _MOST_CLIENTS:
            if self._rate.allows("refused"):
                extra = {"clients": self._clients, "are_files_scarce": is_scarce}
                _log.warning("refused a client", extra=extra)
            writer.transport.abort()
            return
        self._clients += 1
        try:
            await self._talk(reader, writer)
            writer.close()
            async with asyncio.timeout(self._limits.send_s):
                await writer.wait_closed()
        except (OSError, ValueError):  # disconnected, silent, or a line is too long
            pass
        finally:
            self._clients -= 1
            writer.transport.abort()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer lines until the client disconnects; raise `TimeoutError` if it is silent."""
        patience_s = self._limits.frame_s
        while True:
            async with asyncio.timeout(patience_s):
                line = await reader.readline()
            if not line:
                return
            patience_s = self._limits.idle_s
            writer.write(f"{await self._answer(line)}\n".encode(errors="backslashreplace"))
            async with asyncio.timeout(self._limits.send_s):
                await writer.drain()

    async def _answer(self, line: bytes) -> str:
        try:
            words = line.decode().strip().split(maxsplit=2)
        except UnicodeDecodeError:
            return "error the line is not UTF-8"
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
        return "error unknown command; send put KEY VALUE, delete KEY, get KEY or leader"

    async def _change(self, value: bytes) -> str:
        if self._node.leads is None:
            leader = self._node.leader_id
            if leader is None:
                return "error no leader takes changes now; try again"
            return f"error not the leader, which is {leader}"
        try:
            return f"ok {await self._node.propose([value])}"
        except NotCommitted as error:
            return f"error not {'taken' if error.is_lost else 'committed'}: {error}"
        except KraftwireError as error:
            return f"error {error}"
