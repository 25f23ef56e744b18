"""The longest response that a client reads, by API.

Responses of honest servers are far shorter. Decoding takes up to sixty times the size of a
response, so with a single limit for all APIs a hostile server could take gigabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
"""Fits an answer about one thing: an error, a leader, its endpoints, the versions of all APIs."""
_LIST = 1 << 20
"""Fits an answer with a line for each replica or broker."""
LARGEST_BATCH = 8 << 20
"""A KRaft leader writes no larger batches; Fetch returns at least one whole batch."""


def _of_fetch(request: FetchRequest, batch: int) -> int:
    return max(request.max_bytes, batch) + _SMALL


def _of_fetch_snapshot(request: FetchSnapshotRequest, batch: int) -> int:
    return max(request.max_bytes, 0) + _SMALL


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
_BY_REQUEST: Mapping[type[Message], Callable[..., int]] = {
    FetchRequest: _of_fetch,
    FetchSnapshotRequest: _of_fetch_snapshot,
}


def max_answer_bytes(request: Message, most: int, batch: int = LARGEST_BATCH) -> int:
    """Return how many bytes the response to a request may have; `most` for any other API.

    `batch` is how large a record batch may be, which Fetch returns whole.
    """
    kind = type(request)
    by_request = _BY_REQUEST.get(kind)
    if by_request is not None:
        return min(by_request(request, batch), most)
    return min(_FIXED.get(kind, most), most)
