"""A frame: one request or response as it went over a connection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Direction = Literal["request", "response"]


@dataclass(frozen=True, slots=True)
class PacketPlace:
    """Where a frame was in a packet capture.

    Fields:
        packet: the number of the packet that completed the frame, from 1.
        seconds: the time of that packet, in seconds since 1970.
        offset: the position of its length prefix in the bytes that its sender sent, counted
            from the first captured byte if the beginning was not captured.
        client, server: address and port of either side, such as `10.0.0.1:9092`.
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
        connection: distinguishes the connections of one recording; any whole number.
        direction: who sent it, the client (`request`) or the broker (`response`).
        time: seconds since the recording began.
        data: the bytes, without the length prefix.
        place: where it was in a packet capture; None for other recordings.
        broker: the HOST:PORT that its connection went to, if the recorder knew it.
        redacted: paths of the fields that were removed from the bytes; "*" for all of them.
    """

    connection: int
    direction: Direction
    time: float
    data: bytes
    place: PacketPlace | None = field(default=None, compare=False)
    broker: str | None = None
    redacted: tuple[str, ...] = ()
