"""Ports on loopback that tests tell others before anybody listens on them."""

from __future__ import annotations

import socket

HOST = "127.0.0.1"
_HELD: list[socket.socket] = []


def held_port() -> int:
    """A port for one who says that its address may be reused, as servers do.

    It stays bound until the tests end, so that it is given to nobody else meanwhile. While
    nobody listens, connections to it are refused.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind((HOST, 0))
    _HELD.append(held)
    port: int = held.getsockname()[1]
    return port
