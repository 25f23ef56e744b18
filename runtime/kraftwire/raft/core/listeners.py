"""Checks of the endpoints that other nodes announce, before a replica or the log believes them.

A replica connects to an announced endpoint, writes it to the log and reports it to others, so it
has to be an address that can be resolved. Replicas refuse a request with a bad endpoint, and ignore
a bad endpoint in a response.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from kraftwire.address import Address
from kraftwire.raft.state.voters import Listener
from kraftwire_messages.kafka import UpdateRaftVoterResponse
from kraftwire_wire.message import Message

MOST_LISTENERS = 32
"""More than a node has use for; each is in every later voter set."""
_NAME = re.compile(r"[0-9A-Za-z_.\-]{1,255}")
_SHOWN = 80


def listeners_problem(listeners: Iterable[Listener]) -> str | None:
    """Return what is wrong with the listeners of a node, for people; None if they are valid."""
    listeners = tuple(listeners)
    if len(listeners) > MOST_LISTENERS:
        return f"A node has at most {MOST_LISTENERS} listeners, not {len(listeners)}."
    for name, host, port in listeners:
        if not _NAME.fullmatch(name):
            return f"{name[:_SHOWN]!a} is not the name of a listener."
        problem = Address(host, port).problem
        if problem is not None:
            return f"Listener {name[:_SHOWN]} cannot be reached: {problem}."
    return None


def announced_problem(message: Message) -> str | None:
    """Return what is wrong with the endpoints in a message; None if they are valid."""
    for field in ("leader_endpoints", "listeners"):
        announced: list[Any] = getattr(message, field, [])
        problem = listeners_problem(Listener(one.name, one.host, one.port) for one in announced)
        if problem is not None:
            return problem
    for one in _endpoints(message):
        problem = Address(one.host, one.port).problem
        if problem is not None:
            return f"The leader cannot be reached: {problem}."
    return None


def _endpoints(message: Message) -> list[Any]:
    if isinstance(message, UpdateRaftVoterResponse):
        leader = message.current_leader
        return [] if leader is None or not leader.host else [leader]
    endpoints: list[Any] = getattr(message, "node_endpoints", [])
    return endpoints
