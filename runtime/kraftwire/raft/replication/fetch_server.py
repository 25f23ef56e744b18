"""Answers Fetch with the log, with the point where the logs diverge, or with a snapshot to fetch.

A Fetch reports the durable end of the follower's log, and so commits records. If the leader has
nothing new, the Fetch waits until it has, or until the deadline that the follower has set.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kraftwire.raft.core.claims import accepts_epoch, is_possible_offset
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import LogSlice
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.messages import METADATA_TOPIC_ID, PARTITION, partition_of
from kraftwire.raft.core.replies import accept_partition, add_endpoint, leader_of, reply
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.election.leadership import note_fetch
from kraftwire.raft.metadata_log.log_state import Diverging, NeedsSnapshot, OffsetAndEpoch, Valid
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_messages.kafka import FetchRequest, FetchResponse
from kraftwire_wire.numbers import ErrorCode

_UNKNOWN = -1
_FIRST_WITH_ENDPOINTS = 17


class _FetchResult(NamedTuple):
    """The answer to a Fetch; if it is no news for the follower, the Fetch may wait."""

    error: ErrorCode = ErrorCode.NONE
    comparison: Valid | Diverging | NeedsSnapshot = Valid()
    content: LogSlice | None = None
    is_news: bool = True


def handle_fetch(core: Core, request: Request, message: FetchRequest) -> None:
    """Answer a Fetch, or let it wait."""
    partition: FetchRequest.FetchPartition | None
    partition = accept_partition(core, request, FetchResponse)
    if partition is None:
        return
    if (
        message.max_wait_ms < 0
        or partition.fetch_offset < 0
        or partition.last_fetched_epoch < 0
        or partition.last_fetched_epoch > partition.current_leader_epoch
        or not is_possible_offset(core, partition.fetch_offset, "fetch offset")
    ):
        _answer(core, request, _FetchResult(ErrorCode.INVALID_REQUEST))
    else:
        result = _serve(core, message, partition)
        role = core.role
        knows_less = partition.high_watermark < _high_watermark(core)
        if result.is_news or message.max_wait_ms == 0 or knows_less or not isinstance(role, Leader):
            _answer(core, request, result)
        else:
            role.purgatory.add(request, core.now + message.max_wait_ms)
            if len(role.purgatory) > core.config.max_waiting_fetches:
                _answer_again(core, role.purgatory.pop_oldest())
        if result.error is ErrorCode.UNKNOWN_LEADER_EPOCH:
            _resign_for(core, message, partition)


def answer_waiting(core: Core, *, due: bool = False) -> None:
    """Answer all waiting Fetches; with `due`, only those whose deadline has come."""
    role = core.role
    if isinstance(role, Leader):
        for request in role.purgatory.pop_due(core.now) if due else role.purgatory.pop_all():
            _answer_again(core, request)


def refuse_waiting(core: Core, leader: Leader) -> None:
    """Refuse the Fetches that wait at a replica that no longer leads."""
    for request in leader.purgatory.pop_all():
        _answer(core, request, _FetchResult(ErrorCode.NOT_LEADER_OR_FOLLOWER))


def forget_waiting(core: Core, token: object) -> None:
    """Forget a Fetch whose client has disconnected."""
    if isinstance(core.role, Leader):
        core.role.purgatory.remove(token)


def _answer_again(core: Core, request: Request) -> None:
    message: Any = request.message
    _answer(core, request, _serve(core, message, partition_of(message)))


def check_leader(core: Core, epoch: int) -> ErrorCode:
    """Return the error if this replica does not lead an epoch."""
    if epoch < core.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > core.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    is_leader = isinstance(core.role, Leader)
    return ErrorCode.NONE if is_leader else ErrorCode.NOT_LEADER_OR_FOLLOWER


def _serve(
    core: Core, message: FetchRequest, partition: FetchRequest.FetchPartition
) -> _FetchResult:
    """Return the answer; record the follower's log end if its log is a prefix of this one."""
    error = check_leader(core, partition.current_leader_epoch)
    replica = _replica_of(message, partition)
    if error is ErrorCode.NONE and replica.id == core.key.id:
        error = ErrorCode.UNKNOWN_SERVER_ERROR
    role = core.role
    if error is not ErrorCode.NONE or not isinstance(role, Leader):
        return _FetchResult(error)
    fetched = OffsetAndEpoch(partition.fetch_offset, partition.last_fetched_epoch)
    comparison = core.log.compare(fetched)
    if not isinstance(comparison, Valid):
        return _FetchResult(comparison=comparison)
    note_fetch(core, role, replica, fetched.offset)
    if fetched.offset == core.log.end:
        return _FetchResult(is_news=False)
    size = min(message.max_bytes, core.config.fetch_max_bytes)
    return _FetchResult(content=LogSlice(fetched.offset, size))


def _resign_for(core: Core, message: FetchRequest, partition: FetchRequest.FetchPartition) -> None:
    """Adopt the later epoch of a replica that fetches, which ends this leadership.

    The replica's epoch never falls, so it cannot follow this leader. A voter also reports its epoch
    in the response to BeginQuorumEpoch, but an observer has no other way. Kafka's leaders do not
    resign, and such an observer never follows them.
    """
    epoch, replica_id = partition.current_leader_epoch, _replica_of(message, partition).id
    is_other = replica_id >= 0 and replica_id != core.key.id
    if is_other and isinstance(core.role, Leader) and accepts_epoch(core, epoch):
        core.become_unattached(epoch)


def _replica_of(message: FetchRequest, partition: FetchRequest.FetchPartition) -> ReplicaKey:
    """Return the key of the replica that fetches; versions before 15 have the id elsewhere."""
    state = message.replica_state
    replica_id = message.replica_id if state is None else state.replica_id
    return ReplicaKey(replica_id, partition.replica_directory_id)


def _high_watermark(core: Core) -> int:
    known = core.role.high_watermark if isinstance(core.role, Leader) else None
    return _UNKNOWN if known is None else known


def _answer(core: Core, request: Request, result: _FetchResult) -> None:
    partition = FetchResponse.PartitionData(
        partition_index=PARTITION,
        error_code=result.error,
        high_watermark=_UNKNOWN if result.error else _high_watermark(core),
        log_start_offset=_UNKNOWN if result.error else core.log.start,
        current_leader=FetchResponse.LeaderIdAndEpoch(
            leader_id=leader_of(core), leader_epoch=core.epoch
        ),
        records=b"",
    )
    if isinstance(result.comparison, Diverging):
        end = result.comparison.end
        diverging = FetchResponse.EpochEndOffset(epoch=end.epoch, end_offset=end.offset)
        partition.diverging_epoch = diverging
    elif isinstance(result.comparison, NeedsSnapshot):
        offset, epoch = result.comparison.snapshot
        partition.snapshot_id = FetchResponse.SnapshotId(end_offset=offset, epoch=epoch)
    topic = FetchResponse.FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=[partition])
    response = FetchResponse(responses=[topic])
    add_endpoint(core, request, response, since=_FIRST_WITH_ENDPOINTS)
    reply(core, request, response, result.content)
