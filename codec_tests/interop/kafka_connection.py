"""A connection to a broker or controller that uses only our codecs."""

from __future__ import annotations

import itertools
import socket
from typing import Any, Self

from kraftwire_messages.kafka import registry
from kraftwire_wire.framing import add_size
from kraftwire_wire.message import Message

HOST = "127.0.0.1"
_SECONDS = 10


class Connection:
    """Sends requests one at a time and reads each response."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), _SECONDS)
        self._numbers = itertools.count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._socket.close()

    def ask(self, message: Message, version: int) -> Any:
        """Send a request and return the response."""
        number = next(self._numbers)
        header = registry.request_header(
            message, version, correlation_id=number, client_id="kraftwire"
        )
        self._socket.sendall(add_size(registry.encode_request(header, message)))
        size = int.from_bytes(self._receive(4))
        _, response = registry.decode_response(self._receive(size), header)
        return response

    def _receive(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            data = self._socket.recv(size - len(received))
            if not data:
                raise ConnectionError("the broker closed the connection")
            received += data
        return bytes(received)
