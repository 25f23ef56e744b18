"""A proxy between clients and a cluster that hands every frame to a recorder.

Clients bootstrap at the proxy and stay on it: every broker that a response names gets a
listener of its own when it is first seen, and the response that listener's address, at the
host that the client reached the proxy by. Rules:

- Addresses are found by schema (`rewriting`). All else of a response stays as it is, unknown
  tagged fields too; where no address is replaced, the very bytes are passed on.
- What cannot be read is passed on unchanged, recorded and told of: requests and responses of
  newer versions, tokens of SASL without a header. A client may leave the proxy through an
  address in a response that was not read.
- Recorded is what was sent: the client's requests, and the brokers' own responses before
  addresses are rewritten (`cassette` says why). A request is recorded before it goes out, and
  a response before the client has it. Secrets are taken out first (`redacting`).
- Clients speak plaintext to the proxy; the proxy speaks TLS to brokers, and logs in there for
  every connection, as `security` says. What it says to log in is not recorded. Logins of
  clients pass through.
- Frames of up to 100 MiB pass. A connection whose peer sends anything else is closed.
- There are at most so many connections, and so many bytes that all of them hold back (`pending`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from kraftwire.address import Address
from kraftwire.capture.client_tasks import ClientTasks
from kraftwire.capture.frame import Direction, Frame
from kraftwire.capture.loop_thread import LoopThread
from kraftwire.capture.pairing import DecodedFrame, FrameDecoder
from kraftwire.capture.proxy.listeners import Listeners
from kraftwire.capture.proxy.pending import PendingBytes, ProxyLimits
from kraftwire.capture.proxy.relay import Broken, End, NoFrames, relay
from kraftwire.capture.proxy.upstream import connect
from kraftwire.capture.redacting import EVERYTHING, LEFT_OUT, read_leniently, redact_frame
from kraftwire.capture.rewriting import addresses_in, rewrite_addresses
from kraftwire.net.descriptors import is_reserved
from kraftwire.net.security import PLAINTEXT, ClientSecurity
from kraftwire.printing import shortened
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import KraftwireError

ANY_PORT = Address("127.0.0.1", 0)
_MAX_PROBLEMS = 1000
_MAX_PROBLEM = 500


class Proxy:
    """See the module; it runs in the event loop of whoever starts it."""

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
        limits: ProxyLimits = ProxyLimits(),  # noqa: B008  # nobody changes it
    ) -> None:
        """`record` gets every frame, in the loop, and must not wait.

        `ports` are those of the listeners behind the first; None for any that are free.
        `on_problem` is told each problem when it is met, each wording once.
        """
        self.problems: list[str] = []
        """What could not be passed on, read or rewritten, for people; each wording once."""
        self.connections = 0
        """How many connections of clients there were."""
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
        """Listen; where clients bootstrap. `OSError` and `BadSecurity` where that cannot be."""
        _ = self._security.context  # whether its files are of use is known before a client comes
        self._started = time.monotonic()
        return await self._listeners.open_first(self._listen, self._upstream)

    async def close(self) -> None:
        """Close listeners and connections."""
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
                writer.transport.abort()  # the proxy is closing, and waits for no reader
            finally:
                writer.close()

    def _has_room(self, writer: asyncio.StreamWriter) -> bool:
        """Whether there may be one more connection, which is among those that are counted."""
        most = self._limits.connections
        if len(self._clients) > most:
            self._tell(f"a client was refused: there are {most} already (--max-connections)")
            return False
        if is_reserved(writer.get_extra_info("socket").fileno()):
            self._tell("a client was refused: too few open files are left (raise ulimit -n)")
            return False
        return True

    async def _connect_and_pass(
        self, broker: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            upstream = await connect(broker, self._security)
        except (OSError, OverflowError, ValueError, KraftwireError) as error:
            self._tell(f"{broker}: no connection: {_reason(error)}")
            return
        self.connections += 1
        host, port = (writer.get_extra_info("peername") or ("(gone)", 0))[:2]
        name = f"client {Address(host, port)}"
        passage = _Passage(self.connections, broker, writer.get_extra_info("sockname")[0])

        def close() -> None:
            most = self._limits.pending_bytes
            reason = f"of more than {most} bytes pending it held most"
            self._tell(f"a connection to {broker} was closed: {reason} (--max-pending-bytes)")
            writer.transport.abort()
            upstream.writer.transport.abort()

        pending = self._pending.share(close)
        try:
            await relay(
                End(reader, writer, name),
                upstream,
                lambda data: self._pass_request(passage, data),
                lambda data: self._pass_response(passage, data),
                pending,
            )
        except NoFrames as error:
            self._tell(str(error))
        except Broken as error:
            # Clients come and go as they like.
            if error.end is upstream and passage.unanswered:
                self._tell(f"{broker}: the connection broke, requests are unanswered: {error}")
        except OSError as error:
            self._tell(f"a connection was closed, since recording failed: {_reason(error)}")
        else:
            if passage.unanswered and not reader.at_eof():
                self._tell(f"{broker} closed a connection and left requests unanswered")
        finally:
            pending.end()
            upstream.writer.close()

    async def _pass_request(self, passage: _Passage, data: bytes) -> bytes:
        decoded = self._take(passage, "request", data)
        if decoded.error is not None:
            self._tell(f"a request was passed on unread: {_what(decoded)}")
        passage.unanswered += 1 if getattr(decoded.message, "acks", None) != 0 else 0
        return data

    async def _pass_response(self, passage: _Passage, data: bytes) -> bytes:
        decoded = read_leniently(self._take(passage, "response", data), registry)
        passage.unanswered -= 1
        if decoded.error is not None:
            self._tell(f"a response was passed on as it is: {_what(decoded)}")
        if decoded.message is None or decoded.request is None or decoded.error is not None:
            return data
        for address in addresses_in(decoded.message):
            await self._open(Address(*address))
        if not rewrite_addresses(decoded.message, lambda *one: self._own(passage, one)):
            return data
        try:
            return decoded.encode(registry)
        except KraftwireError as error:
            self._tell(f"addresses were left as they are in {decoded.api}: {error}")
            return data

    async def _open(self, broker: Address) -> None:
        try:
            await self._listeners.open(broker)
        except OSError as error:
            self._tell(f"{broker} is left as it is, without a listener: {_reason(error)}")

    def _own(self, passage: _Passage, broker: tuple[str, int]) -> tuple[str, int] | None:
        port = self._listeners.port_of(broker)
        return None if port is None else (passage.host, port)

    # -- recording -------------------------------------------------------------------------

    def _take(self, passage: _Passage, direction: Direction, data: bytes) -> DecodedFrame:
        """Decode and record a frame."""
        now = time.monotonic() - self._started
        frame = Frame(passage.number, direction, now, data, broker=str(passage.broker))
        decoded = passage.decoder.decode(frame)
        if self._redacts:
            frame, paths = redact_frame(decoded, registry)
            if EVERYTHING in paths and not decoded.is_token:
                self._tell(f"a {direction} was recorded without its bytes: {_what(decoded)}")
            for path in paths:
                if LEFT_OUT in path:
                    self._tell(f"a {direction} was recorded without its records: {path}")
        self._record(frame)
        return decoded

    def _tell(self, problem: str) -> None:
        problem = shortened(problem, _MAX_PROBLEM)
        if problem in self.problems or len(self.problems) >= _MAX_PROBLEMS:
            return
        self.problems.append(problem)
        if self._on_problem is not None:
            self._on_problem(problem)


@dataclass
class _Passage:
    """One connection of a client, and what it takes to decode its frames."""

    number: int
    broker: Address
    host: str
    """The host that the client reached the proxy by."""
    unanswered: int = 0
    decoder: FrameDecoder = field(default_factory=lambda: FrameDecoder(registry))


class ProxyThread:
    """A proxy in a thread of its own, for synchronous callers; a context manager.

    `record` is called in that thread. What cannot start raises as `Proxy.start` does.
    """

    def __init__(
        self,
        upstream: Address,
        *,
        listen: Address = ANY_PORT,
        security: ClientSecurity | None = None,
        record: Callable[[Frame], None],
        redact: bool = True,
    ) -> None:
        self.address = listen
        """Where clients bootstrap, once it is entered."""
        self._proxy = Proxy(
            upstream, listen=listen, security=security, record=record, redact=redact
        )
        self._thread = LoopThread("kraftwire-proxy")

    @property
    def problems(self) -> list[str]:
        """See `Proxy`."""
        return self._proxy.problems

    def __enter__(self) -> Self:
        self.address = self._thread.start(self._proxy.start())
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._thread.end(self._proxy.close())


def _what(decoded: DecodedFrame) -> str:
    name = "unknown API" if decoded.api is None else f"{decoded.api} version {decoded.version}"
    return f"{name}: {decoded.error}"


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError) and not error.args:
        return "no answer in time"
    strerror = getattr(error, "strerror", None)
    return str(strerror or error or type(error).__name__)
