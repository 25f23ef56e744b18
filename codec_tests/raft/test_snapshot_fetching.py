"""FetchSnapshot, as a follower asks it: piece by piece, and what becomes of odd answers."""

from __future__ import annotations

from typing import Any

import pytest

from kraftwire.raft.core.effects import Committed, InstallSnapshot, WriteSnapshot
from kraftwire.raft.core.inputs import RequestFailed
from kraftwire.raft.core.messages import partition_of
from kraftwire.raft.metadata_log.batches import data_batch
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire_messages import kafka
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.followers import CONTENT, PAIR, SNAPSHOT, Following, content_of, piece
from codec_tests.raft.replicas import CLUSTER, ME, VOTERS


def downloading(end: int = 100, **more: Any) -> Following:
    """A follower that has the first bytes of a snapshot."""
    node = Following(**more)
    node.name()
    node.answer(piece(0, end))
    return node


# -- what goes well ---------------------------------------------------------------------------


def test_what_a_fetch_names_is_fetched_from_the_beginning() -> None:
    node = Following(fetch_snapshot_max_bytes=99)
    assert isinstance(node.asked, kafka.FetchRequest)
    node.name()
    asked = node.asked
    assert isinstance(asked, kafka.FetchSnapshotRequest)
    partition: kafka.FetchSnapshotRequest.PartitionSnapshot = partition_of(asked)
    assert (asked.cluster_id, asked.replica_id, asked.max_bytes) == (CLUSTER, 1, 99)
    assert (partition.snapshot_id.end_offset, partition.snapshot_id.epoch) == SNAPSHOT
    assert (partition.current_leader_epoch, partition.position) == (3, 0)
    assert partition.replica_directory_id == ME.directory_id
    assert node.follower.has_fetched


def test_pieces_are_written_and_the_next_is_asked_for() -> None:
    node = Following()
    node.name()
    node.answer(piece(0, 100))
    assert node.done[0] == WriteSnapshot(SNAPSHOT, 0, CONTENT[:100])
    assert isinstance(node.asked, kafka.FetchSnapshotRequest)
    assert partition_of(node.asked).position == 100
    node.answer(piece(100, 130))
    assert node.done[0] == WriteSnapshot(SNAPSHOT, 100, CONTENT[100:130])
    assert partition_of(node.asked).position == 130


def test_with_the_last_piece_the_log_begins_anew_behind_it() -> None:
    node = downloading()
    node.answer(piece(100))
    core = node.replica.core
    assert node.done[:3] == [
        WriteSnapshot(SNAPSHOT, 100, CONTENT[100:]),
        InstallSnapshot(SNAPSHOT),
        Committed(50),
    ]
    assert (core.log.start, core.log.end, core.log.last_epoch) == (50, 50, 3)
    assert core.log.size_of(SNAPSHOT) == len(CONTENT)
    assert (core.voters, core.control.kraft_version.last) == (VOTERS, 1)
    assert core.committed == 50
    assert isinstance(node.asked, kafka.FetchRequest)
    partition = partition_of(node.asked)
    assert (partition.fetch_offset, partition.last_fetched_epoch) == (50, 3)
    node.answer_fetch(records=data_batch(50, 3, 0, [b"c"]).data)
    assert core.log.end == 51


def test_every_piece_gives_the_leader_more_time() -> None:
    node = Following()
    node.name()
    node.answer(piece(0, 100), more_ms=1500)
    assert node.follower.fetch_deadline == node.replica.core.now + 2000


def test_one_thing_is_fetched_at_a_time() -> None:
    node = downloading()
    node.tick(node.replica.core.now + 10)
    assert node.asked is None


# -- what is not fetched ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "snapshot",
    [(50, -1), (-1, 3), (50, 4), (2, 2), (1, 2), (50, 1)],
    ids=["no epoch", "no offset", "of the future", "had", "had long since", "of another past"],
)
def test_a_snapshot_that_no_leader_has_for_this_log_is_not_fetched(
    snapshot: tuple[int, int],
) -> None:
    node = Following()
    node.follower.fetch_deadline = deadline = 5001
    node.name(OffsetAndEpoch(*snapshot))
    assert node.follower.download is None
    assert not isinstance(node.asked, kafka.FetchSnapshotRequest)
    assert node.follower.fetch_deadline == deadline
    assert not node.follower.has_fetched


def test_what_is_committed_is_not_given_up_for_a_snapshot_with_less() -> None:
    node = Following()
    node.answer_fetch(records=b"", high_watermark=2)
    assert node.replica.core.committed == 2
    node.name(OffsetAndEpoch(2, 3))
    assert node.position is None


# -- odd answers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        piece(100, snapshot=OffsetAndEpoch(51, 3)),
        piece(100, snapshot=OffsetAndEpoch(50, 2)),
        piece(0, 100),
        piece(101),
        piece(100, 100),
        piece(100, size=len(CONTENT) + 1),
        piece(100, size=120),
        piece(100, content=CONTENT[:-1] + b"\xff"),
        piece(100, error_code=ErrorCode.POSITION_OUT_OF_RANGE),
        piece(100, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, current_leader=None),
    ],
    ids=[
        "other offset",
        "other epoch",
        "earlier position",
        "later position",
        "nothing",
        "other size",
        "too much",
        "damage",
        "out of range",
        "unknown",
    ],
)
def test_what_does_not_fit_has_the_snapshot_begun_anew(
    message: kafka.FetchSnapshotResponse,
) -> None:
    node = downloading()
    node.answer(message, more_ms=100)
    assert node.position is None
    assert node.follower.fetch_deadline == 7000, "this was no answer"
    assert node.replica.core.log.end == 2, "the log is not given up"
    node.tick(node.replica.core.now + 20)
    assert isinstance(node.asked, kafka.FetchRequest)
    node.name()
    assert partition_of(node.asked).position == 0


def test_a_snapshot_that_is_gone_is_asked_after_at_once() -> None:
    node = downloading()
    node.answer(piece(100, error_code=ErrorCode.SNAPSHOT_NOT_FOUND), more_ms=100)
    assert node.position is None
    assert isinstance(node.asked, kafka.FetchRequest)
    assert node.follower.fetch_deadline == 7100


def test_voters_that_cannot_be_read_keep_the_log() -> None:
    twice = [kafka.VotersRecord.Voter(voter_id=1), kafka.VotersRecord.Voter(voter_id=1)]
    content = content_of(kafka.VotersRecord(voters=twice))
    node = Following()
    node.name()
    node.answer(piece(0, content=content))
    core = node.replica.core
    assert (core.log.end, core.voters, node.position) == (2, PAIR, None)
    assert not any(isinstance(effect, InstallSnapshot) for effect in node.done)


def test_a_snapshot_that_nobody_asked_for_is_not_taken() -> None:
    node = Following()
    node.answer(piece(0))
    assert node.replica.core.log.end == 2
    assert not any(isinstance(effect, WriteSnapshot) for effect in node.done)


# -- a leader that does not answer ------------------------------------------------------------


def fail(node: Following) -> None:
    node.take(node.replica.step(node.replica.core.now, RequestFailed(node.number)))


def time_out(node: Following) -> None:
    node.follower.fetch_deadline = node.follower.update_deadline = 1 << 40
    node.tick(node.replica.core.now + 2000)


@pytest.mark.parametrize("silence", [fail, time_out])
def test_a_silent_leader_is_asked_first_whether_it_has_the_snapshot_yet(silence: Any) -> None:
    node = downloading()
    silence(node)
    node.tick(node.replica.core.now + 20)
    assert isinstance(node.asked, kafka.FetchRequest)
    assert node.position == 100


def test_what_has_come_is_kept_where_the_leader_names_the_same_snapshot() -> None:
    node = downloading()
    fail(node)
    node.tick(node.replica.core.now + 20)
    assert isinstance(node.asked, kafka.FetchRequest)
    node.name()
    assert isinstance(node.asked, kafka.FetchSnapshotRequest)
    assert partition_of(node.asked).position == 100


def test_another_snapshot_takes_its_place() -> None:
    node = downloading()
    fail(node)
    node.tick(node.replica.core.now + 20)
    node.name(OffsetAndEpoch(60, 3))
    assert isinstance(node.asked, kafka.FetchSnapshotRequest)
    partition = partition_of(node.asked)
    assert (partition.snapshot_id.end_offset, partition.position) == (60, 0)


def test_where_the_log_goes_on_no_snapshot_is_needed() -> None:
    node = downloading()
    fail(node)
    node.tick(node.replica.core.now + 20)
    node.answer_fetch(records=data_batch(2, 3, 0, [b"c"]).data)
    assert node.position is None
    assert node.replica.core.log.end == 3


def test_with_the_leader_goes_what_has_come_of_its_snapshot() -> None:
    node = downloading(voters=VOTERS)
    leader = kafka.FetchSnapshotResponse.LeaderIdAndEpoch(leader_id=3, leader_epoch=4)
    error = ErrorCode.FENCED_LEADER_EPOCH
    node.answer(piece(100, error_code=error, current_leader=leader))
    assert (node.follower.leader_id, node.follower.epoch) == (3, 4)
    assert node.follower.download is None
    assert isinstance(node.asked, kafka.FetchRequest)


def test_errors_about_the_whole_request_leave_what_has_come() -> None:
    node = downloading()
    node.answer(kafka.FetchSnapshotResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID))
    assert node.position == 100
    node.tick(node.replica.core.now + 20)
    assert isinstance(node.asked, kafka.FetchRequest)
