"""A frame: one request or response as it went over a connection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Direction = Literal["request", "response"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a packet capture a frame stood.

    Fields:
        packet: the number of the packet that completed it, from 1.
        seconds: the time of that packet, in seconds since 1970.
        offset: where its length prefix is in the bytes that its sender sent; counted from
            the first byte that was captured, where the beginning was not.
        client, server: address and port of either, such as `10.0.0.1:9092`.
    """

    packet: int
    seconds: float
    offset: int
    client: str
    server: str


@dataclass(frozen=True, slots=True)
class Frame:
    """One message on the wire.

    Fields:
        connection: tells the connections of one recording apart; any whole number.
        direction: who sent it, the client (`request`) or the broker (`response`).
        time: seconds since the recording began.
        data: the bytes, without the length prefix.
        place: where it stood in a packet capture; None where it is not out of one.
        broker: the HOST:PORT that its connection went to, as a recorder knew it, or None.
        redacted: paths of what the bytes no longer say; "*" where that is everything.
    """

    connection: int
    direction: Direction
    time: float
    data: bytes
    place: Place | None = field(default=None, compare=False)
    broker: str | None = None
    redacted: tuple[str, ...] = ()
