"""Fetch, as a leader answers it: the log, or where it parts from the follower's, or a snapshot.

A Fetch that can be served says up to where the follower's log is durable, which is what commits
records. One that finds nothing new is parked until there is, or its time is over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kraftwire.raft.core.claims import accepts_epoch, is_possible_offset
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import LogSlice
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.messages import METADATA_TOPIC_ID, PARTITION, partition_of
from kraftwire.raft.core.replies import is_of_this_cluster, leader_of, reply, tell_endpoint
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.election.leadership import note_fetch
from kraftwire.raft.metadata_log.log_state import Diverging, NeedsSnapshot, OffsetAndEpoch, Valid
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_messages.kafka import FetchRequest, FetchResponse
from kraftwire_wire.numbers import ErrorCode

_UNKNOWN = -1
_FIRST_WITH_ENDPOINTS = 17


class _Found(NamedTuple):
    """What there is for a follower; `is_news` says whether it is worth an answer at once."""

    error: ErrorCode = ErrorCode.NONE
    comparison: Valid | Diverging | NeedsSnapshot = Valid()
    content: LogSlice | None = None
    is_news: bool = True


def handle_fetch(core: Core, request: Request, message: FetchRequest) -> None:
    """Answer a Fetch, or park it."""
    partition: FetchRequest.FetchPartition | None = partition_of(message)
    if not is_of_this_cluster(core, message.cluster_id):
        reply(core, request, FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID))
    elif partition is None:
        reply(core, request, FetchResponse(error_code=ErrorCode.INVALID_REQUEST))
    elif (
        message.max_wait_ms < 0
        or partition.fetch_offset < 0
        or partition.last_fetched_epoch < 0
        or partition.last_fetched_epoch > partition.current_leader_epoch
        or not is_possible_offset(core, partition.fetch_offset, "fetch offset")
    ):
        _answer(core, request, _Found(ErrorCode.INVALID_REQUEST))
    else:
        found = _look(core, message, partition)
        role = core.role
        knows_less = partition.high_watermark < _high_watermark(core)
        if found.is_news or message.max_wait_ms == 0 or knows_less or not isinstance(role, Leader):
            _answer(core, request, found)
        else:
            role.parked.add(request, core.now + message.max_wait_ms)
            if len(role.parked) > core.config.max_parked:
                _answer_again(core, role.parked.take_oldest())
        if found.error is ErrorCode.UNKNOWN_LEADER_EPOCH:
            _give_way(core, message, partition)


def answer_parked(core: Core, *, due: bool = False) -> None:
    """Answer parked Fetches: all, or those that have waited long enough."""
    role = core.role
    if isinstance(role, Leader):
        for request in role.parked.take_due(core.now) if due else role.parked.take_all():
            _answer_again(core, request)


def refuse_parked(core: Core, leader: Leader) -> None:
    """Answer the Fetches that waited for a replica that does not lead any more."""
    for request in leader.parked.take_all():
        _answer(core, request, _Found(ErrorCode.NOT_LEADER_OR_FOLLOWER))


def forget_parked(core: Core, token: object) -> None:
    """Forget a Fetch whose client has gone."""
    if isinstance(core.role, Leader):
        core.role.parked.remove(token)


def _answer_again(core: Core, request: Request) -> None:
    """Answer a Fetch that was parked with what there is now."""
    message: Any = request.message
    _answer(core, request, _look(core, message, partition_of(message)))


def check_leader(core: Core, epoch: int) -> ErrorCode:
    """What is wrong with asking this replica as the leader of an epoch."""
    if epoch < core.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > core.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    is_leader = isinstance(core.role, Leader)
    return ErrorCode.NONE if is_leader else ErrorCode.NOT_LEADER_OR_FOLLOWER


def _look(core: Core, message: FetchRequest, partition: FetchRequest.FetchPartition) -> _Found:
    """What there is; a follower whose log is a part of this one is counted."""
    error = check_leader(core, partition.current_leader_epoch)
    replica = _replica_of(message, partition)
    if error is ErrorCode.NONE and replica.id == core.key.id:
        error = ErrorCode.UNKNOWN_SERVER_ERROR
    role = core.role
    if error is not ErrorCode.NONE or not isinstance(role, Leader):
        return _Found(error)
    fetched = OffsetAndEpoch(partition.fetch_offset, partition.last_fetched_epoch)
    comparison = core.log.compare(fetched)
    if not isinstance(comparison, Valid):
        return _Found(comparison=comparison)
    note_fetch(core, role, replica, fetched.offset)
    if fetched.offset == core.log.end:
        return _Found(is_news=False)
    size = min(message.max_bytes, core.config.fetch_max_bytes)
    return _Found(content=LogSlice(fetched.offset, size))


def _give_way(core: Core, message: FetchRequest, partition: FetchRequest.FetchPartition) -> None:
    """Go on to the later epoch of a replica that fetches, and do not lead any more.

    Its epoch never falls, so it could not follow before an election. A voter says so in the answer
    to BeginQuorumEpoch too; an observer has no other way. Kafka's leaders leave it behind.
    """
    epoch, replica_id = partition.current_leader_epoch, _replica_of(message, partition).id
    is_other = replica_id >= 0 and replica_id != core.key.id
    if is_other and isinstance(core.role, Leader) and accepts_epoch(core, epoch):
        core.become_unattached(epoch)


def _replica_of(message: FetchRequest, partition: FetchRequest.FetchPartition) -> ReplicaKey:
    """Who fetches; earlier versions have the id elsewhere."""
    state = message.replica_state
    replica_id = message.replica_id if state is None else state.replica_id
    return ReplicaKey(replica_id, partition.replica_directory_id)


def _high_watermark(core: Core) -> int:
    known = core.role.high_watermark if isinstance(core.role, Leader) else None
    return _UNKNOWN if known is None else known


def _answer(core: Core, request: Request, found: _Found) -> None:
    partition = FetchResponse.PartitionData(
        partition_index=PARTITION,
        error_code=found.error,
        high_watermark=_UNKNOWN if found.error else _high_watermark(core),
        log_start_offset=_UNKNOWN if found.error else core.log.start,
        current_leader=FetchResponse.LeaderIdAndEpoch(
            leader_id=leader_of(core), leader_epoch=core.epoch
        ),
        records=b"",
    )
    if isinstance(found.comparison, Diverging):
        end = found.comparison.end
        diverging = FetchResponse.EpochEndOffset(epoch=end.epoch, end_offset=end.offset)
        partition.diverging_epoch = diverging
    elif isinstance(found.comparison, NeedsSnapshot):
        offset, epoch = found.comparison.snapshot
        partition.snapshot_id = FetchResponse.SnapshotId(end_offset=offset, epoch=epoch)
    topic = FetchResponse.FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=[partition])
    response = FetchResponse(responses=[topic])
    tell_endpoint(core, request, response, since=_FIRST_WITH_ENDPOINTS)
    reply(core, request, response, found.content)
