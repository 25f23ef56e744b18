"""Who may change the voters: the names that a listener with mutual TLS gives to its clients."""

from __future__ import annotations

from collections.abc import Callable

from kraftwire.net.server import Call
from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode

_RESPONSES: dict[type[Message], Callable[..., Message]] = {
    AddRaftVoterRequest: AddRaftVoterResponse,
    RemoveRaftVoterRequest: RemoveRaftVoterResponse,
    UpdateRaftVoterRequest: UpdateRaftVoterResponse,
}


def is_allowed(call: Call, principals: frozenset[str] | None) -> bool:
    """Whether whoever calls may ask for that; `principals` may change voters, None for all."""
    if principals is None or type(call.message) not in _RESPONSES:
        return True
    return call.principal in principals


def refusal(call: Call) -> Message:
    """The answer to whoever may not."""
    error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return _RESPONSES[type(call.message)](error_code=error)
