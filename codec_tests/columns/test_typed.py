"""The records of Kafka's own logs to columns."""

from __future__ import annotations

import random
from array import array

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kraftwire.columns import decode_batches, decode_typed, record_schema
from kraftwire.log import Batch, LogFile, Record, read_batches
from kraftwire.log.directories.file_names import BATCH_FILES
from kraftwire.log.queries.typed_records import decode_typed as decode_record
from kraftwire.log.queries.typed_records import log_of_topic
from kraftwire_messages.kafka import OffsetCommitKey, OffsetCommitValue, TopicRecord
from kraftwire_wire.errors import DecodeError, KraftwireError
from kraftwire_wire.records import (
    encode_coordinator_key,
    encode_metadata_record,
    encode_prefixed,
)

from codec_tests.columns.engines import ENGINES, binary, engine, fields_of, typed_alike
from codec_tests.fuzz.mutants import mutants
from codec_tests.stored_files import stored_files

LOGS = [
    file
    for file in stored_files(*BATCH_FILES)
    if log_of_topic(file.topic) is not None and file.path.stat().st_size
]


def log_name(file: LogFile) -> str:
    log = log_of_topic(file.topic)
    assert log is not None
    return log


def columns_of(file: LogFile) -> tuple[pa.Array, pa.Array]:
    """The keys and values of a file, control records left out."""
    schema = record_schema(["key", "value"])
    with file.open() as source:
        chunks = list(decode_batches(source, schema.names))
    table = pa.Table.from_batches(chunks, schema).combine_chunks()
    keys, values = (
        column.chunk(0) if column.num_chunks else binary([]) for column in table.columns
    )
    return keys, values


def records_of(file: LogFile) -> list[tuple[Batch, Record]]:
    with file.open() as source:
        return [
            (batch, record)
            for batch in read_batches(source)
            if not batch.header.is_control
            for record in batch.records
        ]


@pytest.mark.parametrize("file", LOGS, ids=lambda file: f"{file.topic}-{file.path.name}")
def test_typed_rows_equal_the_records_of_a_real_kafka(file: LogFile) -> None:
    log = log_name(file)
    kinds, errors = typed_alike(log, *columns_of(file))
    assert errors == []
    found = {}
    for name, rows in kinds.items():
        for at, row in enumerate(rows.rows.to_pylist()):
            key = rows.keys[at].as_py() if rows.keys is not None else None
            found[row] = (name, key, rows.versions[at].as_py(), rows.values[at].as_py())
    records = records_of(file)
    assert sorted(found) == list(range(len(records)))
    for row, (batch, record) in enumerate(records):
        typed = decode_record(log, batch, record)
        assert typed is not None
        key, value = typed.key, typed.value
        name, *rest = found[row]
        assert name == typed.name or value is None
        assert rest == [
            None if key is None else fields_of(key),
            None if value is None else value.version,
            None if value is None else fields_of(value.message),
        ]


@pytest.mark.parametrize("file", LOGS, ids=lambda file: f"{file.topic}-{file.path.name}")
def test_engines_decode_damaged_records_alike(file: LogFile) -> None:
    rng = random.Random(str(file.topic))
    rows: list[tuple[bytes | None, bytes | None]] = []
    for key, value in zip(*(column.to_pylist() for column in columns_of(file)), strict=True):
        rows.append((key, value))
        for _ in range(4):
            damaged_key = next(mutants(key or b"", 1, rng)) if rng.random() < 0.3 else key
            damaged_value = next(mutants(value or b"", 1, rng)) if rng.random() < 0.7 else value
            rows.append((damaged_key, damaged_value))
    keys, values = (binary(column) for column in zip(*rows, strict=True))
    log = log_name(file)
    typed_alike(log, keys, values)
    typed_alike(log, keys[7:50], values[7:50])


def offset_commit(number: int) -> tuple[bytes, bytes]:
    key = encode_coordinator_key(OffsetCommitKey(group="g", topic="t", partition=number))
    return key, encode_prefixed(OffsetCommitValue(offset=number), 4)


def test_tombstones_and_null_rows_are_decoded() -> None:
    pairs = [offset_commit(number) for number in range(4)]
    keys = binary([pairs[0][0], pairs[1][0], b"\x7f\xff?", None, b"\x00", pairs[3][0], pairs[2][0]])
    values = binary([pairs[0][1], None, pairs[2][1], None, None, b"\x00", b"\xff\xf0abc"])
    kinds, errors = typed_alike("group", keys, values)
    commits = kinds["OffsetCommitValue"]
    assert list(kinds) == ["OffsetCommitValue"]
    assert commits.rows.to_pylist() == [0, 1, 5, 6]
    assert commits.versions.to_pylist() == [4, None, None, None]
    assert commits.values.is_null().to_pylist() == [False, True, True, True]
    assert [key["partition"] for key in commits.keys.to_pylist()] == [0, 1, 3, 2]
    assert errors == [
        (2, "record id: no group record has id 32767 (at byte 0)"),
        (3, "a record of group without a key"),
        (4, "record id: needs 2 bytes, there are 1 (at byte 0)"),
        (5, "version: needs 2 bytes, there are 1 (at byte 0)"),
        (6, "OffsetCommitValue has no version -16; it has 0-4"),
    ]


def hidden(value: bytes) -> pa.Array:
    """A value and a null beneath which the same bytes lie."""
    mask = pa.array([False, True])
    return pc.if_else(mask, pa.scalar(None, pa.binary()), pa.array([value] * 2, pa.binary()))


def test_bytes_under_a_null_are_ignored() -> None:
    key, value = offset_commit(1)
    assert hidden(value).buffers()[1].to_pybytes()[8:12] != b"\0\0\0\0"
    kinds, errors = typed_alike("group", binary([key] * 2), hidden(value))
    assert kinds["OffsetCommitValue"].values.null_count == 1
    assert errors == []
    kinds, errors = typed_alike("group", hidden(key), binary([value] * 2))
    assert kinds["OffsetCommitValue"].rows.to_pylist() == [0]
    assert errors == [(1, "a record of group without a key")]
    record = encode_metadata_record(TopicRecord(name="t"), 0)
    kinds, errors = typed_alike("cluster-metadata", pa.nulls(2), hidden(record))
    assert kinds["TopicRecord"].rows.to_pylist() == [0]
    assert errors == [(1, "a record of cluster-metadata without a value")]


@pytest.mark.parametrize("name", ENGINES)
def test_the_first_bad_row_is_the_error(name: str) -> None:
    keys = binary([offset_commit(1)[0], b"\x00\x01", b""])
    with engine(name), pytest.raises(DecodeError, match=r"^\[1\]\.group: "):
        decode_typed("group", keys, binary([None] * 3))


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(KraftwireError, match="no log is called 'x'; there are cluster-metadata"):
        decode_typed("x", binary([]), binary([]))
    with pytest.raises(KraftwireError, match="1 keys and 2 values"):
        decode_typed("group", binary([None]), binary([None, None]))
    broken = pa.Array.from_buffers(
        pa.binary(), 2, [None, pa.py_buffer(array("i", [0, 9, 4])), pa.py_buffer(b"12345678")]
    )
    with engine(ENGINES[-1]), pytest.raises(KraftwireError):
        decode_typed("group", broken, binary([None, None]))
    assert decode_typed("share", binary([]), binary([])) == {}


@pytest.mark.parametrize("file", LOGS, ids=lambda file: f"{file.topic}-{file.path.name}")
def test_only_requested_messages_are_decoded(file: LogFile) -> None:
    log, columns = log_name(file), columns_of(file)
    whole = decode_typed(log, *columns)
    for wanted in whole:
        found = decode_typed(log, *columns, only=[wanted])
        assert list(found) == list(whole)
        for name, rows in found.items():
            assert rows.rows.equals(whole[name].rows)
            assert rows.versions.equals(whole[name].versions)
            assert rows.keys is None
            assert rows.values == (whole[name].values if name == wanted else None)


def test_damage_in_other_messages_is_ignored() -> None:
    good = encode_metadata_record(TopicRecord(name="tea"), 0)
    values = binary([good, good[:-1]])
    found = decode_typed("cluster-metadata", binary([None] * 2), values, only=())
    assert found["TopicRecord"].versions.to_pylist() == [0, 0]
    with pytest.raises(DecodeError):
        decode_typed("cluster-metadata", binary([None] * 2), values, only=["TopicRecord"])
