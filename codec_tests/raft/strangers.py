"""What a stranger says to replica 1, and what replica 1 is answered."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kraftwire.address import Address
from kraftwire.raft.core import messages
from kraftwire.raft.core.effects import Effect, RefusedClaim, Send
from kraftwire.raft.core.inputs import Response
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch, UpToDate
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.bounds import MAX_EPOCH
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import NO_VOTERS, Listener, ReplicaKey
from kraftwire_messages.kafka import FetchRequest, FetchResponse
from kraftwire_wire.message import Message

from codec_tests.raft.replicas import CLUSTER, LISTENER, ME, fetch_response, replica_of, sent

STRANGER = ReplicaKey(99, UUID(int=99))
LAST = (1 << 31) - 1
NEAR_THE_END = (MAX_EPOCH + 1, LAST - 1, LAST)
LOG = UpToDate(3, 1 << 40)
NOWHERE = (Listener(LISTENER, "127.0.0.1", 1),)
BOOTSTRAP = Address("127.0.0.1", 9009)


def vote(epoch: int, *, pre_vote: bool = False, key: ReplicaKey = STRANGER) -> Message:
    """Ask replica 1 for its vote; a stranger does."""
    return messages.vote_request(CLUSTER, key, ME, epoch, LOG, pre_vote=pre_vote)


def begin(epoch: int, leader: int = 99, listeners: Any = NOWHERE) -> Message:
    """Tell replica 1 who leads an epoch."""
    return messages.begin_quorum_epoch_request(CLUSTER, leader, ME, epoch, listeners)


def end(epoch: int) -> Message:
    """Tell replica 1 that an epoch has ended."""
    return messages.end_quorum_epoch_request(CLUSTER, 99, epoch, [ME], NOWHERE)


def fetch(epoch: int, key: ReplicaKey = STRANGER, offset: int = 0) -> Message:
    """Ask replica 1 for its log."""
    place = OffsetAndEpoch(offset, 0)
    return messages.fetch_request(CLUSTER, key, epoch, place, 0, max_wait_ms=0, max_bytes=9)


def answer(epoch: int, leader: int = -1, error: int = 0, **more: Any) -> FetchResponse:
    """What somebody answers to a Fetch."""
    more = {"high_watermark": 0, "records": b"", **more}
    return fetch_response(epoch, leader, error, **more)


def refused(effects: list[Effect]) -> list[RefusedClaim]:
    """What was refused since it cannot be."""
    return [one for one in effects if isinstance(one, RefusedClaim)]


def answered(replica: Replica, asked: Send, response: Message) -> list[Effect]:
    """Let somebody answer; what the replica does."""
    return replica.step(replica.core.now, Response(asked.number, response))


def bootstrapped(election: Election, **more: Any) -> tuple[Replica, Send]:
    """A new observer, and its first Fetch."""
    more = dict[str, Any](voters=NO_VOTERS, kraft_version=0, bootstrap=(BOOTSTRAP,)) | more
    replica = replica_of(election, **more)
    (asked,) = sent(replica.start(), FetchRequest)
    return replica, asked


def following(**more: Any) -> tuple[Replica, Send]:
    """A follower of epoch 3, and its Fetch."""
    replica = replica_of(Election(3, 2), **more)
    (asked,) = sent(replica.start(), FetchRequest)
    return replica, asked
