"""Refuses requests that a client may not send, and logs refusals of the node and its replica."""

from __future__ import annotations

import logging
from collections.abc import Callable

from kraftwire.net.log_rate import LogRate
from kraftwire.net.server import Call
from kraftwire.printing import shortened
from kraftwire.raft.core.effects import RefusedClaim
from kraftwire.raft.core.listeners import announced_problem
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

_log = logging.getLogger("kraftwire.node")
_MAX_REASON = 500
"""Characters of a reason in a log line; long, as one about a limit says how to raise it."""
_VOTER_CHANGES: dict[type[Message], Callable[..., Message]] = {
    AddRaftVoterRequest: AddRaftVoterResponse,
    RemoveRaftVoterRequest: RemoveRaftVoterResponse,
    UpdateRaftVoterRequest: UpdateRaftVoterResponse,
}


class Refusals:
    """Checks requests before the replica gets them, and logs refusals at a bounded rate."""

    def __init__(self, principals: frozenset[str] | None) -> None:
        """`principals` are the certificate subjects that may change voters; None allows all."""
        self._principals = principals
        self._rate = LogRate(_log)
        self._claim_rate = LogRate(_log)

    def check(self, call: Call) -> Message | None:
        """Return the error to answer with if the client may not send this request."""
        kind = type(call.message)
        response = _VOTER_CHANGES.get(kind)
        if response and self._principals is not None and call.principal not in self._principals:
            if self._rate.allows(("refused", call.principal)):
                who = None if call.principal is None else shortened(call.principal)
                _log.warning("refused", extra={"what": kind.__name__, "who": who})
            return response(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        problem = announced_problem(call.message)
        if problem is not None and self._rate.allows(("announced", _host(call))):
            extra = {"what": kind.__name__, "who": call.peer, "why": problem}
            _log.warning("refused", extra=extra)
        return None

    def log_claim(self, effect: RefusedClaim) -> None:
        """Log that a peer sent an epoch or an offset that cannot exist."""
        peer = effect.peer
        if self._claim_rate.allows(_host(peer)):
            extra = {"who": shortened(_address(peer)), "why": shortened(effect.reason)}
            _log.warning("refused an impossible claim", extra=extra)

    def log_batches(self, leader_id: int | None, reason: str) -> None:
        """Log why the replica refused the leader's batches."""
        if self._claim_rate.allows(("batches", leader_id)):
            extra = {"leader": leader_id, "why": shortened(reason, _MAX_REASON)}
            _log.warning("refused batches", extra=extra)


def _address(peer: object) -> str:
    return peer.peer if isinstance(peer, Call) else str(peer)


def _host(peer: object) -> str:
    """Return the address without the port: a client has many ports."""
    return _address(peer).rpartition(":")[0]
