"""Somebody who reaches the listeners of a cluster and is no part of it: requests with anything in.

A step has the number that all of a request is drawn from, beside what the node knows then: the
numbers that hurt most are its own epoch, the end of its log and those at the ends of their types.

A stranger may name any id, but does not fetch as a voter, or update one: nobody could tell such a
request from the voter's own, and a forged acknowledgement commits what nobody has (SSL with client
certificates keeps strangers out). For a voter set without directories the id alone is the voter.
It listens nowhere, so it cannot become a voter either.
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

ID = 99
"""The id of nobody."""
MOST_DRAWS = 1 << 30

_NOWHERE = listeners_of(ID)
_LAST_INT32, _LAST_INT64 = (1 << 31) - 1, (1 << 63) - 1
_DIRECTORY = UUID(int=ID)
_SIZES = (-_LAST_INT32 - 1, -1, 0, 1, 1000, _LAST_INT32)


def draw_request(number: int, core: Core, nodes: range) -> Message:
    """Return the request that a number stands for, to a replica that knows so much."""
    return _Draw(Random(number), core, nodes).request()


class _Draw:
    """Draws the parts of a request."""

    def __init__(self, chance: Random, core: Core, nodes: range) -> None:
        self._chance = chance
        self._core = core
        self._nodes = nodes

    def request(self) -> Message:
        kinds = (
            *(self._vote, self._vote, self._pre_vote, self._begin, self._begin, self._end),
            *(self._fetch, self._fetch, self._fetch_snapshot),
            *(self._add, self._remove, self._update, self._describe),
        )
        return self._chance.choice(kinds)()

    def _vote(self) -> Message:
        return self._ask_vote(pre_vote=False)

    def _pre_vote(self) -> Message:
        return self._ask_vote(pre_vote=True)

    def _ask_vote(self, *, pre_vote: bool) -> Message:
        epoch = self._epoch()
        last = self._chance.choice((epoch - 1, epoch - 1, self._core.log.last_epoch, self._epoch()))
        end = UpToDate(_int32(last), self._offset())
        cluster_id = self._chance.choice((CLUSTER, CLUSTER, None))
        voter = self._chance.choice((self._core.key, self._core.key, ReplicaKey(-1), self._key()))
        return vote_request(cluster_id, self._key(), voter, epoch, end, pre_vote=pre_vote)

    def _begin(self) -> Message:
        voter = self._chance.choice((self._core.key, self._core.key, self._key()))
        return begin_quorum_epoch_request(
            CLUSTER, self._id(), voter, self._epoch(), self._listeners()
        )

    def _end(self) -> Message:
        successors = [self._key() for _ in range(self._chance.randrange(3))]
        return end_quorum_epoch_request(
            CLUSTER, self._id(), self._epoch(), successors, self._listeners()
        )

    def _fetch(self) -> Message:
        fetched = OffsetAndEpoch(self._offset(), self._chance.choice((0, self._epoch())))
        return fetch_request(
            CLUSTER,
            self._outsider(),
            self._epoch(),
            fetched,
            self._offset(),
            max_wait_ms=self._chance.choice((0, 500, *_SIZES)),
            max_bytes=self._chance.choice(_SIZES),
        )

    def _fetch_snapshot(self) -> Message:
        known = self._core.log.latest_snapshot or OffsetAndEpoch(0, 0)
        other = OffsetAndEpoch(self._offset(), self._epoch())
        snapshot = self._chance.choice((known, other))
        return fetch_snapshot_request(
            CLUSTER,
            self._outsider(),
            self._epoch(),
            snapshot,
            self._offset(),
            max_bytes=self._chance.choice(_SIZES),
        )

    def _add(self) -> Message:
        voter = Voter(self._outsider(), _NOWHERE, 0, 1)
        timeout_ms = self._chance.choice((0, 500, *_SIZES))
        return add_raft_voter_request(
            CLUSTER, voter, timeout_ms=timeout_ms, ack_when_committed=True
        )

    def _remove(self) -> Message:
        return remove_raft_voter_request(CLUSTER, self._outsider())

    def _update(self) -> Message:
        least, most = (self._chance.choice((-(1 << 15), -1, 0, 1, (1 << 15) - 1)) for _ in "12")
        voter = Voter(self._outsider(), self._listeners(), least, most)
        return update_raft_voter_request(CLUSTER, self._epoch(), voter)

    def _describe(self) -> Message:
        kinds = (ApiVersionsRequest, DescribeClusterRequest, DescribeQuorumRequest)
        return self._chance.choice(kinds)()

    # -- parts ---------------------------------------------------------------------------------

    def _epoch(self) -> int:
        """An epoch: rather one near the replica's, or at an end of what there can be."""
        mine = self._core.epoch
        near = (mine - 1, mine, mine, mine + 1, mine + 1, mine + 2, mine + 7)
        far = (mine + MAX_JUMP, mine + MAX_JUMP + 1, mine + (1 << 24), MAX_EPOCH, MAX_EPOCH + 1)
        ends = (-_LAST_INT32 - 1, -1, 0, _LAST_INT32 - 1, _LAST_INT32)
        return _int32(self._chance.choice(self._chance.choice((near, near, far, ends))))

    def _offset(self) -> int:
        end = self._core.log.end
        near = (0, self._core.committed, end - 1, end, end, end + 1)
        ends = (-_LAST_INT64 - 1, -1, MAX_OFFSET, MAX_OFFSET + 1, _LAST_INT64)
        return self._chance.choice(self._chance.choice((near, near, ends)))

    def _id(self) -> int:
        return self._chance.choice((ID, self._chance.choice(self._nodes), -1, 0, _LAST_INT32))

    def _key(self) -> ReplicaKey:
        """Anybody: a voter too, with its directory or with none."""
        voters = [voter.key for voter in self._core.voters]
        directory = self._chance.choice((_DIRECTORY, NO_DIRECTORY))
        return self._chance.choice((*voters, ReplicaKey(self._id(), directory)))

    def _outsider(self) -> ReplicaKey:
        """Anybody who is no voter."""
        key = ReplicaKey(self._id(), self._chance.choice((_DIRECTORY, NO_DIRECTORY)))
        return ReplicaKey(ID, _DIRECTORY) if self._is_voter(key) else key

    def _is_voter(self, key: ReplicaKey) -> bool:
        """Whether a key is a voter's; the id is enough for a set that knows no directories."""
        voters = self._core.voters
        is_unnamed = any(one.key.directory_id == NO_DIRECTORY for one in voters.of_id(key.id))
        return is_unnamed or voters.find(key) is not None

    def _listeners(self) -> tuple[Listener, ...]:
        """Nowhere, once or twice, or where a node listens, or nothing."""
        node = listeners_of(self._chance.choice(self._nodes))
        return self._chance.choice((_NOWHERE, _NOWHERE * 2, node, ()))


def _int32(number: int) -> int:
    return max(-_LAST_INT32 - 1, min(number, _LAST_INT32))
