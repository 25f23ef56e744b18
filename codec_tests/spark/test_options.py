"""What a read is asked for: every option, what it can be, and what is said of what it cannot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kraftwire.log.queries.typed_records import LOGS
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.options import (
    _PARSERS,
    DECODERS,
    EARLIEST,
    LATEST,
    Mode,
    Offsets,
    Options,
    parse_options,
)

from codec_tests.stored_files import BROKER

spark_group = pytest.mark.xdist_group("spark")

JSON = '{"tea": {"0": 17, "1": -1}, "a.b-c": {"2": -2}}'
NAMED = {("tea", 0): 17, ("tea", 1): LATEST, ("a.b-c", 2): EARLIEST}

GOOD: list[tuple[str, str, str, object]] = [
    ("topics", " tea, a.b-c ,", "topics", frozenset({"tea", "a.b-c"})),
    ("partitions", "0,2, 5-7", "partitions", frozenset({0, 2, 5, 6, 7})),
    ("startingOffsets", "Earliest", "starting_offsets", Offsets(EARLIEST)),
    ("startingOffsets", "latest", "starting_offsets", Offsets(LATEST)),
    ("startingOffsets", "12", "starting_offsets", Offsets(12)),
    ("startingOffsets", JSON, "starting_offsets", Offsets(EARLIEST, NAMED)),
    ("endingOffsets", "latest", "ending_offsets", Offsets(LATEST)),
    ("endingOffsets", f" {2**63 - 1} ", "ending_offsets", Offsets(2**63 - 1)),
    ("endingOffsets", JSON, "ending_offsets", Offsets(LATEST, NAMED)),
    ("startingTimestamp", "-1", "starting_timestamp", -1),
    ("startingTimestamp", "1772366400001", "starting_timestamp", 1772366400001),
    ("startingTimestamp", "2026-03-01T12:00:00.001Z", "starting_timestamp", 1772366400001),
    ("endingTimestamp", "2026-03-01 12:00", "ending_timestamp", 1772366400000),
    ("endingTimestamp", "2026-03-01T13:00:00+01:00", "ending_timestamp", 1772366400000),
    ("endingTimestamp", "2026-03-01", "ending_timestamp", 1772323200000),
    ("isolation", "READ_committed", "read_committed", True),
    ("isolation", "read_uncommitted", "read_committed", False),
    ("includeHeaders", "TRUE", "include_headers", True),
    ("includeBatch", "false", "include_batch", False),
    ("includeControl", "true", "include_control", True),
    ("mode", "permissive", "mode", Mode.PERMISSIVE),
    ("mode", "DropMalformed", "mode", Mode.DROPMALFORMED),
    ("mode", "FAILFAST", "mode", Mode.FAILFAST),
    ("columnNameOfCorruptRecord", "Bad", "corrupt_column", "Bad"),
    ("verifyCrc", "false", "verify_crc", False),
    ("maxSplitBytes", "134217728", "max_split_bytes", 1 << 27),
    ("maxSplitBytes", "64 KiB", "max_split_bytes", 1 << 16),
    ("maxSplitBytes", "128m", "max_split_bytes", 1 << 27),
    ("maxSplitBytes", "2GB", "max_split_bytes", 2 << 30),
    ("maxBatchBytes", "64m", "max_batch_bytes", 1 << 26),
    ("decode", "AUTO", "decode", "auto"),
    *(("decode", name, "decode", log) for name, log in DECODERS.items()),
    ("maxBytesPerTrigger", "1b", "max_bytes_per_trigger", 1),
    ("maxRecordsPerTrigger", "10", "max_records_per_trigger", 10),
    ("failOnDataLoss", "false", "fail_on_data_loss", False),
]

BAD: list[tuple[str, str, str]] = [
    ("topics", " , ", "names no topic"),
    ("partitions", "", "is neither a partition nor a range like 0-3"),
    ("partitions", "-1", "'-1' is neither a partition"),
    ("partitions", "1,x", "'x' is neither a partition"),
    ("partitions", "7-5", "ends before it begins"),
    ("partitions", "0-9999999999", "more than a million partitions"),
    ("startingOffsets", "first", "neither earliest, latest, an offset, nor like"),
    ("startingOffsets", "-3", "-2 is the earliest, -1 the latest"),
    ("startingOffsets", "1.5", "neither earliest"),
    ("startingOffsets", "true", "neither earliest"),
    ("startingOffsets", '{"tea": 3}', "nor like"),
    ("startingOffsets", '{"tea": {"first": 3}}', "'first' is not a partition number"),
    ("startingOffsets", '{"tea": {"-1": 3}}', "'-1' is not a partition number"),
    ("startingOffsets", '{"tea": {"0": 1}, "tea": {"1": 2}}', "the key 'tea' more than once"),
    ("endingOffsets", '{"tea": {"0": 1, "0": 2}}', "the key '0' more than once"),
    ("endingOffsets", '{"tea": {"0": "3"}}', "'3' is not an offset"),
    ("endingOffsets", str(2**63), "is not an offset"),
    ("endingOffsets", "[" * 100_000, "neither earliest"),
    ("startingTimestamp", "noon", "neither milliseconds nor a time like 2026-03-01T12:00:00Z"),
    ("endingTimestamp", "2026-13-01", "neither milliseconds"),
    ("endingTimestamp", "9" * 19, "neither milliseconds"),
    ("isolation", "serializable", "is not one of read_uncommitted, read_committed"),
    *(
        (name, "yes", "is neither true nor false")
        for name in (
            "includeHeaders",
            "includeBatch",
            "includeControl",
            "verifyCrc",
            "failOnDataLoss",
        )
    ),
    ("mode", "LENIENT", "is not one of FAILFAST, PERMISSIVE, DROPMALFORMED"),
    ("columnNameOfCorruptRecord", " ", "a column name cannot be empty"),
    ("maxSplitBytes", "0", "is not a size like 128m"),
    ("maxBatchBytes", "-1", "is not a size"),
    ("maxSplitBytes", "-1m", "is not a size"),
    ("maxSplitBytes", "1t", "is not a size"),
    ("maxBytesPerTrigger", "lots", "is not a size"),
    ("maxRecordsPerTrigger", "0", "is not a positive number"),
    ("maxRecordsPerTrigger", "1k", "is not a positive number"),
    ("decode", "json", "not one of metadata, offsets, transactions, share, remote-log, auto"),
]


@pytest.mark.parametrize(("name", "text", "attribute", "expected"), GOOD)
@pytest.mark.parametrize("case", [str, str.lower, str.upper])
def test_options_are_parsed(
    name: str, text: str, attribute: str, expected: object, case: type[str]
) -> None:
    options = parse_options({case(name): text})
    assert getattr(options, attribute) == expected
    default = getattr(Options(), attribute)
    assert options == Options(**{**vars(Options()), attribute: expected})
    assert expected != default or attribute.endswith(("offsets", "mode", "committed", "batch"))


@pytest.mark.parametrize(("name", "text", "reason"), BAD)
def test_bad_values_are_refused(name: str, text: str, reason: str) -> None:
    with pytest.raises(KraftwireError) as caught:
        parse_options({name.upper(): text})
    assert str(caught.value).startswith(f"option {name}: ")
    assert reason in str(caught.value)


def test_the_tests_cover_every_option() -> None:
    assert {name for name, *_ in GOOD} == set(_PARSERS)
    assert {name for name, *_ in BAD} == set(_PARSERS)
    assert set(DECODERS.values()) == set(LOGS)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("endingOfsets", "did you mean endingOffsets?"),
        ("ISOLATIONLEVEL", "did you mean isolation?"),
        ("include_headers", "did you mean includeHeaders?"),
        ("subscribe", "there are columnNameOfCorruptRecord, decode, endingOffsets"),
    ],
)
def test_an_unknown_option_is_an_error(name: str, reason: str) -> None:
    with pytest.raises(KraftwireError, match="no option") as caught:
        parse_options({name: "1"})
    assert reason in str(caught.value)


def test_offsets_apply_to_all_or_named_partitions() -> None:
    offsets = parse_options({"endingOffsets": JSON}).ending_offsets
    assert (offsets.of("tea", 0), offsets.of("a.b-c", 2)) == (17, EARLIEST)
    assert (offsets.of("tea", 9), offsets.of(None, None)) == (LATEST, LATEST)


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_are_exact_and_round_up_within_a_millisecond(time: datetime) -> None:
    """A record of millisecond `t` is before the time just where `t` is below what is parsed."""
    found = parse_options({"endingTimestamp": time.isoformat()}).ending_timestamp
    assert found is not None
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert (found - 1) * timedelta(milliseconds=1) < time - epoch
    assert time - epoch <= found * timedelta(milliseconds=1)


def test_one_path_or_a_list_is_accepted() -> None:
    assert parse_options({"path": "/a,b"}).paths == ("/a,b",)
    assert parse_options({"PATHS": '["/a", "/b"]'}).paths == ("/a", "/b")
    assert parse_options({}).paths == parse_options({"path": ""}).paths == ()
    for text in ("/a", '"/a"', "[1]", "[" * 100_000):
        with pytest.raises(KraftwireError, match=r"option paths: .* not a JSON list of paths"):
            parse_options({"paths": text})


def test_file_system_options_are_passed_on_but_not_shown() -> None:
    options = parse_options({"fs.access_key": "me", "FS.Secret_Key": "hush"})
    assert options.file_system == {"access_key": "me", "secret_key": "hush"}
    assert "hush" not in repr(options)


# -- as Spark hands them over ------------------------------------------------------------------


@pytest.mark.slow
@spark_group
def test_spark_passes_one_path_or_a_list(spark: SparkSession) -> None:
    tea, clocked = (str(BROKER / name) for name in ("tea-0", "clocked-0"))

    def count(*paths: str) -> int:
        load = paths[0] if len(paths) == 1 else list(paths)
        return spark.read.format("kraftwire").schema("offset bigint").load(load).count()

    assert [count(tea), count(clocked), count(tea, clocked)] == [200, 120, 320]
    assert spark.read.format("kraftwire").option("path", tea).load().count() == 200


@spark_group
def test_a_temporary_view_accepts_options(spark: SparkSession) -> None:
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW tea USING kraftwire OPTIONS "
        f"(path '{BROKER}', TOPICS 'tea', startingOffsets '190', includeheaders 'true')"
    )
    found = spark.sql("SELECT topic, offset, headers FROM tea ORDER BY offset").collect()
    assert [(row.topic, row.offset) for row in found] == [("tea", at) for at in range(190, 200)]


@spark_group
@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("mode", "LENIENT", "option mode: 'LENIENT' is not one of FAILFAST"),
        ("endingOfsets", "3", "did you mean endingOffsets?"),
    ],
)
def test_spark_shows_errors_in_options(
    spark: SparkSession, name: str, text: str, reason: str
) -> None:
    with pytest.raises(PySparkException) as caught:
        spark.read.format("kraftwire").option(name, text).load(str(BROKER))
    assert reason in str(caught.value)
