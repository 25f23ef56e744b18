"""Server connections: each request is answered before the next is read, as in Kafka.

That is the back-pressure. One timer bounds the current phase: waiting for the first request, for
the rest of a request, for the next one, or for the client to read a response. No timer runs while a
request is handled.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from struct import Struct as Form
from typing import Any

from kraftwire.net.admission import Admission
from kraftwire.net.calls import Call
from kraftwire.net.complaints import Complaints, Reason
from kraftwire.net.frames import FrameProtocol
from kraftwire.net.limits import Limits
from kraftwire.net.principal import subject_of
from kraftwire_messages.kafka import ApiVersionsResponse, registry
from kraftwire_wire.errors import KraftwireError, format_versions
from kraftwire_wire.framing import add_size
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ApiKey, ErrorCode

_KEY_AND_VERSION = Form(">hh")
_LEAST_BYTES = 8
"""A request header has at least an API key, a version and a correlation id."""
_UNSENT_BYTES = 64 << 10
"""The next request waits while more bytes of a response are unsent."""


@dataclass
class Service:
    """The state that all connections of a server share."""

    apis: Mapping[int, range]
    handle: Callable[[Call], None]
    on_lost: Callable[[Call], None] | None
    limits: Limits
    complaints: Complaints
    is_known: Callable[[str], bool]
    """Whether an address belongs to a known host."""
    is_closing: bool = False
    held_bytes: int = 0
    """The total size of the long requests that are open."""
    stuck: dict[ServerConnection, None] = field(default_factory=dict)
    """Connections with a full write buffer, the oldest first."""

    def __post_init__(self) -> None:
        self.admission = Admission(self.limits)

    def bound_unsent(self) -> None:
        """Drop the slowest readers while unsent responses exceed the limit."""
        unsent = {served: served.unsent_bytes for served in self.stuck}
        total = sum(unsent.values())
        for served, size in list(unsent.items())[:-1]:
            if total <= self.limits.unsent_bytes:
                return
            served.drop(Reason.SLOW_READER, f"{size} bytes are unsent, {total} in all")
            total -= size


class ServerConnection(FrameProtocol):
    """A connection of a server."""

    def __init__(self, service: Service, listener: str, address: str, peer: str) -> None:
        super().__init__()
        self.listener = listener
        self.address = address
        """The peer without its port."""
        self.peer = peer
        self.is_proven = False
        """Whether the client has sent a valid request."""
        loop = asyncio.get_running_loop()
        self.idle_since = loop.time()
        self.arrival: asyncio.Task[None] | None = None
        """The task that sets up the connection, with the TLS handshake."""
        self._loop = loop
        self._service = service
        self._principal: str | None = None
        self._is_known = service.is_known(address)
        self._call: Call | None = None
        self._held_bytes = 0
        self._is_reading = False
        """Whether a request has arrived in part."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether it has no open request or response."""
        return self._call is None and self not in self._service.stuck and not self._is_reading

    @property
    def is_trusted(self) -> bool:
        """Whether TLS has authenticated the client, or its host was known when it connected."""
        return self._is_known or self._principal is not None

    @property
    def unsent_bytes(self) -> int:
        """Bytes of responses that are not sent yet."""
        return 0 if self.transport is None else self.transport.get_write_buffer_size()

    # -- the end -------------------------------------------------------------------------------

    def drop(self, reason: Reason, detail: object) -> None:
        """Close the connection, and count and log the reason."""
        self._service.complaints.add(self.address, self.peer, reason, detail)
        self.hang_up()

    def hang_up(self) -> None:
        """Close the connection immediately."""
        self._service.admission.remove(self)
        if self.transport is not None:
            self.abort()
        elif self.arrival is not None:
            self.arrival.cancel()

    def leave(self) -> None:
        """Close the connection, or let `_next` close it after the open request."""
        if self.transport is None:
            self.hang_up()
        elif self._call is None and self not in self._service.stuck:
            self.close_when_sent()

    def lost(self, error: Exception | None) -> None:
        self._stop_waiting()
        self._release_held_bytes()
        self._service.admission.remove(self)
        self._service.stuck.pop(self, None)
        call, self._call = self._call, None
        if call is not None and call.is_open:
            call.lose()
            if self._service.on_lost is not None:
                self._service.on_lost(call)

    # -- requests ------------------------------------------------------------------------------

    def frame_begins(self, size: int) -> bool:
        """Check the size of a request before it takes memory."""
        limits = self._service.limits
        most = limits.request_bytes if self.is_proven else limits.small_request_bytes
        if not _LEAST_BYTES <= size <= most:
            self.drop(Reason.SIZE, f"{size} bytes; requests have {_LEAST_BYTES} to {most}")
            return False
        if size > limits.small_request_bytes:
            if self._service.held_bytes + size > limits.held_bytes:
                self.drop(Reason.NO_ROOM, f"{size} bytes")
                return False
            self._held_bytes = size
            self._service.held_bytes += size
        self._is_reading = True
        if self.is_proven:  # otherwise the timer since the connection was made goes on
            self._wait(limits.frame_s, Reason.HALF_FRAME)
        return True

    def frame_received(self, frame: bytes) -> None:
        """Pass a request to the handler, and read no other until it is answered."""
        self._is_reading = False
        self._stop_waiting()
        key, version = _KEY_AND_VERSION.unpack_from(frame)
        spoken = self._service.apis.get(key)
        if spoken is None:
            self.drop(Reason.UNKNOWN_API, f"API key {key}")
            return
        try:
            if version in spoken:
                header, message = registry.decode_request(frame)
            elif key == ApiKey.API_VERSIONS:
                header, _ = registry.decode_request_header(frame)
                message = None
            else:
                reason = f"API key {key}, version {version}, not {format_versions(spoken)}"
                self.drop(Reason.UNKNOWN_VERSION, reason)
                return
        except KraftwireError as error:
            self.drop(Reason.UNDECODABLE, error)
            return
        if message is None:
            self._answer_versions(header, spoken)
            return
        self.is_proven = True
        self.hold()
        self._call = Call(
            self,
            header,
            message,
            listener=self.listener,
            principal=self._principal,
            peer=self.peer,
        )
        self._service.handle(self._call)

    def _answer_versions(self, header: Any, spoken: range) -> None:
        """Answer a newer client in version 0, with the versions it can retry with (KIP-511)."""
        self.hold()
        known = ApiVersionsResponse.ApiVersion(
            api_key=ApiKey.API_VERSIONS, min_version=spoken[0], max_version=spoken[-1]
        )
        response = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[known])
        self.reply(header, response)

    # -- answers -------------------------------------------------------------------------------

    def reply(self, header: Any, response: Message) -> None:
        frame = add_size(registry.encode_response(header, response))
        self._call = None
        self._release_held_bytes()
        if self.transport is None:
            return
        self.transport.write(frame)
        if self in self._service.stuck:
            self._wait(self._service.limits.send_s, Reason.SLOW_READER)
            self._service.bound_unsent()
        else:
            self._next()

    def _next(self) -> None:
        """Continue with the next request, which may have arrived already."""
        if self._service.is_closing:
            self.close_when_sent()
            return
        self.idle_since = self._loop.time()
        limits = self._service.limits
        if self.is_proven:
            self._wait(limits.idle_s, Reason.IDLE)
        else:
            self._wait(limits.frame_s, Reason.HALF_FRAME)
        self.release()

    def _release_held_bytes(self) -> None:
        """Release the memory of a long request."""
        self._service.held_bytes -= self._held_bytes
        self._held_bytes = 0

    # -- time ----------------------------------------------------------------------------------

    def _wait(self, seconds: float, reason: Reason) -> None:
        self._stop_waiting()
        self._timer = self._loop.call_later(seconds, self.drop, reason, f"{seconds} s")

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # -- asyncio -------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert self.transport is not None, "it has just been made"
        self.transport.set_write_buffer_limits(high=_UNSENT_BYTES)
        self._wait(self._service.limits.frame_s, Reason.HALF_FRAME)
        spoken: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
        certificate = None if spoken is None else spoken.getpeercert(binary_form=True)
        if certificate is not None:
            try:
                self._principal = subject_of(certificate)
            except KraftwireError as error:
                self.drop(Reason.HANDSHAKE, error)

    def pause_writing(self) -> None:
        self._service.stuck[self] = None

    def resume_writing(self) -> None:
        if self in self._service.stuck:
            del self._service.stuck[self]
            self._next()
