"""Filters that Spark pushes down: exact on every column, and they narrow what is read."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession, datasource

from pyspark_kraftwire.columns.filters import FILTERED, PushedFilter, PushedFilters, can_apply
from pyspark_kraftwire.columns.record_columns import COLUMNS
from pyspark_kraftwire.columns.spark_types import TIMESTAMP
from pyspark_kraftwire.planning.plan import plan
from pyspark_kraftwire.source import parse_filter

from codec_tests.spark.reads import Row, batch, options_of, read_rows, write_segments
from codec_tests.stored_files import BROKER

spark_group = pytest.mark.xdist_group("spark")

TYPES: dict[str, pa.DataType] = {
    **{name: column.type for name, column in COLUMNS.items() if name.lower() in FILTERED},
    "type": pa.string(),
    "version": pa.int16(),
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


ZONE = timezone(timedelta(hours=5, minutes=30))
TIMES = [-1, 0, 1, 999, 1000, 1001, 1772366400000001]
POOLS: dict[pa.DataType, list[Any]] = {
    pa.string(): ["", "a", "A", "tea", "tea-0", "\u00e9", "\uffff", "\U0001f600"],
    pa.bool_(): [False, True],
    TIMESTAMP: [EPOCH + timedelta(microseconds=at) for at in TIMES],
}
for bits, integer in ((16, pa.int16()), (32, pa.int32()), (64, pa.int64())):
    POOLS[integer] = [-(1 << bits - 1), -1, 0, 1, 2, 100, (1 << bits - 1) - 1]


def values_of(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """A few values of a type, so that some are equal; the ends of the type among them."""
    values = st.sampled_from(POOLS[kind])
    if kind != TIMESTAMP:
        return values
    return st.builds(lambda time, zone: time.astimezone(zone), values, st.sampled_from([UTC, ZONE]))


COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": operator.eq,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
}


def bytewise(value: Any) -> Any:
    """Spark compares text by its bytes."""
    return value.encode() if isinstance(value, str) else value


def verdict(one: PushedFilter, value: Any) -> bool | None:
    """What SQL says of a value: true, false or null."""
    found: bool | None
    if one.kind in ("IsNull", "IsNotNull"):
        found = (value is None) == (one.kind == "IsNull")
    elif value is None:
        found = None
    elif one.kind == "In":
        found = value in one.value or (None if None in one.value else False)
    else:
        found = COMPARED[one.kind](bytewise(value), bytewise(one.value))
    return found if found is None or not one.negated else not found


def kept(rows: list[Row], filters: list[PushedFilter]) -> list[Row]:
    return [row for row in rows if all(verdict(one, row[one.column]) is True for one in filters)]


@st.composite
def filters_on(draw: st.DrawFn, columns: dict[str, pa.DataType]) -> PushedFilter:
    name = draw(st.sampled_from(sorted(columns)))
    kind = draw(st.sampled_from([*COMPARED, "In", "IsNull", "IsNotNull"]))
    values = values_of(columns[name])
    value: Any = None
    if kind == "In":
        value = tuple(draw(st.lists(st.none() | values, max_size=4)))
    elif kind in COMPARED:
        value = draw(values)
    return PushedFilter(kind, name, value, draw(st.booleans()))


def varied_table() -> pa.RecordBatch:
    """Every column with every value that filters compare with, and with nulls."""
    columns = {}
    for number, (name, kind) in enumerate(TYPES.items()):
        pool = [None, *POOLS[kind]]
        shift = 3 * number
        values = [pool[(at * (1 + number % 4) + shift) % len(pool)] for at in range(60)]
        columns[name] = pa.array(values, kind)
    return pa.record_batch(columns)


TABLE = varied_table()
ROWS = TABLE.to_pylist()


@pytest.mark.slow
@settings(max_examples=400)
@given(st.lists(filters_on(TYPES), max_size=3))
def test_filters_keep_the_rows_for_which_they_are_true(some: list[PushedFilter]) -> None:
    assert all(can_apply(one, TABLE.schema) for one in some)
    assert PushedFilters(tuple(some)).apply(TABLE).to_pylist() == kept(ROWS, some)


def test_every_column_but_bytes_and_structs_is_filtered() -> None:
    assert {name for name in COLUMNS if name.lower() not in FILTERED} == {
        "key",
        "value",
        "headers",
    }


SCHEMA = pa.schema([*(pa.field(*item) for item in TYPES.items()), pa.field("key", pa.binary())])


@pytest.mark.parametrize(
    "one",
    [
        PushedFilter("EqualTo", "key", b"x"),
        PushedFilter("IsNotNull", "key"),
        PushedFilter("EqualTo", "colour", 1),
        PushedFilter("EqualNullSafe", "offset", 1),
        PushedFilter("EqualNullSafe", "offset", None, negated=True),
        PushedFilter("StringStartsWith", "topic", "t"),
        PushedFilter("StringContains", "topic", "t"),
        PushedFilter("EqualTo", "offset", None),
        PushedFilter("EqualTo", "offset", "one"),
        PushedFilter("EqualTo", "partition", 1 << 40),
        PushedFilter("EqualTo", "partition", 1.5),
        PushedFilter("In", "offset", (1, "x")),
        PushedFilter("GreaterThan", "timestamp", "2026-03-01"),
    ],
)
def test_inexact_filters_are_returned_to_spark(one: PushedFilter) -> None:
    assert not can_apply(one, SCHEMA)


def test_spark_filters_are_parsed() -> None:
    offset = ("offset",)
    for made, expected in [
        (datasource.EqualTo(offset, 3), PushedFilter("EqualTo", "offset", 3)),
        (datasource.In(offset, (1, None)), PushedFilter("In", "offset", (1, None))),
        (datasource.IsNull(offset), PushedFilter("IsNull", "offset")),
        (
            datasource.Not(datasource.LessThan(offset, 3)),
            PushedFilter("LessThan", "offset", 3, negated=True),
        ),
        (datasource.IsNotNull(("TopicRecord", "name")), None),
        (datasource.Not(datasource.EqualTo(("TopicRecord", "name"), "tea")), None),
    ]:
        assert parse_filter(made) == expected


# -- what is planned -------------------------------------------------------------------------------

READ = [BROKER / name for name in ("orders-0", "tea-0", "clocked-0", "temperatures-0")]
EVERYTHING = read_rows(*READ, includeBatch=True, includeControl=True)


@st.composite
def filters_of_rows(draw: st.DrawFn) -> PushedFilter:
    """A filter whose values are those of some rows, or next to them."""
    name = draw(st.sampled_from(sorted(EVERYTHING[0].keys() - {"key", "value"})))
    found = sorted({row[name] for row in EVERYTHING if row[name] is not None})
    values = st.sampled_from(found)
    if name in ("offset", "timestamp"):
        step: Any = 1 if name == "offset" else timedelta(microseconds=1)
        values = st.builds(lambda at, by: at + by * step, values, st.integers(-2, 2))
    kind = draw(st.sampled_from([*COMPARED, "In", "IsNotNull"]))
    value: Any = None
    if kind == "In":
        value = tuple(draw(st.lists(st.none() | values, max_size=3)))
    elif kind in COMPARED:
        value = draw(values)
    return PushedFilter(kind, name, value, draw(st.booleans()))


@pytest.mark.slow
@given(st.lists(filters_of_rows(), min_size=1, max_size=4))
def test_filtered_reads_equal_filtering_all_rows(filters: list[PushedFilter]) -> None:
    found = read_rows(*READ, includeBatch=True, includeControl=True, filters=filters)
    assert found == kept(EVERYTHING, filters)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two topics of two partitions of three segments: 10 records of 10 ms each."""
    directory = tmp_path_factory.mktemp("filtered")
    for name in ("tea-0", "tea-1", "coffee-0", "coffee-1"):
        segments = [[batch(10 * at, 10, time=100 * at, step=10)] for at in range(3)]
        write_segments(directory / name, *segments)
    return directory


def time(milliseconds: int, microseconds: int = 0) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds, microseconds=microseconds)


@pytest.mark.parametrize(
    ("filters", "splits"),
    [
        ([], 12),
        ([PushedFilter("EqualTo", "topic", "tea")], 6),
        ([PushedFilter("EqualTo", "TOPIC", "tea")], 6),
        ([PushedFilter("In", "partition", (1, 7, None))], 6),
        ([PushedFilter("EqualTo", "topic", "tea"), PushedFilter("EqualTo", "partition", 1)], 3),
        ([PushedFilter("EqualTo", "topic", "tea"), PushedFilter("EqualTo", "topic", "coffee")], 0),
        ([PushedFilter("EqualTo", "topic", topic) for topic in ("tea", "coffee", "tea")], 0),
        ([PushedFilter("EqualTo", "topic", "tea", negated=True)], 12),
        ([PushedFilter("GreaterThanOrEqual", "offset", 10)], 8),
        ([PushedFilter("GreaterThan", "offset", 19)], 4),
        ([PushedFilter("LessThan", "offset", 10)], 4),
        ([PushedFilter("LessThanOrEqual", "offset", 10)], 8),
        ([PushedFilter("EqualTo", "offset", 15)], 4),
        ([PushedFilter("GreaterThan", "timestamp", time(189, 999))], 8),
        ([PushedFilter("GreaterThan", "timestamp", time(190))], 4),
        ([PushedFilter("GreaterThanOrEqual", "timestamp", time(190))], 8),
        ([PushedFilter("GreaterThanOrEqual", "timestamp", time(200))], 4),
        ([PushedFilter("LessThan", "offset", 3), PushedFilter("GreaterThan", "offset", 12)], 0),
        ([PushedFilter("In", "offset", (25, None, 12))], 8),
        ([PushedFilter("In", "offset", (None,))], 12),
    ],
)
def test_filters_narrow_what_is_planned(
    data: Path, filters: list[PushedFilter], splits: int
) -> None:
    tasks = plan(options_of(data), PushedFilters(tuple(filters)))
    assert sum(map(len, tasks)) == splits


def test_options_and_filters_both_apply(data: Path) -> None:
    filters = [
        PushedFilter("GreaterThan", "offset", 4),
        PushedFilter("In", "topic", ("tea", "milk")),
    ]
    rows = read_rows(
        data, filters=filters, partitions="1", startingOffsets=2, endingOffsets=7, topics="tea"
    )
    assert [(row["topic"], row["partition"], row["offset"]) for row in rows] == [
        ("tea", 1, 5),
        ("tea", 1, 6),
    ]


def test_rows_about_damage_are_filtered_as_in_spark(tmp_path: Path) -> None:
    (path,) = write_segments(tmp_path / "tea-0", [batch(0, 3), batch(3, 3)])
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    everything = read_rows(path, mode="PERMISSIVE", includeBatch=True)
    assert len(everything) == 4
    for filters in (
        [PushedFilter("IsNull", "offset")],
        [PushedFilter("GreaterThan", "offset", 1)],
        [PushedFilter("EqualTo", "topic", "tea")],
        [PushedFilter("EqualTo", "topic", "milk")],
        [PushedFilter("In", "partition", (0, None))],
        [PushedFilter("EqualTo", "isControl", True, negated=True)],
    ):
        found = read_rows(path, mode="PERMISSIVE", includeBatch=True, filters=filters)
        assert found == kept(everything, filters)


# -- in Spark --------------------------------------------------------------------------------------

SWITCH = "spark.sql.python.filterPushdown.enabled"

QUERIES = {
    "topic = 'tea' AND offset >= 10 AND offset < 20": "all",
    "topic IN ('tea', 'orders') AND partition = 0": "all",
    "offset NOT IN (1, 2) AND topic <> 'orders'": "all",
    "offset IN (1, 2, NULL)": "some",
    "offset = 3 OR offset = 5": "some",
    "isControl": "some",
    "NOT isTransactional AND codec = 'none'": "some",
    "timestamp >= timestamp'2026-01-01 00:00:00' AND timestampType = 1": "all",
    "TOPIC = 'clocked' AND OFFSET > 110": "all",
    "topic LIKE 'te%' AND offset > 150": "some",
    "key IS NOT NULL AND offset < 3": "some",
    "codec IS NULL": "all",
    "offset <=> NULL": "some",
    "producerEpoch >= 0 AND producerId IS NOT NULL": "all",
    "length(value) > 5 AND offset % 2 = 1": "none",
    "topic = 'tea' AND topic = 'orders'": "some",
    "file LIKE '%orders%' AND attributes > 0": "some",
}


@contextmanager
def switched(spark: SparkSession, value: str) -> Iterator[None]:
    before = spark.conf.get(SWITCH)
    spark.conf.set(SWITCH, value)
    try:
        yield
    finally:
        assert before is not None
        spark.conf.set(SWITCH, before)


def executed_plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def frame_of(spark: SparkSession, where: str) -> DataFrame:
    reader = spark.read.format("kraftwire").options(includeBatch="true", includeControl="true")
    return reader.load([str(path) for path in READ]).where(where)


@pytest.mark.slow
@spark_group
@pytest.mark.parametrize("where", QUERIES)
def test_queries_have_the_same_rows_with_and_without_pushdown(
    spark: SparkSession, where: str
) -> None:
    with switched(spark, "false"):
        frame = frame_of(spark, where)
        expected = sorted(map(str, frame.collect()))
        filtered_by_spark = "Filter" in executed_plan(frame)
    with switched(spark, "true"):
        frame = frame_of(spark, where)
        assert sorted(map(str, frame.collect())) == expected
        text = executed_plan(frame)
    if QUERIES[where] == "all":
        assert filtered_by_spark
        assert "Filter (" not in text, "what is taken is not applied again"


@pytest.mark.slow
@spark_group
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York"])
def test_times_use_the_time_zone_of_the_session(spark: SparkSession, zone: str) -> None:
    times = sorted({row["timestamp"] for row in EVERYTHING})
    middle = times[len(times) // 2]
    before = spark.conf.get("spark.sql.session.timeZone")
    counts = []
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        for value in ("true", "false"):
            with switched(spark, value):
                text = middle.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
                counts.append(frame_of(spark, f"timestamp > timestamp'{text}'").count())
                local = f"timestamp'{middle.strftime('%Y-%m-%d %H:%M:%S.%f')}'"
                counts.append(frame_of(spark, f"timestamp > {local}").count())
    finally:
        assert before is not None
        spark.conf.set("spark.sql.session.timeZone", before)
    assert counts[0] == sum(row["timestamp"] > middle for row in EVERYTHING)
    assert counts[:2] == counts[2:]


@spark_group
def test_filters_leave_fewer_tasks(spark: SparkSession, data: Path) -> None:
    reader = spark.read.format("kraftwire").option("maxSplitBytes", "200")

    def tasks(where: str) -> int:
        return reader.load(str(data)).where(where).rdd.getNumPartitions()

    with switched(spark, "true"):
        every = tasks("offset >= 0")
        assert tasks("topic = 'tea'") == every // 2
        assert tasks("topic = 'tea' AND offset >= 20") == every // 6
        assert reader.load(str(data)).where("topic = 'milk'").count() == 0


@pytest.mark.slow
@spark_group
def test_typed_columns_are_filtered_too(spark: SparkSession) -> None:
    for value in ("false", "true"):
        with switched(spark, value):
            frame = spark.read.format("kraftwire").option("decode", "auto").load(str(BROKER))
            found = frame.where("type = 'TopicRecord' AND version = 0").select("TopicRecord.name")
            assert "tea" in {row.name for row in found.collect()}
            named = frame.where("TopicRecord.name = 'tea'").select("type", "TopicRecord.name")
            assert [tuple(row) for row in named.collect()] == [("TopicRecord", "tea")]
