"""Listeners that serve a recording: one for bootstrapping, and one for each recorded broker.

`ReplayServer` runs in the event loop of its caller, `ReplayThread` in its own thread. Requests of
one connection are answered one after another. A fetch with nothing to read waits for the time in
the request, or until something is produced. Bytes that are not a frame close only their connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Self

from kraftwire.address import Address
from kraftwire.capture.addresses import AddressOf
from kraftwire.capture.frame import Frame
from kraftwire.capture.replay.replay import Replay, Reply
from kraftwire.capture.servers import ClientTasks, LoopThread
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.framing import DEFAULT_MAX_FRAME_SIZE, FrameSplitter, add_size
from kraftwire_wire.numbers import ApiKey

LOOPBACK = "127.0.0.1"

_READ_SIZE = 64 << 10
_MAX_BROKERS = 200
_MAX_DELAY_S = 60.0
_SASL_HANDSHAKE_0 = ApiKey.SASL_HANDSHAKE.to_bytes(2) + bytes(2)
"""The first bytes of a request after which SASL tokens come without headers."""


class TooManyBrokers(KraftwireError):
    """A recording has more brokers than a replay can have listeners."""


class ReplayServer:
    """Serves a replay; call `start`, then `close`, once each."""

    def __init__(self, replay: Replay, *, with_delays: bool = False) -> None:
        """`with_delays` delays each answer as long as the recorded broker took."""
        self.replay = replay
        self._with_delays = with_delays
        self._servers: list[asyncio.Server] = []
        self._clients = ClientTasks()
        self._ports: dict[tuple[str, int], int] = {}
        self._changed = asyncio.Event()

    async def start(self, listen: Address = Address(LOOPBACK, 0)) -> Address:  # noqa: B008
        """Listen; return the address for bootstrapping. Raise `OSError` or `TooManyBrokers`."""
        brokers = self.replay.addresses()
        if len(brokers) > _MAX_BROKERS:
            raise TooManyBrokers(f"{len(brokers)} brokers; a replay has at most {_MAX_BROKERS}")
        try:
            address = await self._listen(listen)
            for broker in brokers:
                self._ports[broker] = (await self._listen(Address(listen.host, 0))).port
        except BaseException:
            await self.close()
            raise
        return address

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        await self._clients.end()

    async def _listen(self, where: Address) -> Address:
        server = await asyncio.start_server(self._serve, where.host, where.port)
        self._servers.append(server)
        return Address(*server.sockets[0].getsockname()[:2])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with self._clients.serving():
            try:
                await self._answer_all(reader, writer)
            except (OSError, KraftwireError, asyncio.CancelledError):
                pass  # the client left or sent no frames, or the server is closing
            finally:
                writer.close()

    async def _answer_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host: str = writer.get_extra_info("sockname")[0]

        def address_of(recorded: str, port: int) -> tuple[str, int] | None:
            own = self._ports.get((recorded, port))
            return None if own is None else (host, own)

        splitter = FrameSplitter(DEFAULT_MAX_FRAME_SIZE)
        in_tokens = False
        while data := await reader.read(_READ_SIZE):
            for frame in splitter.feed(data):
                if in_tokens and not self.replay.can_read(frame):
                    writer.write(add_size(b""))  # the answer to a SASL token (KIP-43)
                    await writer.drain()
                    continue
                in_tokens = frame.startswith(_SASL_HANDSHAKE_0)
                reply = await self._reply(frame, address_of)
                if reply.data is not None:
                    writer.write(add_size(reply.data))
                    await writer.drain()
                if reply.is_miss:
                    return

    async def _reply(self, frame: bytes, address_of: AddressOf) -> Reply:
        loop = asyncio.get_running_loop()
        changed = self._changed
        reply = self.replay.answer(frame, address_of, is_last_call=False)
        end = loop.time() + reply.wait_s
        while reply.wait_s:
            try:
                async with asyncio.timeout_at(end):
                    await changed.wait()
            except TimeoutError:
                return self.replay.answer(frame, address_of)
            changed = self._changed
            reply = self.replay.answer(frame, address_of, is_last_call=False)
        if frame[:2] == ApiKey.PRODUCE.to_bytes(2) and not reply.is_miss:
            self._changed.set()
            self._changed = asyncio.Event()
        if self._with_delays and reply.delay_s:
            await asyncio.sleep(min(reply.delay_s, _MAX_DELAY_S))
        return reply


class ReplayThread:
    """A replay in its own thread, for synchronous callers; a context manager."""

    def __init__(self, frames: Iterable[Frame], *, ignore: Iterable[str] = ()) -> None:
        self.replay = Replay(frames, registry, ignore=ignore)
        self.address = Address(LOOPBACK, 0)
        """The address for bootstrapping, once entered."""
        self._server = ReplayServer(self.replay)
        self._thread = LoopThread("kraftwire-replay")

    def __enter__(self) -> Self:
        self.address = self._thread.start(self._server.start())
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._thread.end(self._server.close())
