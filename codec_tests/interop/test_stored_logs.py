"""kraftwire reads every file of a real Kafka as Kafka's dump-log tool does, and finds no errors."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraftwire.groups import read_groups
from kraftwire.log import (
    Damage,
    FileSource,
    find_files,
    find_partitions,
    read_batches,
    scan_batches,
)
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.directories.file_names import BATCH_FILES, FileKind
from kraftwire.log.directories.partition import LogFile
from kraftwire.log.fsck import Fsck
from kraftwire.log.queries.typed_records import log_of_topic
from kraftwire.log.small_files.indexes import (
    encode_offset_index,
    encode_time_index,
    read_offset_index,
    read_time_index,
    read_transaction_index,
)
from kraftwire.log.small_files.producer_snapshot import decode_producer_snapshot
from kraftwire.log.writers.segment_writer import IndexBuilder
from kraftwire.metadata.records.load import image_at
from kraftwire_wire.uuids import format_uuid

from codec_tests.columns.engines import batches_alike, row_of, rows_of_table
from codec_tests.interop.java_dump import (
    DECODERS,
    compare_dumps,
    java_dump,
    our_lines,
    their_lines,
)
from codec_tests.interop.log_session import CODECS, StoredLogs, stored_logs

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("stored_logs")]


@pytest.fixture(scope="module")
def stored() -> Iterator[StoredLogs]:
    with stored_logs() as logs:
        yield logs


def _files(stored: StoredLogs, *kinds: FileKind) -> list[LogFile]:
    found = find_files([stored.controller, stored.stopped, stored.killed])
    return [file for file in found if file.kind in kinds]


def _small(file: LogFile) -> bool:
    """Whether a file can be dumped whole; Java's tool prints the zeros of a preallocated index."""
    return file.path.stat().st_size < 1 << 20


def test_every_batch_and_record_is_what_kafka_says(stored: StoredLogs) -> None:
    by_log: defaultdict[str | None, list[LogFile]] = defaultdict(list)
    for file in _files(stored, *BATCH_FILES):
        if file.path.suffix in (".log", ".checkpoint"):  # Kafka's tool goes by the suffix
            by_log[log_of_topic(file.topic)].append(file)
    assert set(DECODERS) < set(by_log)
    compared = 0
    for log, files in by_log.items():
        options = ("--print-data-log",) if log is None else (DECODERS[log],)
        compared += compare_dumps([file.path for file in files], *options, log=log)
    assert compared > 3000


def test_columns_have_the_same_records(stored: StoredLogs) -> None:
    compared = 0
    for file in _files(stored, *BATCH_FILES):
        with file.open() as source:
            batches = list(read_batches(source))
        found = batches_alike(file.path.read_bytes(), control=True)
        assert found.damage == []
        assert rows_of_table(found.table) == [
            row_of(batch, record) for batch in batches for record in batch.records
        ]
        compared += found.table.num_rows
    assert compared > 3000


def test_the_session_stored_what_it_was_made_for(stored: StoredLogs) -> None:
    codecs, flags = set(), set()
    for file in _files(stored, FileKind.SEGMENT):
        with file.open() as source:
            for batch in read_batches(source):
                codecs.add(batch.header.codec_label)
                flags |= {
                    ("transactional", batch.header.is_transactional),
                    ("control", batch.header.is_control),
                    ("log append time", batch.header.has_log_append_time),
                    ("delete horizon", batch.header.delete_horizon is not None),
                }
    assert codecs == set(CODECS)
    assert len(flags) == 8
    assert len(_files(stored, FileKind.TRANSACTION_INDEX)) >= 4
    assert len(_files(stored, FileKind.SNAPSHOT)) >= 3
    assert any(file.name.state == "deleted" for file in _files(stored, FileKind.SEGMENT))


def test_indexes_and_producer_snapshots_are_what_kafka_says(stored: StoredLogs) -> None:
    kinds = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TRANSACTION_INDEX)
    files = [
        file
        for file in _files(stored, *kinds, FileKind.PRODUCER_SNAPSHOT)
        if file.in_use and _small(file)
    ]
    theirs = java_dump([file.path for file in files])
    compared = 0
    for file in files:
        ours = list(_index_lines(file))
        lines = [line for line in theirs[file.path] if re.match(r"\w+: ", line)]
        assert ours == lines, file.path
        compared += len(ours)
    assert compared > 60


def _index_lines(file: LogFile) -> Iterator[str]:
    with file.open() as source:
        if file.kind is FileKind.OFFSET_INDEX:
            for at in read_offset_index(source, file.base_offset):
                yield f"offset: {at.offset} position: {at.position}"
        elif file.kind is FileKind.TIME_INDEX:
            for time in read_time_index(source, file.base_offset):
                yield f"timestamp: {time.timestamp} offset: {time.offset}"
        elif file.kind is FileKind.TRANSACTION_INDEX:
            for entry in read_transaction_index(source):
                yield (
                    f"version: 0 producerId: {entry.producer_id} "
                    f"firstOffset: {entry.first_offset} lastOffset: {entry.last_offset} "
                    f"lastStableOffset: {entry.last_stable_offset}"
                )
        else:
            for producer in decode_producer_snapshot(file.read()).producer_entries:
                first = producer.current_txn_first_offset
                begun = "OptionalLong.empty" if first < 0 else f"OptionalLong[{first}]"
                first_sequence = producer.last_sequence - producer.offset_delta
                yield (
                    f"producerId: {producer.producer_id} producerEpoch: {producer.epoch} "
                    f"coordinatorEpoch: {producer.coordinator_epoch} "
                    f"currentTxnFirstOffset: {begun} lastTimestamp: {producer.timestamp} "
                    f"firstSequence: {first_sequence} lastSequence: {producer.last_sequence} "
                    f"lastOffset: {producer.last_offset} offsetDelta: {producer.offset_delta} "
                    f"timestamp: {producer.timestamp}"
                )


def test_batches_written_again_are_kafkas_byte_for_byte(stored: StoredLogs) -> None:
    compared = 0
    for file in _files(stored, *BATCH_FILES):
        with file.open() as source:
            for batch in read_batches(source):
                header = batch.header
                if header.codec or not batch.records:
                    continue
                settings = BatchSettings(
                    partition_leader_epoch=header.partition_leader_epoch,
                    producer_id=header.producer_id,
                    producer_epoch=header.producer_epoch,
                    base_sequence=header.base_sequence,
                    is_transactional=header.is_transactional,
                    is_control=header.is_control,
                    delete_horizon=header.delete_horizon,
                )
                assert encode_batch(batch.records, settings) == batch.data, (file.path, header)
                compared += 1
    assert compared > 500


def test_indexes_made_anew_are_kafkas_byte_for_byte(stored: StoredLogs) -> None:
    compared = 0
    for partition in find_partitions([stored.stopped]):
        for segment in partition.segments:
            builder = IndexBuilder()
            with segment.open() as source:
                for batch in read_batches(source):
                    builder.add(batch.header)
            builder.add_time()
            for kind, ours in (
                (FileKind.OFFSET_INDEX, encode_offset_index(builder.offsets, segment.base_offset)),
                (FileKind.TIME_INDEX, encode_time_index(builder.times, segment.base_offset)),
            ):
                index = partition.beside(segment, kind)
                # Only those of the metadata log stay open, and so allocated in advance.
                if index is not None and _small(index):
                    assert ours == index.read(), index.path
                    compared += 1
    assert compared > 30


def test_fsck_finds_nothing(stored: StoredLogs) -> None:
    partitions = find_partitions([stored.controller, stored.stopped, stored.killed])
    check = Fsck()
    assert list(check.run(partitions)) == []
    assert len({row.directory_id for row in check.identities if row.directory_id}) == 3
    assert len({row.cluster_id for row in check.identities if row.cluster_id}) == 1


def test_topics_out_of_the_metadata_log_are_those_that_kafka_described(stored: StoredLogs) -> None:
    image = image_at(stored.controller, stored.described.offset)
    wanted: dict[str, tuple[str, dict[str, str], list[tuple[str, ...]]]] = {}
    for line in stored.described.topics.splitlines():
        facts = dict(part.partition(": ")[::2] for part in line.strip().split("\t"))
        if "TopicId" in facts:
            settings = dict(part.split("=", 1) for part in facts["Configs"].split(","))
            del settings["file.delete.delay.ms"]  # out of the brokers' own settings
            wanted[facts["Topic"]] = (facts["TopicId"], settings, [])
        elif "Partition" in facts:
            ids = [facts[name] for name in ("Leader", "Replicas", "Isr")]
            wanted[facts["Topic"]][2].append(tuple(ids))
    assert len(wanted) > 12
    cluster_wide = image.configs[4, ""]
    ours = {}
    for topic_id, topic in image.topics.by_id.items():
        partitions = [
            (str(one.leader), _joined(one.replicas), _joined(one.isr))
            for _, one in sorted(topic.partitions.items())
        ]
        settings = {"min.insync.replicas": cluster_wide["min.insync.replicas"]}
        settings |= image.configs.get((2, topic.name), {})
        ours[topic.name] = (format_uuid(topic_id), settings, partitions)
    assert ours == wanted


def _joined(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


def test_groups_out_of_raw_records_are_those_that_kafka_described(stored: StoredLogs) -> None:
    groups, problems = read_groups([stored.stopped])
    assert problems == []
    assert {group.type.value for group in groups.by_name.values()} == {
        "classic",
        "consumer",
        "share",
        "streams",
    }
    offsets = {
        (name, at.topic, at.partition, one.offset)
        for name, group in groups.by_name.items()
        for at, one in group.offsets.items()
    }
    assert offsets == _described_offsets(stored.described.offsets, column=3)
    members = {
        (name, member.id)
        for name, group in groups.by_name.items()
        if group.type.value in ("classic", "consumer")
        for member in group.members.values()
    }
    rows = [line.split() for line in stored.described.members.splitlines()]
    assert members == {(row[0], row[1]) for row in rows if len(row) == 5 and row[4].isdigit()}
    shared = {
        (name, groups.topic_names[at.topic_id], at.partition, one.get().start_offset)
        for name, group in groups.by_name.items()
        for at, one in group.share_partitions.items()
    }
    assert shared == _described_offsets(stored.described.share_offsets, column=3)


def _described_offsets(text: str, column: int) -> set[tuple[str, str, int, int]]:
    """Return group, topic, partition and offset of every row that has an offset."""
    rows = [line.split() for line in text.splitlines()]
    return {
        (row[0], row[1], int(row[2]), int(row[column]))
        for row in rows
        if len(row) > column and row[2].isdigit() and row[column].isdigit()
    }


def test_a_torn_tail_is_where_kafka_would_cut(stored: StoredLogs, tmp_path: Path) -> None:
    """A segment cut within its last batch reads as Kafka's tool reads it."""
    segment = next(file for file in _files(stored, FileKind.SEGMENT) if file.topic == "codec-none")
    target = tmp_path / "codec-none-0" / segment.path.name
    target.parent.mkdir()
    shutil.copyfile(segment.path, target)
    with target.open("r+b") as file:
        file.truncate(segment.path.stat().st_size - 7)
    theirs = list(their_lines(java_dump([target], "--print-data-log")[target]))
    with FileSource(target) as source:
        *batches, damage = scan_batches(source)
    assert isinstance(damage, Damage)
    kept = [batch for batch in batches if not isinstance(batch, Damage)]
    assert list(our_lines(iter(kept), None)) == theirs
