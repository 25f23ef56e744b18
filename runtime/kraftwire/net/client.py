"""Client connections over TCP or TLS, which log in and use versions that both ends speak.

    connection = await Connection.open("localhost", 9092)
    response = await connection.ask(ApiVersionsRequest())

Requests are pipelined, and responses are matched by correlation id. A caller that sets a time limit
uses `asyncio.timeout`; a later response is dropped. Invalid data closes the connection, and every
open request raises `ConnectionError`.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple, Self, cast

from kraftwire.address import Address
from kraftwire.net.answers import LARGEST_BATCH, max_answer_bytes
from kraftwire.net.errors import AuthenticationFailed, BadAddress, NoCommonVersion
from kraftwire.net.frames import FrameProtocol
from kraftwire.net.sasl import log_in
from kraftwire.net.security import PLAINTEXT, ClientSecurity
from kraftwire.net.versions import (
    Encoded,
    api_versions_request,
    encode_newest,
    retry_version,
    spoken_versions,
)
from kraftwire_messages.kafka import ApiVersionsResponse, registry
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.framing import add_size
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode

_LAST_ID = 2**31 - 1
_ID_BYTES = 4


class _OpenRequest(NamedTuple):
    """A request that has no response yet."""

    header: Any
    name: str
    most: int
    """The longest response, in bytes."""
    waiting: asyncio.Future[Message]


class Connection(FrameProtocol):
    """A client connection; `open` creates it."""

    def __init__(
        self, peer: str, client_id: str, max_bytes: int, max_batch_bytes: int = LARGEST_BATCH
    ) -> None:
        super().__init__()
        self.peer = peer
        """The server, HOST:PORT."""
        self.spoken: dict[int, range] = {}
        """The versions that the peer speaks, by API key."""
        self._client_id = client_id
        self._max_bytes = max_bytes
        self._max_batch_bytes = max_batch_bytes
        self._number = 0
        self._open: dict[int, _OpenRequest] = {}
        """By correlation id."""
        self._why_closed = "the connection is closed"
        self._writable = asyncio.Event()
        self._gone = asyncio.Event()

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        security: ClientSecurity = PLAINTEXT,
        *,
        client_id: str = "kraftwire",
        max_bytes: int = 100 << 20,
        max_batch_bytes: int = LARGEST_BATCH,
    ) -> Self:
        """Connect, ask which versions the server speaks, and log in.

        Raise `OSError` if the connection fails, `BadAddress` for an invalid address,
        `AuthenticationFailed` if the login fails, and other `KraftwireError`s if the server's
        answers are unusable. `max_bytes` bounds responses of APIs without a lower limit
        (`answers`). `max_batch_bytes` is the largest batch in a Fetch response.
        """
        problem = Address(host, port).problem
        if problem is not None:
            raise BadAddress(problem)
        context = security.context
        self = cls(f"{host}:{port}", client_id, max_bytes, max_batch_bytes)
        loop = asyncio.get_running_loop()
        server_hostname = host if context is not None else None
        await loop.create_connection(
            lambda: self, host, port, ssl=context, server_hostname=server_hostname
        )
        try:
            self.spoken = await self._ask_versions()
            if security.sasl is not None:
                await self._log_in(security)
        except BaseException:
            self.abort()
            raise
        return self

    @property
    def is_closed(self) -> bool:
        """Whether the connection is closed or closing."""
        return self.transport is None or self.transport.is_closing()

    @property
    def found_at(self) -> str | None:
        """The IP address of the server; None once the connection is closed."""
        name = None if self.transport is None else self.transport.get_extra_info("peername")
        return None if name is None else str(name[0])

    def version_for(self, message: Message) -> int:
        """Return the newest version that both ends speak and that can encode the message.

        Raise `UnsupportedVersion` if there is no such version.
        """
        return encode_newest(message, self.spoken).version

    async def ask(self, message: Message, version: int | None = None) -> Message:
        """Send a request, in the newest version by default, and return the response.

        Raise `ConnectionError` if the connection is lost first, and `DecodeError` if the response
        is invalid.
        """
        if version is None:
            encoded = encode_newest(message, self.spoken)
        else:
            encoded = Encoded(version, message.encode(version))
        await self._writable.wait()
        if self.transport is None or self.transport.is_closing():
            raise ConnectionError(f"{self.peer}: {self._why_closed}")
        number = self._next_number()
        header = registry.request_header(
            message, encoded.version, correlation_id=number, client_id=self._client_id
        )
        waiting = asyncio.get_running_loop().create_future()
        most = max_answer_bytes(message, self._max_bytes, self._max_batch_bytes)
        self._open[number] = _OpenRequest(header, type(message).__name__, most, waiting)
        head = header.encode(message.header_version(encoded.version))
        self.transport.write(add_size(head + encoded.body))
        return cast(Message, await waiting)

    async def close(self) -> None:
        """Close the connection, fail the open requests, and wait until it is closed."""
        self._fail("closed by this end")
        await self._gone.wait()

    def _next_number(self) -> int:
        while True:
            self._number = self._number + 1 if self._number < _LAST_ID else 1
            if self._number not in self._open:
                return self._number

    # -- before the first request --------------------------------------------------------------

    async def _ask_versions(self) -> dict[int, range]:
        request = api_versions_request()
        newest = request.VALID_VERSIONS[-1]
        response = cast(ApiVersionsResponse, await self.ask(request, newest))
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            again = await self.ask(request, retry_version(response))
            response = cast(ApiVersionsResponse, again)
        if response.error_code != ErrorCode.NONE:
            reason = f"{self.peer} refuses to report its versions: error {response.error_code}"
            raise KraftwireError(reason)
        return spoken_versions(response)

    async def _log_in(self, security: ClientSecurity) -> None:
        assert security.sasl is not None, "the caller checked it"
        try:
            await log_in(self.ask, security.sasl)
        except NoCommonVersion:
            raise AuthenticationFailed(f"{self.peer} does not accept logins (SASL)") from None

    # -- responses -----------------------------------------------------------------------------

    def frame_begins(self, size: int) -> bool:
        """Check the size; which response it is becomes known with its first bytes."""
        longest = max((request.most for request in self._open.values()), default=0)
        if _ID_BYTES <= size <= longest:
            return True
        if not self._open:
            self._fail(f"it sent {size} bytes without a request")
        else:
            asked = ", ".join(sorted({request.name for request in self._open.values()}))
            self._fail(f"it answered {asked} with {size} bytes; the limit is {longest}")
        return False

    def frame_received(self, frame: bytes) -> None:
        """Pass a response to the caller that waits for it."""
        number = int.from_bytes(frame[:_ID_BYTES], signed=True)
        request = self._open.get(number)
        if request is None:
            self._fail(f"it answered request {number}, which was not sent")
            return
        if len(frame) > request.most:
            reason = f"it answered {request.name} with {len(frame)} bytes"
            self._fail(f"{reason}; the limit is {request.most}")
            return
        del self._open[number]
        waiting = request.waiting
        if waiting.done():  # the caller was cancelled
            return
        try:
            _, message = registry.decode_response(frame, request.header)
        except KraftwireError as error:
            error.add_note(f"in a response of {self.peer}")
            waiting.set_exception(error)
        else:
            waiting.set_result(message)

    def lost(self, error: Exception | None) -> None:
        reason = "it closed the connection" if error is None else f"the connection broke: {error}"
        self._end(reason)
        self._gone.set()

    def _fail(self, reason: str) -> None:
        self._end(reason)
        self.abort()

    def _end(self, reason: str) -> None:
        """Fail the open requests; if there were several reasons, with the first."""
        waiting, self._open = self._open, {}
        self._writable.set()
        if not self._gone.is_set() and self._why_closed == "the connection is closed":
            self._why_closed = reason
        for request in waiting.values():
            if not request.waiting.done():
                request.waiting.set_exception(ConnectionError(f"{self.peer}: {self._why_closed}"))

    # -- asyncio -------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()
