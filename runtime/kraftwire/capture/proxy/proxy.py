"""A proxy between clients and a cluster that passes every frame to a recorder.

Clients bootstrap at the proxy and keep using it: each broker gets its own listener when a response
first names it. The proxy replaces the broker's address in the response with that of the listener,
with the host by which the client reached the proxy. Rules:

- Addresses are found by schema (`capture.addresses`). Everything else in a response stays as it
  is, including unknown tagged fields; without an address to replace, the bytes are passed on.
- Unreadable frames are passed on unchanged, recorded and reported: requests and responses of
  newer versions, SASL tokens without a header. Through an address in an unread response, a client
  may bypass the proxy.
- The recorder gets the client's requests, and the brokers' responses before their addresses are
  replaced (`cassette` says why). A request is recorded before it is passed on, and
  a response before the client gets it. Secrets are removed first (`frame_redaction`).
- Clients speak plaintext to the proxy. The proxy speaks TLS to brokers and logs in to them for
  every connection, if `security` says so. Its own login is not recorded; logins of clients pass
  through.
- Frames may have up to 100 MiB. A connection whose peer sends anything else is closed.
- The number of connections and the bytes that all of them hold have limits (`pending`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from kraftwire.address import Address
from kraftwire.capture.addresses import addresses_in, rewrite_addresses
from kraftwire.capture.decoding.decoder import DecodedFrame, FrameDecoder
from kraftwire.capture.frame import Direction, Frame
from kraftwire.capture.frame_redaction import EVERYTHING, LEFT_OUT, read_leniently, redact_frame
from kraftwire.capture.proxy.listeners import Listeners
from kraftwire.capture.proxy.pending import PendingBytes, ProxyLimits
from kraftwire.capture.proxy.relay import ConnectionBroken, ConnectionEnd, NotFrames, relay
from kraftwire.capture.proxy.upstream import connect
from kraftwire.capture.servers import ClientTasks, LoopThread
from kraftwire.net.descriptors import is_reserved
from kraftwire.net.security import PLAINTEXT, ClientSecurity
from kraftwire.printing import shortened
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import KraftwireError

ANY_PORT = Address("127.0.0.1", 0)
_MAX_PROBLEMS = 1000
_MAX_PROBLEM = 500


class Proxy:
    """A proxy in the event loop of its caller."""

    def __init__(
        self,
        upstream: Address,
        *,
        listen: Address = ANY_PORT,
        security: ClientSecurity | None = None,
        record: Callable[[Frame], None],
        redact: bool = True,
        ports: range | None = None,
        on_problem: Callable[[str], None] | None = None,
        limits: ProxyLimits = ProxyLimits(),  # noqa: B008  # it is immutable
    ) -> None:
        """`record` is called with every frame, in the loop, and must not block.

        `ports` are for all listeners except the first; None for any free ports. `on_problem` is
        called with each problem, once for each wording.
        """
        self.problems: list[str] = []
        """Problems with passing on, reading or rewriting frames, for people; each wording once."""
        self.connections = 0
        """How many clients have connected."""
        self._upstream = Address(*upstream)
        self._listen = Address(*listen)
        self._security = security or PLAINTEXT
        self._record = record
        self._redacts = redact
        self._on_problem = on_problem
        self._listeners = Listeners(self._serve, ports)
        self._limits = limits
        self._pending = PendingBytes(limits.pending_bytes)
        self._clients = ClientTasks()
        self._started = time.monotonic()

    async def start(self) -> Address:
        """Listen; return the address for bootstrapping. Raise `OSError` or `BadSecurity`."""
        _ = self._security.context  # load its files now, so that errors come before clients do
        self._started = time.monotonic()
        return await self._listeners.open_first(self._listen, self._upstream)

    async def close(self) -> None:
        self._listeners.close()
        await self._clients.end()

    # -- a connection ----------------------------------------------------------------------

    async def _serve(
        self, broker: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with self._clients.serving():
            try:
                if not self._has_room(writer):
                    writer.transport.abort()
                    return
                await self._connect_and_pass(broker, reader, writer)
            except asyncio.CancelledError:
                writer.transport.abort()  # the proxy is closing and does not wait for slow readers
            finally:
                writer.close()

    def _has_room(self, writer: asyncio.StreamWriter) -> bool:
        """Whether the limits allow this connection, which is already counted."""
        most = self._limits.connections
        if len(self._clients) > most:
            self._report(f"a client was refused: {most} are connected already (--max-connections)")
            return False
        if is_reserved(writer.get_extra_info("socket").fileno()):
            self._report("a client was refused: too few open files are left (raise ulimit -n)")
            return False
        return True

    async def _connect_and_pass(
        self, broker: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            upstream = await connect(broker, self._security)
        except (OSError, OverflowError, ValueError, KraftwireError) as error:
            self._report(f"{broker}: no connection: {_reason(error)}")
            return
        self.connections += 1
        host, port = (writer.get_extra_info("peername") or ("(gone)", 0))[:2]
        name = f"client {Address(host, port)}"
        connection = _ClientConnection(
            self.connections, broker, writer.get_extra_info("sockname")[0]
        )

        def close() -> None:
            most = self._limits.pending_bytes
            reason = f"it held the most of over {most} pending bytes"
            self._report(f"a connection to {broker} was closed: {reason} (--max-pending-bytes)")
            writer.transport.abort()
            upstream.writer.transport.abort()

        pending = self._pending.share(close)
        try:
            await relay(
                ConnectionEnd(reader, writer, name),
                upstream,
                lambda data: self._pass_request(connection, data),
                lambda data: self._pass_response(connection, data),
                pending,
            )
        except NotFrames as error:
            self._report(str(error))
        except ConnectionBroken as error:
            # Clients may leave at any time; a broker should not.
            if error.end is upstream and connection.unanswered:
                self._report(f"{broker}: the connection broke, requests are unanswered: {error}")
        except OSError as error:
            self._report(f"a connection was closed because recording failed: {_reason(error)}")
        else:
            if connection.unanswered and not reader.at_eof():
                self._report(f"{broker} closed a connection and left requests unanswered")
        finally:
            pending.end()
            upstream.writer.close()

    async def _pass_request(self, connection: _ClientConnection, data: bytes) -> bytes:
        decoded = self._record_frame(connection, "request", data)
        if decoded.error is not None:
            self._report(f"a request was passed on unread: {_describe(decoded)}")
        connection.unanswered += 1 if getattr(decoded.message, "acks", None) != 0 else 0
        return data

    async def _pass_response(self, connection: _ClientConnection, data: bytes) -> bytes:
        decoded = read_leniently(self._record_frame(connection, "response", data), registry)
        connection.unanswered -= 1
        if decoded.error is not None:
            self._report(f"a response was passed on unchanged: {_describe(decoded)}")
        if decoded.message is None or decoded.request is None or decoded.error is not None:
            return data
        for address in addresses_in(decoded.message):
            await self._open(Address(*address))
        if not rewrite_addresses(decoded.message, lambda *one: self._own(connection, one)):
            return data
        try:
            return decoded.encode(registry)
        except KraftwireError as error:
            self._report(f"addresses were not replaced in {decoded.api}: {error}")
            return data

    async def _open(self, broker: Address) -> None:
        try:
            await self._listeners.open(broker)
        except OSError as error:
            self._report(
                f"the address {broker} is not replaced, since it has no listener: {_reason(error)}"
            )

    def _own(
        self, connection: _ClientConnection, broker: tuple[str, int]
    ) -> tuple[str, int] | None:
        port = self._listeners.port_of(broker)
        return None if port is None else (connection.host, port)

    # -- recording -------------------------------------------------------------------------

    def _record_frame(
        self, connection: _ClientConnection, direction: Direction, data: bytes
    ) -> DecodedFrame:
        """Decode and record a frame, without its secrets unless redaction is off."""
        now = time.monotonic() - self._started
        frame = Frame(connection.number, direction, now, data, broker=str(connection.broker))
        decoded = connection.decoder.decode(frame)
        if self._redacts:
            frame, paths = redact_frame(decoded, registry)
            if EVERYTHING in paths and not decoded.is_token:
                self._report(f"a {direction} was recorded without its bytes: {_describe(decoded)}")
            for path in paths:
                if LEFT_OUT in path:
                    self._report(f"a {direction} was recorded without its records: {path}")
        self._record(frame)
        return decoded

    def _report(self, problem: str) -> None:
        problem = shortened(problem, _MAX_PROBLEM)
        if problem in self.problems or len(self.problems) >= _MAX_PROBLEMS:
            return
        self.problems.append(problem)
        if self._on_problem is not None:
            self._on_problem(problem)


@dataclass
class _ClientConnection:
    """One connection of a client, and the decoder of its frames."""

    number: int
    broker: Address
    host: str
    """The host by which the client reached the proxy."""
    unanswered: int = 0
    decoder: FrameDecoder = field(default_factory=lambda: FrameDecoder(registry))


class ProxyThread:
    """A proxy in its own thread, for synchronous callers; a context manager.

    `record` is called in that thread. Entering raises what `Proxy.start` raises.
    """

    def __init__(
        self,
        upstream: Address,
        *,
        listen: Address = ANY_PORT,
        security: ClientSecurity | None = None,
        record: Callable[[Frame], None],
    ) -> None:
        self.address = listen
        """The address for bootstrapping, once entered."""
        self._proxy = Proxy(upstream, listen=listen, security=security, record=record)
        self._thread = LoopThread("kraftwire-proxy")

    @property
    def problems(self) -> list[str]:
        return self._proxy.problems

    def __enter__(self) -> Self:
        self.address = self._thread.start(self._proxy.start())
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._thread.end(self._proxy.close())


def _describe(decoded: DecodedFrame) -> str:
    name = "unknown API" if decoded.api is None else f"{decoded.api} version {decoded.version}"
    return f"{name}: {decoded.error}"


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError) and not error.args:
        return "no answer in time"
    strerror = getattr(error, "strerror", None)
    return str(strerror or error or type(error).__name__)
