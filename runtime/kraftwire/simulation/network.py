"""Messages in flight between nodes.

A link goes one way, from a sender to a receiver. It delivers messages in order unless a step takes
a later one first. A cut link loses messages, and the sender does not learn of it.
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
"""The sender id of clients."""
STRANGER = -1
"""The sender id of the client outside the cluster."""


class Token(NamedTuple):
    """Identifies a request: its sender, and the incarnation and number there."""

    node: int
    incarnation: int
    number: int
    request: Message

    @property
    def is_of_node(self) -> bool:
        """Whether a node sent it, not a client or a stranger."""
        return self.node not in (CLIENT, STRANGER)


@dataclass(slots=True)
class Parcel:
    """A request, a response, or the failure of a request (`message` is None)."""

    sender: int
    receiver: int
    token: Token
    version: int
    message: Message | None
    content: LogSlice | SnapshotSlice | None = None
    """The bytes to read into the response when it is delivered."""
    is_request: bool = False  # not derived from the sender: a deceived node may send to itself
    is_unsupported: bool = False

    def input_for(self, incarnation: int) -> Input | None:
        """Return the receiver's input; None if an earlier incarnation sent the request."""
        if self.is_request:
            assert self.message is not None, "a request has a message"
            node, sent_in, number, _ = self.token
            token = Token(node, sent_in, number, self.message)  # with the decoded message
            return Request(token, self.message, self.version, LISTENER)
        if self.token.incarnation != incarnation:
            return None
        if self.message is None:
            return RequestFailed(self.token.number, self.is_unsupported)
        return Response(self.token.number, self.message)


class Network:
    """The links between nodes, by sender and receiver."""

    def __init__(self) -> None:
        self._links: dict[tuple[int, int], list[Parcel]] = {}
        self._cut: set[tuple[int, int]] = set()

    def send(self, parcel: Parcel) -> bool:
        """Put a parcel on its link; return False if the link is cut, which loses it."""
        link = (parcel.sender, parcel.receiver)
        if link in self._cut:
            return False
        self._links.setdefault(link, []).append(parcel)
        return True

    def take(self, sender: int, receiver: int, index: int, *, keep: bool = False) -> Parcel | None:
        """Return a parcel and remove it from its link, unless `keep`; None if none is there."""
        parcels = self._links.get((sender, receiver), [])
        if index >= len(parcels):
            return None
        return parcels[index] if keep else parcels.pop(index)

    def index_of(self, parcel: Parcel) -> int | None:
        """Return the index of a parcel on its link; None if it is no longer in flight."""
        parcels = self._links.get((parcel.sender, parcel.receiver), [])
        for index, one in enumerate(parcels):
            if one is parcel:
                return index
        return None

    def clear(self, sender: int, receiver: int) -> None:
        self._links.pop((sender, receiver), None)

    def cut(self, sender: int, receiver: int) -> bool:
        """Cut a link and lose all messages on it; return False if it was cut already."""
        if (sender, receiver) in self._cut:
            return False
        self._cut.add((sender, receiver))
        self.clear(sender, receiver)
        return True

    def mend(self, sender: int, receiver: int) -> bool:
        """Restore a link; return False if it was not cut."""
        if (sender, receiver) not in self._cut:
            return False
        self._cut.remove((sender, receiver))
        return True

    @property
    def cuts(self) -> list[tuple[int, int]]:
        return sorted(self._cut)


def transcode(message: Message, version: int) -> Message:
    """Encode and decode a message; raise `KraftwireError` if the copy encodes differently."""
    data = message.encode(version)
    copy = type(message).decode(data, version)
    if copy.encode(version) != data:
        name = type(message).__name__
        raise KraftwireError(f"{name} {version} encodes differently after decoding: {message}")
    return copy
