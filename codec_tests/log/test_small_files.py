"""Indexes, checkpoints, snapshots and properties: Kafka's bytes come back, others are refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.cli.log.files import file_rows
from kraftwire.log import BytesSource, CorruptBatch, find_partitions
from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.fsck import Fsck
from kraftwire.log.small_files.checkpoints import (
    EpochEntry,
    TopicPartition,
    decode_leader_epochs,
    decode_offset_checkpoint,
    encode_leader_epochs,
    encode_offset_checkpoint,
)
from kraftwire.log.small_files.indexes import (
    OffsetEntry,
    TimeEntry,
    encode_offset_index,
    encode_time_index,
    encode_transaction_index,
    read_offset_index,
    read_time_index,
    read_transaction_index,
)
from kraftwire.log.small_files.producer_snapshot import (
    decode_producer_snapshot,
    encode_producer_snapshot,
)
from kraftwire.log.small_files.properties import (
    MetaProperties,
    decode_meta_properties,
    decode_partition_metadata,
    decode_properties,
    encode_meta_properties,
    encode_partition_metadata,
)
from kraftwire.log.small_files.quorum_state import decode_quorum_state, encode_quorum_state
from kraftwire_wire.uuids import parse_uuid

from codec_tests.cli.running import run
from codec_tests.stored_files import BROKER, CONTROLLER, stored_files

Again = Callable[[bytes], bytes]


def _offset_index(data: bytes) -> bytes:
    return encode_offset_index(read_offset_index(BytesSource(data), 7), 7)


def _time_index(data: bytes) -> bytes:
    return encode_time_index(read_time_index(BytesSource(data), 7), 7)


def _transaction_index(data: bytes) -> bytes:
    return encode_transaction_index(read_transaction_index(BytesSource(data)))


AGAIN: dict[FileKind, Again] = {
    FileKind.OFFSET_INDEX: _offset_index,
    FileKind.TIME_INDEX: _time_index,
    FileKind.TRANSACTION_INDEX: _transaction_index,
    FileKind.PRODUCER_SNAPSHOT: lambda data: encode_producer_snapshot(
        decode_producer_snapshot(data)
    ),
    FileKind.LEADER_EPOCHS: lambda data: (
        encode_leader_epochs(decode_leader_epochs(data)) if data else b""
    ),
    FileKind.OFFSET_CHECKPOINT: lambda data: encode_offset_checkpoint(
        decode_offset_checkpoint(data)
    ),
    FileKind.PARTITION_METADATA: lambda data: encode_partition_metadata(
        decode_partition_metadata(data)
    ),
    FileKind.QUORUM_STATE: lambda data: encode_quorum_state(decode_quorum_state(data)),
}


@pytest.mark.parametrize("kind", AGAIN, ids=lambda kind: kind.value)
def test_kafkas_files_come_back_byte_for_byte(kind: FileKind) -> None:
    files = stored_files(kind)
    assert files
    for file in files:
        data = file.path.read_bytes()
        assert AGAIN[kind](data) == data, file.path


def test_every_kind_of_file_has_rows_to_print() -> None:
    for file in stored_files(*AGAIN, FileKind.META_PROPERTIES, FileKind.CLEAN_SHUTDOWN):
        rows = list(file_rows(file))
        assert rows or file.path.stat().st_size in (0, 4, 10), file.path
        json.dumps(rows)


@given(st.sampled_from(list(AGAIN)), st.binary(max_size=80) | st.text(max_size=80))
def test_any_bytes_are_read_or_refused(kind: FileKind, content: bytes | str) -> None:
    data = content if isinstance(content, bytes) else content.encode(errors="replace")
    try:
        AGAIN[kind](data)
    except CorruptBatch as error:
        assert 0 <= error.position <= len(data)


def test_zeros_after_the_entries_are_no_entries() -> None:
    """The file of an active segment is allocated in advance."""
    entries = [OffsetEntry(10, 4200), OffsetEntry(20, 9000)]
    data = encode_offset_index(entries, 7) + bytes(1 << 20)
    assert list(read_offset_index(BytesSource(data), 7)) == entries
    times = [TimeEntry(1000, 7), TimeEntry(2000, 11)]
    data = encode_time_index(times, 7) + bytes(1 << 20)
    assert list(read_time_index(BytesSource(data[: len(data) // 12 * 12]), 7)) == times


def test_entries_cross_the_pieces_that_are_read_immediately() -> None:
    entries = [OffsetEntry(number, 100 * number) for number in range(1, 30_000)]
    data = encode_offset_index(entries, 0)
    assert list(read_offset_index(BytesSource(data), 0)) == entries


@pytest.mark.parametrize("text", ["cluster.id=\nversion=0\n", "cluster.id= \nversion=0\n"])
def test_an_empty_cluster_id_is_missing(text: str, tmp_path: Path) -> None:
    assert decode_meta_properties(text.encode()) == MetaProperties(0, None, None, None)
    (tmp_path / "meta.properties").write_text(text)
    result = run("log", "fsck", "-o", "table", tmp_path)
    assert (result.exit_code, result.stdout.splitlines()[1:]) == (0, [])


def test_a_quorum_state_with_two_leaders_is_refused() -> None:
    data = (CONTROLLER / "__cluster_metadata-0" / "quorum-state").read_bytes()
    twice = data.replace(b'"leaderId":', b'"leaderId":7,"leaderId":')
    with pytest.raises(CorruptBatch, match="an object has the key 'leaderId' more than once"):
        decode_quorum_state(twice)


def test_the_controllers_quorum_state_is_parsed() -> None:
    data = (CONTROLLER / "__cluster_metadata-0" / "quorum-state").read_bytes()
    state = decode_quorum_state(data)
    assert (state.version, state.message.leader_id, state.message.leader_epoch) == (1, 1, 1)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"\n", "not a checkpoint"),
        (b"0\n", "not a checkpoint"),
        (b"1\n0\n", "version '1'"),
        (b"0\nx\n", "'x' is not a number"),
        (b"0\n2\ntea 0 1\n", "1 entries, but the count is 2"),
        (b"0\n1\ntea 0\n", "2 words instead of 3"),
        (b"0\n1\ntea zero 1\n", "'zero'"),
        (b"0\n2\ntea 0 1\ntea 0 2\n", "twice"),
        (b"0\n1\n\xff\xfe 0 1\n", "not UTF-8 text"),
    ],
)
def test_checkpoints_that_are_not_valid_are_refused(data: bytes, match: str) -> None:
    with pytest.raises(CorruptBatch, match=match):
        decode_offset_checkpoint(data)


@pytest.mark.parametrize(
    "name",
    [
        "cleaner-offset-checkpoint",
        "log-start-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        "orders-0/leader-epoch-checkpoint",
    ],
)
def test_checkpoints_that_kafka_created_and_has_not_written_are_empty(
    name: str, tmp_path: Path
) -> None:
    directory = tmp_path / "data"
    shutil.copytree(BROKER, directory)
    before = list(Fsck().run(list(find_partitions([directory]))))
    (directory / name).write_bytes(b"")
    for command, *options in (("fsck",), ("dump", "-o", "table"), ("dump", "-o", "json")):
        result = run("log", command, *options, directory / name)
        assert (result.exit_code, result.stdout) == (0, "")
        assert command == "fsck" or not result.stderr
    assert list(Fsck().run(list(find_partitions([directory])))) == before


def test_errors_of_checkpoints_have_the_byte_where_the_line_starts() -> None:
    with pytest.raises(CorruptBatch) as caught:
        decode_offset_checkpoint(b"0\n2\ntea 0 1\nmilk 0\n", "here")
    assert (caught.value.file, caught.value.position) == ("here", len(b"0\n2\ntea 0 1\n"))


def test_checkpoints_are_parsed() -> None:
    assert decode_offset_checkpoint(b"0\n1\na.b-c 3 17\n") == {TopicPartition("a.b-c", 3): 17}
    assert decode_leader_epochs(b"0\n2\n1 0\n5 70\n") == [EpochEntry(1, 0), EpochEntry(5, 70)]


def test_java_properties_are_parsed_in_every_form() -> None:
    text = (
        "# comment\n! too\n\nplain=a\n key : b c \nspaced d\nempty\nescaped\\:key=\\u0041\\t\\=\n"
    )
    assert decode_properties(text.encode()) == {
        "plain": "a",
        "key": "b c",
        "spaced": "d",
        "empty": "",
        "escaped:key": "A\t=",
    }


def test_meta_properties_come_back() -> None:
    properties = MetaProperties(1, "cluster", 3, "jM5TAmMRQGOt6PGNschDTA")
    assert decode_meta_properties(encode_meta_properties(properties)) == properties
    old = decode_meta_properties(b"version=0\nbroker.id=4\n")
    assert old == MetaProperties(0, None, 4, None)


@pytest.mark.parametrize("data", [b"", b"version=one\n", b"version=1\nnode.id=x\n"])
def test_meta_properties_that_are_not_valid_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptBatch):
        decode_meta_properties(data)


@given(st.binary(min_size=16, max_size=16))
def test_ids_are_base64url(raw: bytes) -> None:
    import base64

    text = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    assert parse_uuid(text) == UUID(bytes=raw)


@pytest.mark.parametrize("text", ["", "AAAA", "!" * 22, "A" * 23, "ä" * 22])
def test_ids_that_are_not_valid_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_uuid(text)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        b'{"data_version":"1"}',
        b'{"data_version":99}',
        b'{"data_version":1,"leaderId":"x"}',
        b"[" * 100_000,
        b'{"data_version":' + b"9" * 5000 + b"}",
    ],
)
def test_quorum_states_that_are_not_valid_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptBatch):
        decode_quorum_state(data)


def test_a_small_file_that_is_huge_is_refused_before_it_is_read(tmp_path: Path) -> None:
    from kraftwire.log import find_files

    path = tmp_path / "quorum-state"
    with path.open("wb") as file:
        file.truncate(1 << 33)
    (found,) = find_files([path])
    with pytest.raises(CorruptBatch, match="too large"):
        found.read()
