"""What is on its way between nodes.

A link goes one way, from a sender to a receiver; both keep their order unless a step says
otherwise. Where a link is cut, what is sent is lost, and nobody is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kraftwire.raft.core.effects import LogSlice, SnapshotSlice
from kraftwire.raft.core.inputs import Input, Request, RequestFailed, Response
from kraftwire.simulation.scenario import LISTENER
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message

CLIENT = 0
"""Who asks for work; it is no node."""
STRANGER = -1
"""Who asks for anything, and is no node either."""


class Token(NamedTuple):
    """Who waits for a reply: which request of which life of a node, and what it asked."""

    node: int
    life: int
    number: int
    asked: Message

    @property
    def is_of_node(self) -> bool:
        """Whether a node waits, and not a client or a stranger."""
        return self.node not in (CLIENT, STRANGER)


@dataclass(slots=True)
class Parcel:
    """A request, a response, or the news that there will be none (`message` is None)."""

    sender: int
    receiver: int
    number: int
    """Of the request, as the node that asked counts them."""
    life: int
    """In which of its lives that node asked."""
    version: int
    message: Message | None
    content: LogSlice | SnapshotSlice | None = None
    """What the bytes of a response are, which are read when they are handed over."""
    is_request: bool = False
    is_unsupported: bool = False

    def input_for(self, life: int) -> Input | None:
        """What the receiver is handed; None in a life in which it has not asked."""
        if self.is_request:
            assert self.message is not None, "a request says something"
            token = Token(self.sender, self.life, self.number, self.message)
            return Request(token, self.message, self.version, LISTENER)
        if self.life != life:
            return None
        if self.message is None:
            return RequestFailed(self.number, self.is_unsupported)
        return Response(self.number, self.message)


class Network:
    """The links between nodes."""

    def __init__(self) -> None:
        self._links: dict[tuple[int, int], list[Parcel]] = {}
        self._cut: set[tuple[int, int]] = set()

    def send(self, parcel: Parcel) -> bool:
        """Put a parcel on its way; whether it is on it."""
        link = (parcel.sender, parcel.receiver)
        if link in self._cut:
            return False
        self._links.setdefault(link, []).append(parcel)
        return True

    def take(self, sender: int, receiver: int, place: int, *, keep: bool = False) -> Parcel | None:
        """A parcel by its place on a link, which it leaves unless it is to be kept."""
        parcels = self._links.get((sender, receiver), [])
        if place >= len(parcels):
            return None
        return parcels[place] if keep else parcels.pop(place)

    def place_of(self, parcel: Parcel) -> int | None:
        """The place of a parcel on its link; None where it is not there any more."""
        parcels = self._links.get((parcel.sender, parcel.receiver), [])
        for place, one in enumerate(parcels):
            if one is parcel:
                return place
        return None

    def clear(self, sender: int, receiver: int) -> None:
        """Lose all that is on a link."""
        self._links.pop((sender, receiver), None)

    def cut(self, sender: int, receiver: int) -> bool:
        """Cut a link, with all that is on it; whether it was whole."""
        if (sender, receiver) in self._cut:
            return False
        self._cut.add((sender, receiver))
        self.clear(sender, receiver)
        return True

    def mend(self, sender: int, receiver: int) -> bool:
        """Mend a link; whether it was cut."""
        if (sender, receiver) not in self._cut:
            return False
        self._cut.remove((sender, receiver))
        return True

    @property
    def cuts(self) -> list[tuple[int, int]]:
        """The links that are cut, by sender and receiver."""
        return sorted(self._cut)


def through_codecs(message: Message, version: int) -> Message:
    """What a receiver decodes from what a sender has encoded.

    `KraftwireError` where that does not encode to the same bytes again.
    """
    data = message.encode(version)
    copy = type(message).decode(data, version)
    if copy.encode(version) != data:
        raise KraftwireError(f"{type(message).__name__} {version} does not survive: {message}")
    return copy
