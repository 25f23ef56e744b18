"""The columns that a read is asked for, before anything is read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kraftwire.columns import decode_batches
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.columns.projection import Projection, project
from pyspark_kraftwire.columns.record_columns import COLUMNS, default_schema
from pyspark_kraftwire.columns.record_kinds import requested_kinds
from pyspark_kraftwire.columns.spark_types import TIMESTAMP
from pyspark_kraftwire.options import Options, parse_options

from codec_tests.spark.reads import batch, read_table, write_segments
from codec_tests.stored_files import BROKER

spark_group = pytest.mark.xdist_group("spark")


def projection_of(options: Options, **columns: pa.DataType) -> Projection:
    schema = pa.schema([pa.field(name, kind) for name, kind in columns.items()])
    return project(schema, options, requested_kinds(options))


def options(**given: str) -> Options:
    return parse_options(given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"includeHeaders": "true", "includeBatch": "true"},
        {"decode": "metadata", "mode": "PERMISSIVE"},
        {"decode": "auto", "includeControl": "true", "includeHeaders": "true"},
    ],
)
def test_the_default_columns_can_be_requested(given: dict[str, str]) -> None:
    parsed = options(**given)
    kinds = requested_kinds(parsed)
    schema = default_schema(parsed, kinds)
    found = project(schema, parsed, kinds)
    assert found.schema is schema
    made = {*found.records, *found.messages, found.type_name, found.version_name}
    assert {*made, found.corrupt_name} - {None} == set(schema.names)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_column_can_be_requested_alone(name: str) -> None:
    """Those of headers and batches too, whatever the options include."""
    kind = COLUMNS[name].type
    found = projection_of(options(), **{name.upper(): kind})
    assert found.records == {name.upper(): name}
    assert found.needs(options()) == sorted(COLUMNS[name].needs) or ["offset"]
    table = read_table(BROKER / "orders-0", schema=found.schema)
    assert (table.schema, table.num_rows > 0) == (found.schema, True)


def test_only_requested_columns_are_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_segments(tmp_path / "tea-0", [batch(0, 3)])
    asked: list[list[str]] = []

    def spy(source: object, columns: list[str], **more: object) -> object:
        asked.append(columns)
        return decode_batches(source, columns, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("pyspark_kraftwire.decoding.split_reader.decode_batches", spy)
    for names, needed in [
        (["offset", "key"], ["key", "offset"]),
        (["topic", "partition"], ["offset"]),
        (["codec", "isControl", "timestamp"], ["attributes", "timestamp"]),
        ([], ["offset"]),
    ]:
        schema = pa.schema([pa.field(name, COLUMNS[name].type) for name in names])
        assert read_table(tmp_path / "tea-0", schema=schema).num_rows == (3 if names else 0)
        assert asked.pop() == needed


@pytest.mark.parametrize(
    ("given", "columns", "reason"),
    [
        ({}, {"colour": pa.string()}, "no column 'colour'; there are key, value, topic"),
        ({}, {"offset": pa.int32()}, "column offset is int64, not int32"),
        ({}, {"timestamp": pa.timestamp("us")}, "column timestamp is timestamp"),
        ({}, {"value": pa.string()}, "column value is binary, not string"),
        ({}, {"TopicRecord": pa.struct([("name", pa.string())])}, "no column 'TopicRecord'"),
        ({}, {"type": pa.string()}, "no column 'type'"),
        ({}, {"_corrupt_record": pa.string()}, "no column '_corrupt_record'"),
        (
            {"mode": "PERMISSIVE"},
            {"_corrupt_record": pa.string()},
            "column _corrupt_record is struct<bytes: binary",
        ),
        (
            {"decode": "metadata"},
            {"TopicRecord": pa.struct([("title", pa.string())])},
            "no field TopicRecord.title; there are name, topic_id",
        ),
        (
            {"decode": "metadata"},
            {"TopicRecord": pa.struct([("name", pa.int32())])},
            "column TopicRecord.name is string, not int32",
        ),
        (
            {"decode": "metadata"},
            {"PartitionRecord": pa.struct([("isr", pa.list_(pa.int64()))])},
            r"column PartitionRecord.isr\[\] is int32, not int64",
        ),
        ({"decode": "offsets"}, {"TopicRecord": pa.struct([])}, "no column 'TopicRecord'"),
    ],
)
def test_unknown_columns_and_wrong_types_are_errors(
    given: dict[str, str], columns: dict[str, pa.DataType], reason: str
) -> None:
    with pytest.raises(KraftwireError, match=reason):
        projection_of(options(**given), **columns)


@pytest.mark.parametrize("name", ["offset", "Key", "codec", "type", "TopicRecord"])
def test_the_corrupt_column_cannot_replace_another(name: str) -> None:
    parsed = options(mode="PERMISSIVE", decode="metadata", columnNameOfCorruptRecord=name)
    with pytest.raises(
        KraftwireError, match=f"columnNameOfCorruptRecord: another column is called {name}"
    ):
        projection_of(parsed, partition=pa.int32())


@pytest.mark.parametrize("mode", ["FAILFAST", "DROPMALFORMED"])
def test_without_a_corrupt_column_its_name_is_free(mode: str) -> None:
    found = projection_of(options(mode=mode, columnNameOfCorruptRecord="offset"), offset=pa.int64())
    assert (found.records, found.corrupt_name) == ({"offset": "offset"}, None)


def test_names_match_in_any_case() -> None:
    found = projection_of(
        options(decode="metadata", mode="PERMISSIVE"),
        TIMESTAMP=TIMESTAMP,
        TYPE=pa.string(),
        topicrecord=pa.struct([("name", pa.string())]),
    )
    assert (found.records, found.type_name) == ({"TIMESTAMP": "timestamp"}, "TYPE")
    assert found.messages == {"topicrecord": "TopicRecord"}
    assert found.message_types == {"TopicRecord": pa.struct([("name", pa.string())])}


@pytest.mark.slow
@spark_group
def test_spark_shows_the_existing_columns(spark: SparkSession) -> None:
    for schema, reason in [
        ("colour string", "no column 'colour'; there are key, value, topic"),
        ("offset int", "column offset is int64, not int32"),
    ]:
        with pytest.raises(PySparkException) as caught:
            spark.read.format("kraftwire").schema(schema).load(str(BROKER)).collect()
        assert reason in str(caught.value)


@pytest.mark.slow
@spark_group
def test_spark_reads_the_corrupt_column(spark: SparkSession) -> None:
    reader = spark.read.format("kraftwire").option("mode", "PERMISSIVE")
    with pytest.raises(PySparkException) as caught:
        reader.option("columnNameOfCorruptRecord", "offset").load(str(BROKER)).collect()
    assert "offset" in str(caught.value)
    frame = reader.option("columnNameOfCorruptRecord", "bad").load(str(BROKER / "tea-0"))
    assert frame.schema["bad"].dataType.simpleString() == (
        "struct<bytes:binary,file:string,position:bigint,reason:string>"
    )
    assert frame.where("bad is null").count() == 200
