"""fsck: nothing about what Kafka left, and each kind of damage by its name."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from crc32c import crc32c

from kraftwire.log import decode_batch, find_partitions
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.fsck import Finding, Fsck, Severity
from kraftwire.log.small_files.producer_snapshot import (
    decode_producer_snapshot,
    encode_producer_snapshot,
)

from codec_tests.cli.running import done
from codec_tests.log.file_mutants import flip
from codec_tests.spark.reads import batch, write_segments
from codec_tests.stored_files import BROKER, CONTROLLER, copy_of


def check(*paths: Path) -> list[Finding]:
    return list(Fsck().run(find_partitions(paths)))


def test_the_files_of_a_stopped_cluster_are_clean() -> None:
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


def _rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


class Damage(NamedTuple):
    """A change of one file of a partition, and what fsck says about it."""

    file: str
    """A pattern; the first file that matches it is changed, or the last one with `-1`."""
    change: Callable[[bytes], bytes]
    reason: str
    number: int = 0


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def always(data: bytes) -> Callable[[bytes], bytes]:
    return lambda _: data


def epoch_that_goes_back(data: bytes) -> bytes:
    batch = decode_batch(data)
    settings = BatchSettings(partition_leader_epoch=9)
    older = [record._replace(offset=record.offset + 50) for record in batch.records]
    older_settings = settings._replace(partition_leader_epoch=8)
    return encode_batch(batch.records, settings) + encode_batch(older, older_settings)


def record_above_the_largest_time(data: bytes) -> bytes:
    batch = decode_batch(data)
    changed = bytearray(batch.data)
    struct.pack_into(">q", changed, 35, batch.header.max_timestamp - 5)
    struct.pack_into(">I", changed, 17, crc32c(bytes(changed[21:])))
    return bytes(changed)


def snapshot_with(**fields: int) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        snapshot = decode_producer_snapshot(data)
        for name, value in fields.items():
            setattr(snapshot.producer_entries[0], name, value)
        return encode_producer_snapshot(snapshot)

    return change


EPOCHS = "leader-epoch-checkpoint"
FIRST_BATCHES = (BROKER / "tea-0" / f"{0:020}.log").read_bytes()
DAMAGES = {
    "flipped record": Damage("*.log", partial(flipped, at=100), "CRC does not match"),
    "cut tail": Damage("*.log", lambda data: data[:-5], "torn tail", -1),
    "zeros at the end": Damage("*.log", lambda data: data + bytes(100), "zeros", -1),
    "batch twice": Damage("*.log", lambda data: data * 2, "is not above offset"),
    "offset below the segment": Damage(
        "*.log", always(FIRST_BATCHES), "in a segment that begins with", 1
    ),
    "epoch that goes back": Damage("*.log", epoch_that_goes_back, "leader epoch 9 between", -1),
    "epochs that differ": Damage(
        EPOCHS, always(b"0\n1\n5 0\n"), "but leader-epoch-checkpoint has 5"
    ),
    "epochs that go back": Damage(EPOCHS, always(b"0\n2\n1 0\n0 40\n"), "does not follow"),
    "epochs of another version": Damage(EPOCHS, always(b"3\n0\n"), "version '3'"),
    "record above the largest time": Damage(
        "*.log", record_above_the_largest_time, "above the batch's largest"
    ),
    "index into a batch": Damage(
        "*.index", always(struct.pack(">ii", 5, 7)), "at position 7, but no batch starts there"
    ),
    "index after the end": Damage(
        "*.index",
        always(struct.pack(">ii", 5, 1 << 20)),
        f"at position {1 << 20}, but no batch starts there",
    ),
    "index of a wrong offset": Damage(
        "*.index",
        always(struct.pack(">ii", 5, 0) + bytes(64)),
        "but the batch there has offsets 0 to 39",
    ),
    "index that goes down": Damage(
        "*.index", always(struct.pack(">iiii", 39, 0, 38, 0)), "does not go up"
    ),
    "index of an odd size": Damage("*.index", always(b"abc"), "3 bytes are left over"),
    "time index of a wrong time": Damage(
        "*.timeindex", partial(flipped, at=7), "the largest so far is"
    ),
    "time index after the end": Damage(
        "*.timeindex",
        lambda data: data[:8] + b"\0\0\1\0" + data[12:],
        "which the segment does not have",
    ),
    "flipped snapshot": Damage("*.snapshot", partial(flipped, at=20), "CRC"),
    "snapshot of another sequence": Damage(
        "*.snapshot", snapshot_with(last_sequence=40), "last sequence 40, the log has 39"
    ),
    "snapshot of the future": Damage(
        "*.snapshot", snapshot_with(last_offset=1000), "is after the snapshot"
    ),
    "cut partition metadata": Damage(
        "partition.metadata", always(b"version: 0\ntopic_id: AAAA"), "is not an id"
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_each_damage_is_reported(damage: Damage, tmp_path: Path) -> None:
    directory = copy_of("tea-0", tmp_path)
    _rewrite(sorted(directory.glob(damage.file))[damage.number], damage.change)
    findings = check(directory)
    assert any(damage.reason in found.reason for found in findings), findings


def test_an_index_without_its_segment_is_reported(tmp_path: Path) -> None:
    directory = copy_of("tea-0", tmp_path)
    (directory / f"{777:020}.index").write_bytes(b"")
    assert [found.reason for found in check(directory)] == ["it has no segment"]


@pytest.mark.parametrize(
    ("at", "bit"), [(5, 4), (13, 0), (14, 3)], ids=["offset", "epoch", "epoch 2"]
)
def test_a_flipped_bit_outside_the_crc_is_one_finding(at: int, bit: int, tmp_path: Path) -> None:
    """The base offset and the leader epoch of one batch, not all that come behind it."""
    directory = copy_of("codec-none-0", tmp_path)
    (path,) = directory.glob("*.log")
    flip(path, at, 1 << bit)
    findings = [found for found in check(directory) if found.check == "batch"]
    assert [found.position for found in findings] == [0]


def test_markers_without_their_data_are_not_a_finding(tmp_path: Path) -> None:
    """The cleaner takes the records of an aborted transaction first."""
    directory = copy_of("orders-0", tmp_path)
    path = directory / "00000000000000000005.log"
    data = path.read_bytes()
    aborted = decode_batch(data, 78)
    assert aborted.header.base_offset == 6
    path.write_bytes(data[:78] + data[aborted.header.end :])
    assert [found for found in check(directory) if found.check == "transaction index"] == []


def test_an_unfinished_compaction_is_reported(tmp_path: Path) -> None:
    directory = copy_of("tea-0", tmp_path)
    (directory / "00000000000000000040.log").rename(directory / "00000000000000000040.log.swap")
    assert any("when it starts" in found.reason for found in check(directory))


def test_a_transaction_index_without_an_entry_is_reported(tmp_path: Path) -> None:
    directory = copy_of("orders-0", tmp_path)
    (directory / "00000000000000000005.txnindex").unlink()
    (directory / "00000000000000000029.txnindex").write_bytes(b"")
    reasons = [found.reason for found in check(directory)]
    assert [reason for reason in reasons if "no .txnindex names them" in reason]
    assert [reason for reason in reasons if "the entry is missing" in reason]


def test_a_transaction_index_of_another_log_is_reported(tmp_path: Path) -> None:
    directory = copy_of("orders-0", tmp_path)
    first, second = sorted(directory.glob("*.txnindex"))
    shutil.copyfile(first, second)
    reasons = [found.reason for found in check(directory)]
    assert [reason for reason in reasons if "no such abort marker" in reason]


def test_ids_that_clash_are_reported(tmp_path: Path) -> None:
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


def test_checkpoints_beyond_the_log_are_reported(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(BROKER, tmp_path / "broker"))
    (directory / "recovery-point-offset-checkpoint").write_bytes(b"0\n2\ntea 0 201\nmilk 0 5\n")
    reasons = {found.reason for found in check(directory)}
    assert "tea-0 has recovery point 201, and its log ends at 200" in reasons
    assert "names milk-0, which is not here" in reasons


# -- what is worth knowing, and holes --------------------------------------------------------


def test_a_segment_without_its_index_is_an_info(tmp_path: Path) -> None:
    directory = copy_of("tea-0", tmp_path)
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


def test_infos_keep_the_exit_code_0(tmp_path: Path) -> None:
    directory = copy_of("tea-0", tmp_path)
    _first(directory, "*.index").unlink()
    (line,) = done("log", "fsck", tmp_path, "-o", "json").stdout.splitlines()[-1:]
    assert json.loads(line)["severity"] == "info"


def metadata_log(directory: Path, *segments: list[bytes]) -> Path:
    return write_segments(directory / "__cluster_metadata-0", *segments)[0].parent


def three(first: int) -> bytes:
    return batch(first, 3)


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


def test_a_damaged_batch_is_not_also_a_hole(tmp_path: Path) -> None:
    directory = metadata_log(tmp_path, [three(0), three(3), three(6)])
    flip(_first(directory, "*.log"), len(three(0)) + 70, 4)
    (finding,) = check(directory)
    assert "CRC does not match" in finding.reason


def test_zeros_within_an_index_are_one_line(tmp_path: Path) -> None:
    directory = copy_of("orders-0", tmp_path)
    index = _first(directory, "*.txnindex")
    _rewrite(index, lambda data: data + bytes(17 * 34))
    assert [found.reason for found in check(directory)] == ["zeros, 578 bytes that are not entries"]
    tea = copy_of("tea-0", tmp_path)
    offsets, times = _first(tea, "*.index"), _first(tea, "*.timeindex")
    offsets.write_bytes(struct.pack(">ii", 39, 0) + bytes(17 * 8) + struct.pack(">ii", 5, 0))
    times.write_bytes(times.read_bytes() + bytes(17 * 12) + struct.pack(">qi", 1, 5))
    found = [one for one in check(tea) if "not go up" in one.reason]
    assert [one.check for one in found] == ["offset index", "time index"]
    _rewrite(offsets, lambda data: data[:8])
    clean = check(tea)
    _rewrite(offsets, lambda data: data + bytes(17 * 8))
    assert check(tea) == clean, "zeros to the end were allocated in advance"
