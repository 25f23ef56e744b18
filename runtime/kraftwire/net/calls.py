"""A request that a server received, and its one response."""

from __future__ import annotations

from typing import Any, Protocol

from kraftwire_wire.message import Message


class Line(Protocol):
    """The connection of a request."""

    def reply(self, header: Any, response: Message) -> None:
        """Send a response and continue with the next request."""

    def hang_up(self) -> None:
        """Close the connection."""


class Call:
    """A request and its sender. Only the first `answer` or `disconnect` has an effect."""

    __slots__ = ("_header", "_line", "listener", "message", "peer", "principal")

    def __init__(
        self,
        line: Line,
        header: Any,
        message: Message,
        *,
        listener: str,
        principal: str | None,
        peer: str,
    ) -> None:
        self._line: Line | None = line
        self._header = header
        self.message = message
        self.listener = listener
        """The name of the listener."""
        self.principal = principal
        """The subject of the client's certificate, as Kafka prints it; None without one."""
        self.peer = peer
        """The client, HOST:PORT."""

    def __repr__(self) -> str:
        return f"<Call {type(self.message).__name__} {self.version} of {self.peer}>"

    @property
    def version(self) -> int:
        """The version of the request, and of the response."""
        return int(self._header.request_api_version)

    @property
    def client_id(self) -> str | None:
        name: str | None = self._header.client_id
        return name

    @property
    def is_open(self) -> bool:
        """Whether `answer` would send a response."""
        return self._line is not None

    def answer(self, response: Message, version: int | None = None) -> None:
        """Send the response without waiting.

        Do nothing if the connection is closed or the request has been answered. If the response
        cannot be encoded in that version, close the connection and raise `KraftwireError`.
        """
        line, self._line = self._line, None
        if line is None:
            return
        if version is not None:
            self._header.request_api_version = version
        try:
            line.reply(self._header, response)
        except BaseException:
            line.hang_up()
            raise

    def disconnect(self) -> None:
        """Close the connection instead of answering."""
        line, self._line = self._line, None
        if line is not None:
            line.hang_up()

    def lose(self) -> None:
        """Note that the connection is closed."""
        self._line = None
