"""A frame: one request or response as it went over a connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["request", "response"]


@dataclass(frozen=True, slots=True)
class Frame:
    """One message on the wire.

    Fields:
        connection: tells the connections of one recording apart; any whole number.
        direction: who sent it, the client (`request`) or the broker (`response`).
        time: seconds since the recording began.
        data: the bytes, without the length prefix.
    """

    connection: int
    direction: Direction
    time: float
    data: bytes
