"""fsck: nothing about what Kafka left, and each kind of damage by its name."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftwire.log import Record, decode_batch, find_partitions
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.fsck import Finding, Fsck, Severity
from kraftwire.log.small_files.producer_snapshot import (
    decode_producer_snapshot,
    encode_producer_snapshot,
)
from kraftwire.log.writers.segment_writer import SegmentWriter

from codec_tests.cli.running import done
from codec_tests.stored_files import BROKER, CONTROLLER


def check(*paths: Path) -> list[Finding]:
    return list(Fsck().run(find_partitions(paths)))


def test_what_a_stopped_cluster_left_is_clean() -> None:
    work = Fsck()
    findings = list(work.run(find_partitions([BROKER, CONTROLLER])))
    assert [(found.severity, found.check, found.file) for found in findings] == [
        (Severity.INFO, "offset index", str(path / "00000000000000000000.log"))
        for path in (BROKER / "__cluster_metadata-0", CONTROLLER / "__cluster_metadata-0")
    ], "indexes that were allocated in advance are not committed"
    assert len([row for row in work.identities if row.cluster_id]) == 2
    topics = {row.topic: row.topic_id for row in work.identities if row.topic}
    assert len(topics) > 10
    assert topics["__cluster_metadata"] == "AAAAAAAAAAAAAAAAAAAAAQ"


def _first(directory: Path, pattern: str) -> Path:
    return sorted(directory.glob(pattern))[0]


def _rewrite(path: Path, change: Callable[[bytearray], None]) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def flip_record(directory: Path) -> str:
    _rewrite(_first(directory, "*.log"), lambda data: data.__setitem__(100, data[100] ^ 1))
    return "CRC does not match"


def cut_tail(directory: Path) -> str:
    path = sorted(directory.glob("*.log"))[-1]
    _rewrite(path, lambda data: data.__delitem__(slice(len(data) - 5, None)))
    return "torn tail"


def zeros_at_the_end(directory: Path) -> str:
    _rewrite(sorted(directory.glob("*.log"))[-1], lambda data: data.extend(bytes(100)))
    return "zeros"


def batch_twice(directory: Path) -> str:
    _rewrite(_first(directory, "*.log"), lambda data: data.extend(data[:]))
    return "behind offset"


def offset_below_the_segment(directory: Path) -> str:
    paths = sorted(directory.glob("*.log"))
    paths[1].write_bytes(paths[0].read_bytes())
    return "in a segment that begins with"


def epoch_that_goes_back(directory: Path) -> str:
    path = sorted(directory.glob("*.log"))[-1]
    batch = decode_batch(path.read_bytes())
    settings = BatchSettings(partition_leader_epoch=-1)
    newer = encode_batch(batch.records, settings._replace(partition_leader_epoch=9))
    older = [record._replace(offset=record.offset + 50) for record in batch.records]
    path.write_bytes(newer + encode_batch(older, settings._replace(partition_leader_epoch=8)))
    return "leader epoch 9 between"


def epochs_that_differ(directory: Path) -> str:
    (directory / "leader-epoch-checkpoint").write_bytes(b"0\n1\n5 0\n")
    return "where leader-epoch-checkpoint has 5"


def epochs_that_go_back(directory: Path) -> str:
    (directory / "leader-epoch-checkpoint").write_bytes(b"0\n2\n1 0\n0 40\n")
    return "does not follow"


def epochs_of_another_version(directory: Path) -> str:
    (directory / "leader-epoch-checkpoint").write_bytes(b"3\n0\n")
    return "version '3'"


def record_time_above_the_largest(directory: Path) -> str:
    path = _first(directory, "*.log")
    batch = decode_batch(path.read_bytes())
    data = bytearray(batch.data)
    struct.pack_into(">q", data, 35, batch.header.max_timestamp - 5)
    from crc32c import crc32c

    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    path.write_bytes(data)
    return "above the batch's largest"


def index_into_a_batch(directory: Path) -> str:
    index = _first(directory, "*.index")
    index.write_bytes(struct.pack(">ii", 5, 7))
    return "where no batch starts"


def index_behind_the_end(directory: Path) -> str:
    _first(directory, "*.index").write_bytes(struct.pack(">ii", 5, 1 << 20))
    return f"at {1 << 20}, where no batch starts"


def index_of_a_wrong_offset(directory: Path) -> str:
    _first(directory, "*.index").write_bytes(struct.pack(">ii", 5, 0) + bytes(64))
    return "where offsets 0 to 39 are"


def index_that_goes_down(directory: Path) -> str:
    entries = struct.pack(">iiii", 39, 0, 38, 0)
    _first(directory, "*.index").write_bytes(entries)
    return "does not go up"


def index_of_an_odd_size(directory: Path) -> str:
    _first(directory, "*.index").write_bytes(b"abc")
    return "no entry of 8"


def index_without_its_segment(directory: Path) -> str:
    (directory / "00000000000000000777.index").write_bytes(b"")
    return "no segment"


def time_index_of_a_wrong_time(directory: Path) -> str:
    index = _first(directory, "*.timeindex")
    _rewrite(index, lambda data: data.__setitem__(7, data[7] ^ 1))
    return "the largest so far is"


def time_index_behind_the_end(directory: Path) -> str:
    index = _first(directory, "*.timeindex")
    _rewrite(index, lambda data: data.__setitem__(slice(8, 12), b"\0\0\1\0"))
    return "which the segment does not have"


def snapshot_flipped(directory: Path) -> str:
    path = _first(directory, "*.snapshot")
    _rewrite(path, lambda data: data.__setitem__(20, data[20] ^ 1))
    return "CRC"


def snapshot_of_another_sequence(directory: Path) -> str:
    path = _first(directory, "*.snapshot")
    snapshot = decode_producer_snapshot(path.read_bytes())
    snapshot.producer_entries[0].last_sequence += 1
    path.write_bytes(encode_producer_snapshot(snapshot))
    return "last sequence 40, the log has 39"


def snapshot_of_the_future(directory: Path) -> str:
    path = _first(directory, "*.snapshot")
    snapshot = decode_producer_snapshot(path.read_bytes())
    snapshot.producer_entries[0].last_offset = 1000
    path.write_bytes(encode_producer_snapshot(snapshot))
    return "lies behind the snapshot"


def partition_metadata_cut(directory: Path) -> str:
    (directory / "partition.metadata").write_bytes(b"version: 0\ntopic_id: AAAA")
    return "is no id"


DAMAGES = [
    flip_record,
    cut_tail,
    zeros_at_the_end,
    batch_twice,
    offset_below_the_segment,
    epoch_that_goes_back,
    epochs_that_differ,
    epochs_that_go_back,
    epochs_of_another_version,
    record_time_above_the_largest,
    index_into_a_batch,
    index_behind_the_end,
    index_of_a_wrong_offset,
    index_that_goes_down,
    index_of_an_odd_size,
    index_without_its_segment,
    time_index_of_a_wrong_time,
    time_index_behind_the_end,
    snapshot_flipped,
    snapshot_of_another_sequence,
    snapshot_of_the_future,
    partition_metadata_cut,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_each_damage_is_told(damage: Callable[[Path], str], tmp_path: Path) -> None:
    directory = Path(shutil.copytree(BROKER / "tea-0", tmp_path / "tea-0"))
    wanted = damage(directory)
    findings = check(directory)
    assert any(wanted in found.reason for found in findings), findings


def _with_bit(path: Path, at: int, bit: int) -> None:
    _rewrite(path, lambda data: data.__setitem__(at, data[at] ^ 1 << bit))


@pytest.mark.parametrize(
    ("at", "bit"), [(5, 4), (13, 0), (14, 3)], ids=["offset", "epoch", "epoch 2"]
)
def test_a_bit_that_the_crc_does_not_cover_is_one_finding(
    at: int, bit: int, tmp_path: Path
) -> None:
    """The base offset and the leader epoch of one batch, not all that come behind it."""
    directory = Path(shutil.copytree(BROKER / "codec-none-0", tmp_path / "codec-none-0"))
    (path,) = directory.glob("*.log")
    _with_bit(path, at, bit)
    findings = [found for found in check(directory) if found.check == "batch"]
    assert [found.position for found in findings] == [0]


def test_markers_without_their_data_are_no_finding(tmp_path: Path) -> None:
    """The cleaner takes the records of an aborted transaction first."""
    directory = Path(shutil.copytree(BROKER / "orders-0", tmp_path / "orders-0"))
    path = directory / "00000000000000000005.log"
    data = path.read_bytes()
    aborted = decode_batch(data, 78)
    assert aborted.header.base_offset == 6
    path.write_bytes(data[:78] + data[aborted.header.end :])
    assert [found for found in check(directory) if found.check == "transaction index"] == []


def test_what_compaction_broke_off_is_told(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(BROKER / "tea-0", tmp_path / "tea-0"))
    (directory / "00000000000000000040.log").rename(directory / "00000000000000000040.log.swap")
    assert any("when it starts" in found.reason for found in check(directory))


def test_a_transaction_index_without_an_entry_is_told(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(BROKER / "orders-0", tmp_path / "orders-0"))
    (directory / "00000000000000000005.txnindex").unlink()
    (directory / "00000000000000000029.txnindex").write_bytes(b"")
    reasons = [found.reason for found in check(directory)]
    assert [reason for reason in reasons if "no .txnindex names them" in reason]
    assert [reason for reason in reasons if "the entry is missing" in reason]


def test_a_transaction_index_of_another_log_is_told(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(BROKER / "orders-0", tmp_path / "orders-0"))
    first, second = sorted(directory.glob("*.txnindex"))
    shutil.copyfile(first, second)
    reasons = [found.reason for found in check(directory)]
    assert [reason for reason in reasons if "no such abort marker" in reason]


def test_ids_that_clash_are_told(tmp_path: Path) -> None:
    for number in range(2):
        shutil.copytree(BROKER, tmp_path / str(number))
    meta = tmp_path / "1" / "meta.properties"
    text = meta.read_text()
    changed = "".join(
        "cluster.id=another\n" if line.startswith("cluster.id") else line
        for line in text.splitlines(keepends=True)
    )
    meta.write_text(changed)
    other = (tmp_path / "0" / "orders-0" / "partition.metadata").read_bytes()
    (tmp_path / "1" / "tea-0" / "partition.metadata").write_bytes(other)
    findings = check(tmp_path / "0", tmp_path / "1")
    checks = {found.check for found in findings if found.severity is not Severity.INFO}
    assert checks == {"cluster id", "directory id", "topic id"}


def test_checkpoints_beyond_the_log_are_told(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(BROKER, tmp_path / "broker"))
    (directory / "recovery-point-offset-checkpoint").write_bytes(b"0\n2\ntea 0 201\nmilk 0 5\n")
    reasons = {found.reason for found in check(directory)}
    assert "tea-0 has recovery point 201, and its log ends at 200" in reasons
    assert "names milk-0, which is not here" in reasons


# -- what is worth knowing, and holes --------------------------------------------------------


def test_a_segment_without_its_index_is_an_info(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(BROKER / "tea-0", tmp_path / "tea-0"))
    _first(directory, "*.index").unlink()
    sorted(directory.glob("*.timeindex"))[1].unlink()
    findings = check(directory)
    assert [(one.severity, one.check, Path(one.file).name) for one in findings] == [
        (Severity.INFO, "offset index", "00000000000000000000.log"),
        (Severity.INFO, "time index", "00000000000000000040.log"),
    ]
    for path in directory.glob("*.index"):
        path.unlink()
    finding, *_ = check(directory)
    assert (finding.file, "none of the 5" in finding.reason) == (str(directory), True)
    assert check(_first(directory, "*.log")) == [], "a file alone: nothing is known beside it"


def test_infos_leave_the_exit_code_at_zero(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(BROKER / "tea-0", tmp_path / "tea-0"))
    _first(directory, "*.index").unlink()
    (line,) = done("log", "fsck", str(tmp_path), "-o", "json").stdout.splitlines()[-1:]
    assert json.loads(line)["severity"] == "info"


def metadata_log(directory: Path, *segments: list[bytes]) -> Path:
    directory = directory / "__cluster_metadata-0"
    directory.mkdir(parents=True)
    for batches in segments:
        base = int.from_bytes(batches[0][:8])
        with SegmentWriter(directory, base) as writer:
            for one in batches:
                writer.append(one)
    return directory


def three(first: int) -> bytes:
    return encode_batch([Record(first + at, 1, None, b"", ()) for at in range(3)])


def test_a_hole_in_a_log_that_is_never_compacted_is_an_error(tmp_path: Path) -> None:
    whole = metadata_log(tmp_path / "a", [three(0), three(3)], [three(6)])
    assert check(whole) == []
    inside = metadata_log(tmp_path / "b", [three(0), three(6), three(9)])
    (finding,) = check(inside)
    assert (finding.severity, finding.position) == (Severity.ERROR, len(three(0)))
    assert "offsets 3 to 5 are missing" in finding.reason
    between = metadata_log(tmp_path / "c", [three(0)], [three(6)])
    (finding,) = check(between)
    assert "offsets 3 to 5 are missing before this segment" in finding.reason
    late = metadata_log(tmp_path / "d", [three(9)])
    assert check(late) == [], "the log begins there"
    other = metadata_log(tmp_path / "e", [three(0), three(6)]).rename(tmp_path / "tea-0")
    assert check(other) == [], "a topic may be compacted, or may have been"


def test_a_damaged_batch_is_no_hole_as_well(tmp_path: Path) -> None:
    directory = metadata_log(tmp_path, [three(0), three(3), three(6)])
    _with_bit(_first(directory, "*.log"), len(three(0)) + 70, 2)
    (finding,) = check(directory)
    assert "CRC does not match" in finding.reason


def test_zeros_within_an_index_are_one_line(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(BROKER / "orders-0", tmp_path / "orders-0"))
    index = _first(directory, "*.txnindex")
    _rewrite(index, lambda data: data.extend(bytes(17 * 34)))
    assert [found.reason for found in check(directory)] == ["zeros, 578 bytes that are not entries"]
    tea = Path(shutil.copytree(BROKER / "tea-0", tmp_path / "tea-0"))
    offsets, times = _first(tea, "*.index"), _first(tea, "*.timeindex")
    offsets.write_bytes(struct.pack(">ii", 39, 0) + bytes(17 * 8) + struct.pack(">ii", 5, 0))
    times.write_bytes(times.read_bytes() + bytes(17 * 12) + struct.pack(">qi", 1, 5))
    found = [one for one in check(tea) if "not go up" in one.reason]
    assert [one.check for one in found] == ["offset index", "time index"]
    _rewrite(offsets, lambda data: data.__delitem__(slice(8, None)))
    clean = check(tea)
    _rewrite(offsets, lambda data: data.extend(bytes(17 * 8)))
    assert check(tea) == clean, "zeros to the end were allocated in advance"
