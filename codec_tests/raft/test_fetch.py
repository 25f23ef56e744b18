"""Fetch: what a leader answers, what waits, what is counted; what a follower does with it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import Append, Committed, Flush, LogSlice, Truncate
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.messages import fetch_request, partition_of
from kraftwire.raft.core.roles import Follower, Leader
from kraftwire.raft.election.leadership import note_flushed, propose
from kraftwire.raft.metadata_log.batches import ControlRecord, control_batch, data_batch
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.replication.fetch_client import handle_fetch_response
from kraftwire.raft.replication.fetch_server import answer_waiting, handle_fetch
from kraftwire.raft.replication.leader_updates import Outcome
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_messages.kafka import FetchRequest, FetchResponse, VotersRecord
from kraftwire_wire.numbers import ErrorCode
from kraftwire_wire.records import ControlType

from codec_tests.raft.replicas import (
    CLUSTER,
    LISTENER,
    ME,
    THREE,
    TWO,
    core_of,
    fetch_response,
    replies,
    win,
)


def leader() -> Core:
    """The leader of epoch 4, whose log is a record of epoch 2 and the beginning of the epoch."""
    core = core_of(Election(3), log_epoch=2)
    win(core, TWO)
    note_flushed(core, core.log.end)
    core.effects.clear()
    return core


def ask(
    core: Core,
    offset: int,
    last_epoch: int,
    *,
    replica: ReplicaKey = TWO,
    epoch: int = 4,
    max_wait_ms: int = 500,
    known: int = 1 << 62,
) -> Any:
    """Fetch over the wire; what was answered, or None where nothing was."""
    before = len(replies(core))
    message = fetch_request(
        CLUSTER,
        replica,
        epoch,
        OffsetAndEpoch(offset, last_epoch),
        known,
        max_wait_ms=max_wait_ms,
        max_bytes=1000,
    )
    give(core, FetchRequest.decode(message.encode(18), 18))
    return partition_of(replies(core)[-1].message) if len(replies(core)) > before else None


def give(core: Core, message: FetchRequest) -> None:
    handle_fetch(core, Request("token", message, 18, LISTENER), message)


def test_a_follower_gets_what_it_lacks_and_is_counted() -> None:
    core = leader()
    partition = ask(core, 1, 2)
    assert (partition.error_code, partition.high_watermark) == (0, -1)
    assert replies(core)[-1].content == LogSlice(1, 1000)
    assert [one.port for one in _endpoints(core)] == [9001]
    assert isinstance(core.role, Leader)
    assert core.role.progress[TWO].end_offset == 1
    assert core.role.high_watermark is None


def _endpoints(core: Core) -> list[FetchResponse.NodeEndpoint]:
    message = replies(core)[-1].message
    assert isinstance(message, FetchResponse)
    return message.node_endpoints


def test_what_a_majority_has_is_committed_and_told() -> None:
    core = leader()
    assert ask(core, 2, 4, replica=THREE) is None
    assert core.effects == [Committed(2)]
    assert core.has_news
    answer_waiting(core)
    (reply,) = replies(core)
    assert partition_of(reply.message).high_watermark == 2


def test_a_fetch_waits_until_there_is_something() -> None:
    core = leader()
    ask(core, 2, 4, replica=THREE)
    answer_waiting(core)
    core.effects.clear()
    assert ask(core, 2, 4) is None
    propose(core, "p", [b"value"])
    answer_waiting(core)
    (reply,) = replies(core)
    assert reply.content == LogSlice(2, 1000)
    kinds = [type(effect) for effect in core.effects]
    assert kinds.index(Append) < kinds.index(type(reply))


def test_a_fetch_that_has_waited_is_answered_with_nothing() -> None:
    core = leader()
    ask(core, 2, 4)
    core.effects.clear()
    assert ask(core, 2, 4, replica=THREE) is None
    core.now += 499
    answer_waiting(core, due=True)
    assert replies(core) == []
    core.now += 1
    answer_waiting(core, due=True)
    assert [reply.content for reply in replies(core)] == [None, None]


def test_who_knows_less_of_what_is_committed_does_not_wait() -> None:
    core = leader()
    ask(core, 2, 4, replica=THREE)
    assert ask(core, 2, 4, known=1).high_watermark == 2
    assert ask(core, 2, 4, known=2) is None
    assert ask(core, 2, 4, max_wait_ms=0).high_watermark == 2


def test_a_log_that_differs_is_told_where_and_not_counted() -> None:
    core = leader()
    partition = ask(core, 5, 3)
    assert (partition.diverging_epoch.epoch, partition.diverging_epoch.end_offset) == (2, 1)
    assert isinstance(core.role, Leader)
    assert core.role.progress[TWO].end_offset is None


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"epoch": 3}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"epoch": 5}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"max_wait_ms": -1}, ErrorCode.INVALID_REQUEST),
        ({"replica": ME}, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_errors_of_fetches(more: dict[str, Any], error: ErrorCode) -> None:
    core = leader()
    partition = ask(core, 1, 2, **more)
    assert (partition.error_code, partition.high_watermark) == (error, -1)
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (1, 4)


def test_errors_about_the_whole_request() -> None:
    core = leader()
    give(core, FetchRequest(cluster_id="other"))
    give(core, FetchRequest(cluster_id=CLUSTER))
    codes = [reply.message.error_code for reply in replies(core)]  # type: ignore[attr-defined]
    assert codes == [ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.INVALID_REQUEST]


def test_a_leader_that_hears_a_majority_stays_one() -> None:
    core = leader()
    assert isinstance(core.role, Leader)
    core.now += 2900
    ask(core, 1, 2, replica=ReplicaKey(2, UUID(int=99)))
    assert core.role.check_quorum_deadline == 8000, "an observer does not count"
    ask(core, 1, 2)
    assert core.role.check_quorum_deadline == core.now + 3000


# -- the other end ----------------------------------------------------------------------------


def answered(core: Core, **partition: Any) -> Outcome:
    """Let a follower take in an answer of replica 2, which leads epoch 3."""
    core.effects.clear()
    return handle_fetch_response(core, fetch_response(**partition))


def follower(log_epoch: int = 2) -> Core:
    """A follower of replica 2 in epoch 3 with one record."""
    core = core_of(Election(3, 2), log_epoch=log_epoch)
    assert isinstance(core.role, Follower)
    return core


def test_what_is_fetched_is_durable_before_anything_else() -> None:
    core = follower()
    core.now += 700
    batch = data_batch(1, 3, 0, [b"a", b"b"])
    assert answered(core, records=batch.data, high_watermark=2) is Outcome.GOOD
    assert [type(effect) for effect in core.effects] == [Append, Flush, Committed]
    assert (core.log.end, core.committed) == (3, 2)
    assert isinstance(core.role, Follower)
    assert core.role.has_fetched
    assert core.role.fetch_deadline == core.now + 2000


def test_no_more_is_committed_than_there_is() -> None:
    core = follower()
    answered(core, records=b"", high_watermark=99)
    assert core.committed == 1


def test_a_batch_of_a_later_epoch_ends_what_is_taken() -> None:
    core = follower()
    data = data_batch(1, 3, 0, [b"a"]).data + data_batch(2, 4, 0, [b"b"]).data
    assert answered(core, records=data) is Outcome.GOOD
    assert core.log.end == 2


def test_what_does_not_follow_or_is_damaged_is_not_taken() -> None:
    core = follower()
    assert answered(core, records=data_batch(5, 3, 0, [b"a"]).data) is Outcome.FAILED
    damaged = bytearray(data_batch(1, 3, 0, [b"a"]).data)
    damaged[-1] ^= 1
    assert answered(core, records=bytes(damaged)) is Outcome.FAILED
    assert core.log.end == 1


def test_what_came_before_something_bad_is_durable_all_the_same() -> None:
    core = follower()
    data = data_batch(1, 3, 0, [b"a"]).data + data_batch(9, 3, 0, [b"b"]).data
    assert answered(core, records=data) is Outcome.FAILED
    assert [type(effect) for effect in core.effects] == [Append, Flush]
    assert core.log.end == 2


def test_control_records_that_cannot_be_read_are_not_appended() -> None:
    core = follower()
    twice = VotersRecord(voters=[VotersRecord.Voter(voter_id=1)] * 2)
    batch = control_batch(1, 3, 0, [ControlRecord(ControlType.KRAFT_VOTERS, twice)])
    assert answered(core, records=batch.data) is Outcome.FAILED
    assert (core.effects, core.log.end) == ([], 1)


def test_epochs_do_not_fall_in_a_log() -> None:
    core = follower()
    assert answered(core, records=data_batch(1, 1, 0, [b"a"]).data) is Outcome.FAILED
    assert core.log.end == 1


def test_a_batch_is_not_cut_in_two() -> None:
    core = follower()
    answered(core, records=data_batch(1, 3, 0, [b"a", b"b"]).data)
    end = FetchResponse.EpochEndOffset(epoch=3, end_offset=2)
    assert answered(core, diverging_epoch=end) is Outcome.FAILED
    assert core.log.end == 3


def test_who_has_nothing_is_named_the_newest_snapshot() -> None:
    core = leader()
    ask(core, 2, 4, replica=THREE)
    snapshot = OffsetAndEpoch(2, 4)
    core.log.add_snapshot(snapshot, 100)
    partition = ask(core, 0, 0)
    assert (partition.snapshot_id.end_offset, partition.snapshot_id.epoch) == snapshot
    assert isinstance(core.role, Leader)
    assert core.role.progress[TWO].end_offset is None, "who needs one is not counted"


def test_who_is_behind_where_the_log_begins_is_named_the_newest_snapshot() -> None:
    core = leader()
    ask(core, 2, 4, replica=THREE)
    core.log.add_snapshot(OffsetAndEpoch(2, 4), 100)
    core.log.clean(OffsetAndEpoch(2, 4))
    assert ask(core, 1, 2).snapshot_id.end_offset == 2
    partition = ask(core, 2, 4, max_wait_ms=0)
    assert (partition.snapshot_id, partition.log_start_offset) == (None, 2)


def test_what_the_leader_has_not_is_removed_but_nothing_committed() -> None:
    core = follower()
    answered(core, records=data_batch(1, 3, 0, [b"a", b"b"]).data)
    end = FetchResponse.EpochEndOffset(epoch=2, end_offset=1)
    assert answered(core, diverging_epoch=end) is Outcome.GOOD
    assert core.effects == [Truncate(1)]
    answered(core, records=b"", high_watermark=1)
    gone = FetchResponse.EpochEndOffset(epoch=0, end_offset=0)
    assert answered(core, diverging_epoch=gone) is Outcome.FAILED
    assert core.log.end == 1
