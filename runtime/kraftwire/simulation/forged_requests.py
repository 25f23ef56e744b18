"""Draws forged requests, which a stranger, a client outside the cluster, sends to nodes.

A request is drawn from one number and from the state of the replica that receives it. The most
dangerous values are the replica's own epoch, its log end offset, and the limits of integer types.

A stranger may claim any id, with two limits. It never fetches or updates as a voter: a forged Fetch
looks like the voter's own, and would commit records that the voter does not have. (TLS client
certificates keep strangers out.) If the voter set has no directory ids, the id alone identifies the
voter. And the stranger has no listener, so that it cannot become a voter.
"""

from __future__ import annotations

from random import Random
from uuid import UUID

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.messages import (
    add_raft_voter_request,
    begin_quorum_epoch_request,
    end_quorum_epoch_request,
    fetch_request,
    fetch_snapshot_request,
    remove_raft_voter_request,
    update_raft_voter_request,
    vote_request,
)
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch, UpToDate
from kraftwire.raft.state.bounds import MAX_EPOCH, MAX_JUMP, MAX_OFFSET
from kraftwire.raft.state.voters import NO_DIRECTORY, Listener, ReplicaKey, Voter
from kraftwire.simulation.scenario import CLUSTER, listeners_of
from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    DescribeClusterRequest,
    DescribeQuorumRequest,
)
from kraftwire_wire.message import Message

DRAWS = 1 << 30
"""The upper bound of request seeds."""

_ID = 99
"""An id that no node has."""
_DIRECTORY = UUID(int=_ID)
_NOWHERE = listeners_of(_ID)
_MAX_INT32, _MAX_INT64 = (1 << 31) - 1, (1 << 63) - 1
_SIZES = (-_MAX_INT32 - 1, -1, 0, 1, 1000, _MAX_INT32)


def draw_request(seed: int, core: Core, nodes: range) -> Message:
    """Return the request that a seed determines, given the state of its receiver."""
    return _RequestDraw(Random(seed), core, nodes).request()


class _RequestDraw:
    """Draws a request and its fields."""

    def __init__(self, rng: Random, core: Core, nodes: range) -> None:
        self._rng = rng
        self._choice = rng.choice
        self._core = core
        self._nodes = nodes

    def request(self) -> Message:
        kinds = (
            *(self._vote, self._vote, self._pre_vote, self._begin, self._begin, self._end),
            *(self._fetch, self._fetch, self._fetch_snapshot),
            *(self._add, self._remove, self._update, self._describe),
        )
        return self._choice(kinds)()

    def _pre_vote(self) -> Message:
        return self._vote(pre_vote=True)

    def _vote(self, *, pre_vote: bool = False) -> Message:
        epoch = self._epoch()
        last = self._choice((epoch - 1, epoch - 1, self._core.log.last_epoch, self._epoch()))
        end = UpToDate(_int32(last), self._offset())
        cluster_id = self._choice((CLUSTER, CLUSTER, None))
        voter = self._choice((self._core.key, self._core.key, ReplicaKey(-1), self._key()))
        return vote_request(cluster_id, self._key(), voter, epoch, end, pre_vote=pre_vote)

    def _begin(self) -> Message:
        voter = self._choice((self._core.key, self._core.key, self._key()))
        return begin_quorum_epoch_request(
            CLUSTER, self._id(), voter, self._epoch(), self._listeners()
        )

    def _end(self) -> Message:
        successors = [self._key() for _ in range(self._rng.randrange(3))]
        return end_quorum_epoch_request(
            CLUSTER, self._id(), self._epoch(), successors, self._listeners()
        )

    def _fetch(self) -> Message:
        fetched = OffsetAndEpoch(self._offset(), self._choice((0, self._epoch())))
        return fetch_request(
            CLUSTER,
            self._outsider(),
            self._epoch(),
            fetched,
            self._offset(),
            max_wait_ms=self._choice((0, 500, *_SIZES)),
            max_bytes=self._choice(_SIZES),
        )

    def _fetch_snapshot(self) -> Message:
        known = self._core.log.latest_snapshot or OffsetAndEpoch(0, 0)
        snapshot = self._choice((known, OffsetAndEpoch(self._offset(), self._epoch())))
        return fetch_snapshot_request(
            CLUSTER,
            self._outsider(),
            self._epoch(),
            snapshot,
            self._offset(),
            max_bytes=self._choice(_SIZES),
        )

    def _add(self) -> Message:
        voter = Voter(self._outsider(), _NOWHERE, 0, 1)
        timeout_ms = self._choice((0, 500, *_SIZES))
        return add_raft_voter_request(
            CLUSTER, voter, timeout_ms=timeout_ms, ack_when_committed=True
        )

    def _remove(self) -> Message:
        return remove_raft_voter_request(CLUSTER, self._outsider())

    def _update(self) -> Message:
        low, high = (self._choice((-(1 << 15), -1, 0, 1, (1 << 15) - 1)) for _ in range(2))
        voter = Voter(self._outsider(), self._listeners(), low, high)
        return update_raft_voter_request(CLUSTER, self._epoch(), voter)

    def _describe(self) -> Message:
        kinds = (ApiVersionsRequest, DescribeClusterRequest, DescribeQuorumRequest)
        return self._choice(kinds)()

    # -- fields --------------------------------------------------------------------------------

    def _epoch(self) -> int:
        """Return an epoch near the replica's, or at a limit of `bounds` or of int32."""
        own = self._core.epoch
        near = (own - 1, own, own, own + 1, own + 1, own + 2, own + 7)
        bounds = (own + MAX_JUMP, own + MAX_JUMP + 1, own + (1 << 24), MAX_EPOCH, MAX_EPOCH + 1)
        limits = (-_MAX_INT32 - 1, -1, 0, _MAX_INT32 - 1, _MAX_INT32)
        return _int32(self._choice(self._choice((near, near, bounds, limits))))

    def _offset(self) -> int:
        end = self._core.log.end
        near = (0, self._core.committed, end - 1, end, end, end + 1)
        limits = (-_MAX_INT64 - 1, -1, MAX_OFFSET, MAX_OFFSET + 1, _MAX_INT64)
        return self._choice(self._choice((near, near, limits)))

    def _id(self) -> int:
        return self._choice((_ID, self._choice(self._nodes), -1, 0, _MAX_INT32))

    def _key(self) -> ReplicaKey:
        """Return any key: a voter's, or an id with a foreign directory id or without one."""
        voters = [voter.key for voter in self._core.voters]
        directory = self._choice((_DIRECTORY, NO_DIRECTORY))
        return self._choice((*voters, ReplicaKey(self._id(), directory)))

    def _outsider(self) -> ReplicaKey:
        """Return a key that identifies no voter."""
        key = ReplicaKey(self._id(), self._choice((_DIRECTORY, NO_DIRECTORY)))
        voters = self._core.voters
        has_no_directory = any(
            voter.key.directory_id == NO_DIRECTORY for voter in voters.of_id(key.id)
        )
        is_voter = has_no_directory or voters.find(key) is not None
        return ReplicaKey(_ID, _DIRECTORY) if is_voter else key

    def _listeners(self) -> tuple[Listener, ...]:
        """Return an address without a listener once or twice, a node's listeners, or none."""
        node = listeners_of(self._choice(self._nodes))
        return self._choice((_NOWHERE, _NOWHERE * 2, node, ()))


def _int32(number: int) -> int:
    return max(-_MAX_INT32 - 1, min(number, _MAX_INT32))
