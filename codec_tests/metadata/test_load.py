"""Images at offsets: snapshots and logs, gaps and damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftwire.log.errors import CorruptBatch
from kraftwire.metadata.errors import BadRecord, Unreachable
from kraftwire.metadata.records.load import image_at
from kraftwire.metadata.state.image import MetadataImage, OpenTransaction
from kraftwire_messages.kafka import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    KRaftVersionRecord,
    LeaderChangeMessage,
    VotersRecord,
)
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.records import ControlType

from codec_tests.log.file_mutants import flip
from codec_tests.metadata.metadata_logs import (
    EPOCH,
    TIME,
    batch,
    control_batch,
    image_of,
    moved,
    partition,
    raw_batch,
    setting,
    topic,
    write_log,
    write_segment,
    write_snapshot,
)

MESSAGES = [topic(), partition(), moved(2), setting("a", "1"), moved(3), setting("a", None)]
VOTERS = VotersRecord(voters=[VotersRecord.Voter(voter_id=4)])


def loaded(path: Path, offset: int | None = None) -> tuple[MetadataImage, list[KraftwireError]]:
    problems: list[KraftwireError] = []
    return image_at(path, offset, report=problems.append), problems


@pytest.mark.parametrize("offset", range(len(MESSAGES) + 1))
def test_the_image_has_what_is_below_the_offset(tmp_path: Path, offset: int) -> None:
    log = write_log(tmp_path, MESSAGES)
    expected = image_of(*MESSAGES[:offset])
    for path in (tmp_path, log.parent, log):
        image = image_at(path, offset)
        assert image == expected
        assert image.provenance.offset == offset


def test_the_end_of_the_log_is_the_default(tmp_path: Path) -> None:
    write_log(tmp_path, MESSAGES)
    image = image_at(tmp_path)
    assert image == image_of(*MESSAGES)
    origin = image.provenance
    assert (origin.offset, origin.epoch, origin.timestamp) == (6, EPOCH, TIME + 5)
    assert origin.snapshot is None
    assert origin.cluster_id is None


def test_one_batch_can_be_cut_in_two(tmp_path: Path) -> None:
    write_segment(tmp_path, 0, batch(0, MESSAGES))
    assert image_at(tmp_path, 3) == image_of(*MESSAGES[:3])


def test_the_newest_snapshot_before_the_offset_is_the_base(tmp_path: Path) -> None:
    write_log(tmp_path, MESSAGES)
    write_snapshot(tmp_path, 2, MESSAGES[:2], VOTERS)
    write_snapshot(tmp_path, 4, [topic("other")])
    assert image_at(tmp_path, 3).provenance.snapshot == 2
    assert list(image_at(tmp_path, 3).voters) == [4]
    assert image_at(tmp_path, 1).provenance.snapshot is None
    replaced = image_at(tmp_path, 4)
    assert replaced == image_of(topic("other"))
    assert replaced.provenance.timestamp == TIME + 4
    assert image_at(tmp_path, 4, use_snapshots=False) == image_of(*MESSAGES[:4])


def test_a_snapshot_alone_is_an_image(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path, 9, MESSAGES[:2])
    assert image_at(path) == image_at(path, 9) == image_at(tmp_path) == image_of(*MESSAGES[:2])
    for offset, reason in ((8, "no snapshot at or before offset 8"), (10, "the log ends at 9")):
        with pytest.raises(Unreachable, match=reason):
            image_at(path, offset)


def test_a_log_that_starts_after_the_snapshot_is_a_gap(tmp_path: Path) -> None:
    write_snapshot(tmp_path, 2, MESSAGES[:2])
    write_log(tmp_path, MESSAGES[4:], base=4)
    with pytest.raises(Unreachable, match="ends at offset 2, and the log starts only at 4"):
        image_at(tmp_path)
    assert image_at(tmp_path, 2) == image_of(*MESSAGES[:2])


def test_a_log_without_its_beginning_has_no_image(tmp_path: Path) -> None:
    log = write_log(tmp_path, MESSAGES[2:], base=2)
    for path in (tmp_path, log):
        with pytest.raises(Unreachable, match="starts at offset 2, and there is no snapshot"):
            image_at(path)


def test_an_offset_after_the_end_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path, MESSAGES)
    with pytest.raises(Unreachable, match="offset 7 does not exist yet: the log ends at 6"):
        image_at(tmp_path, 7)


def test_several_segments_are_one_log(tmp_path: Path) -> None:
    write_log(tmp_path, MESSAGES[:2])
    write_log(tmp_path, MESSAGES[2:4], base=2)
    write_log(tmp_path, MESSAGES[4:], base=4)
    assert [image_at(tmp_path, at) for at in range(7)] == [
        image_of(*MESSAGES[:at]) for at in range(7)
    ]


def test_missing_offsets_are_reported(tmp_path: Path) -> None:
    write_log(tmp_path, MESSAGES[:2])
    write_log(tmp_path, MESSAGES[4:], base=4)
    image, (problem,) = loaded(tmp_path)
    assert "the records with offsets 2 to 3 are missing" in str(problem)
    assert image.provenance.offset == 6
    with pytest.raises(CorruptBatch):
        image_at(tmp_path)


def test_damage_is_reported_and_reading_goes_on(tmp_path: Path) -> None:
    log = write_log(tmp_path, MESSAGES)
    at = log.read_bytes().index(batch(3, [MESSAGES[3]]))
    flip(log, at + 70)
    image, problems = loaded(tmp_path)
    assert [type(problem) for problem in problems] == [CorruptBatch, CorruptBatch]
    assert f"byte {at}" in str(problems[0])
    assert "offsets 3 to 3 are missing" in str(problems[1])
    assert image == image_of(*MESSAGES[:3], *MESSAGES[4:])


def test_records_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    unknown_id, unknown_version, garbage = b"\x01\x63\x00", b"\x01\x02\x63", b"\x02"
    values = [unknown_id, unknown_version, garbage, b""]
    write_segment(tmp_path, 0, raw_batch(0, values), batch(4, MESSAGES))
    image, problems = loaded(tmp_path)
    assert [problem.offset for problem in problems if isinstance(problem, BadRecord)] == [
        0,
        1,
        2,
        3,
    ]
    assert image == image_of(*MESSAGES)


def test_records_that_do_not_fit_are_reported(tmp_path: Path) -> None:
    write_log(tmp_path, [moved(1), *MESSAGES])
    image, (problem,) = loaded(tmp_path)
    assert "offset 0: there is no topic with id AAAAAAAAAAAAAAAAAAAABw" in str(problem)
    assert image == image_of(*MESSAGES)


@pytest.mark.parametrize("cut", [10, 80], ids=["the footer", "more"])
def test_after_a_damaged_snapshot_stands_the_one_before(tmp_path: Path, cut: int) -> None:
    write_log(tmp_path, MESSAGES)
    write_snapshot(tmp_path, 2, MESSAGES[:2])
    damaged = write_snapshot(tmp_path, 4, MESSAGES[:4])
    damaged.write_bytes(damaged.read_bytes()[:-cut])
    image, problems = loaded(tmp_path)
    assert image == image_of(*MESSAGES)
    assert image.provenance.snapshot == 2
    assert all(str(damaged) in str(problem) for problem in problems)
    assert problems


def test_a_damaged_snapshot_is_better_than_none(tmp_path: Path) -> None:
    damaged = write_snapshot(tmp_path, 4, MESSAGES[:2])
    damaged.write_bytes(damaged.read_bytes()[:-10])
    image, problems = loaded(tmp_path)
    assert image == image_of(*MESSAGES[:2])
    assert "the footer is missing" in str(problems[-1])


def test_snapshots_on_their_way_are_left_alone(tmp_path: Path) -> None:
    write_log(tmp_path, MESSAGES)
    path = write_snapshot(tmp_path, 4, [])
    path.rename(path.with_name(path.name + ".part"))
    assert image_at(tmp_path).provenance.snapshot is None


def test_transactions_take_effect_when_they_end(tmp_path: Path) -> None:
    begin = BeginTransactionRecord(name="t")
    messages = [topic(), begin, partition(), EndTransactionRecord(), begin, moved(2)]
    write_log(tmp_path, [*messages, AbortTransactionRecord(), moved(3)])
    for offset in (2, 3):
        image = image_at(tmp_path, offset)
        assert image == image_of(topic())
        assert image.provenance.transaction == OpenTransaction("t", 1, offset - 2)
    assert image_at(tmp_path, 6) == image_of(topic(), partition())
    assert image_at(tmp_path) == image_of(topic(), partition(), moved(3))
    assert image_at(tmp_path).provenance.transaction is None


def test_control_records_tell_voters_and_leader(tmp_path: Path) -> None:
    first = control_batch(
        0,
        (ControlType.LEADER_CHANGE, LeaderChangeMessage(leader_id=4)),
        (ControlType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=1)),
        (ControlType.KRAFT_VOTERS, VOTERS),
    )
    second = control_batch(4, (ControlType.LEADER_CHANGE, LeaderChangeMessage(leader_id=5)))
    write_segment(tmp_path, 0, first, batch(3, [topic()]), second, batch(5, [partition()]))
    assert list(image_at(tmp_path, 3).voters) == [4]
    assert image_at(tmp_path, 3).features == {"kraft.version": 1}
    write_snapshot(tmp_path, 5, [topic()])
    assert [image_at(tmp_path, at).leader for at in (0, 3, 4, 5, 6)] == [None, 4, 4, 5, 5]


def test_meta_properties_tell_the_cluster(tmp_path: Path) -> None:
    log = write_log(tmp_path, MESSAGES)
    properties = tmp_path / "meta.properties"
    properties.write_text("version=1\ncluster.id=abc\nnode.id=3\n")
    for path in (tmp_path, log.parent, log):
        origin = image_at(path).provenance
        assert (origin.cluster_id, origin.node_id) == ("abc", 3)
    properties.write_text("version=one\n")
    image, problems = loaded(tmp_path)
    assert image.provenance.cluster_id is None
    assert len(problems) == 1


def test_paths_without_metadata_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nothing"):
        image_at(tmp_path / "nothing")
    with pytest.raises(KraftwireError, match="no file of Kafka's"):
        image_at(tmp_path)
    (tmp_path / "meta.properties").write_text("version=1\n")
    with pytest.raises(KraftwireError, match="neither __cluster_metadata-0 nor"):
        image_at(tmp_path)
    write_log(tmp_path, MESSAGES).parent.rename(tmp_path / "tea-0")
    with pytest.raises(KraftwireError, match="files of the topic tea, not __cluster_metadata"):
        image_at(tmp_path / "tea-0")


def test_a_copy_of_the_directory_can_have_any_name(tmp_path: Path) -> None:
    copy = write_log(tmp_path, MESSAGES).parent.rename(tmp_path / "copy")
    assert image_at(copy) == image_of(*MESSAGES)
