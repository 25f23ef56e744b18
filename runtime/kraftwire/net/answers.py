"""Bounds the responses that a client reads, by API.

Responses of honest servers are far shorter. Decoding takes up to sixty times the size of a
response, so with a single limit for all APIs a hostile server could take gigabytes.
"""

from __future__ import annotations

from collections.abc import Mapping

from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    ApiVersionsRequest,
    BeginQuorumEpochRequest,
    DescribeClusterRequest,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    RemoveRaftVoterRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
    UpdateRaftVoterRequest,
    VoteRequest,
)
from kraftwire_wire.message import Message

_SMALL = 64 << 10
"""Enough for an error, a leader, its endpoints, or the versions of all APIs."""
_LIST = 1 << 20
"""Enough for an entry for each replica or broker."""
LARGEST_BATCH = 8 << 20
"""A KRaft leader writes no larger batches; Fetch returns at least one whole batch."""

_FIXED: Mapping[type[Message], int] = {
    ApiVersionsRequest: _SMALL,
    SaslHandshakeRequest: _SMALL,
    SaslAuthenticateRequest: _SMALL,
    VoteRequest: _SMALL,
    BeginQuorumEpochRequest: _SMALL,
    EndQuorumEpochRequest: _SMALL,
    AddRaftVoterRequest: _SMALL,
    RemoveRaftVoterRequest: _SMALL,
    UpdateRaftVoterRequest: _SMALL,
    DescribeQuorumRequest: _LIST,
    DescribeClusterRequest: _LIST,
}


def max_answer_bytes(request: Message, most: int, batch: int = LARGEST_BATCH) -> int:
    """Return the largest size of the response to a request; at most, and by default, `most`.

    `batch` is the largest size of a record batch, which Fetch returns whole.
    """
    match request:
        case FetchRequest():
            limit = max(request.max_bytes, batch) + _SMALL
        case FetchSnapshotRequest():
            limit = max(request.max_bytes, 0) + _SMALL
        case _:
            limit = _FIXED.get(type(request), most)
    return min(limit, most)
