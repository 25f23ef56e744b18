"""Reading from S3: a local server of moto's, which counts what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kraftwire.log.directories.file_names import FileKind
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.jobs.cluster_history.history import history
from pyspark_kraftwire.jobs.cluster_history.replay import find_log
from pyspark_kraftwire.jobs.export.arrow_writer import ExportWriter, Parquet, finished_parts
from pyspark_kraftwire.jobs.export.export import ExportRequest, prepare
from pyspark_kraftwire.jobs.export.outputs import open_output
from pyspark_kraftwire.planning.paths import resolve
from pyspark_kraftwire.planning.plan import plan, requested_partitions

from codec_tests.metadata import metadata_logs as logs
from codec_tests.spark.object_store import BUCKET, ObjectStore
from codec_tests.spark.reads import (
    batch,
    labels,
    offsets_of,
    options_of,
    read_table,
    write_segments,
)
from codec_tests.stored_files import BROKER, CODECS

spark_group = pytest.mark.xdist_group("spark")

TEA = "tea-0/00000000000000000040"


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    store = ObjectStore()
    try:
        store.put_directory(BROKER, "broker")
        yield store
    finally:
        store.close()


def s3(store: ObjectStore) -> dict[str, Any]:
    """Its options, as arguments of `options_of`."""
    return {name.replace("fs.", "fs_"): value for name, value in store.options.items()}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_a_store_has_the_same_rows_as_local_files(store: ObjectStore, scheme: str) -> None:
    there = read_table(f"{scheme}://{BUCKET}/broker", includeHeaders=True, **s3(store))
    here = read_table(BROKER, includeHeaders=True)
    order = [("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")]
    assert there.sort_by(order) == here.sort_by(order)
    committed: dict[str, Any] = {"decode": "auto", "isolation": "read_committed"}
    typed = read_table(f"{scheme}://{BUCKET}/broker", **committed, **s3(store))
    assert typed.num_rows == read_table(BROKER, **committed).num_rows


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("broker/tea-0", ["tea-0"]),
        (f"broker/{TEA}.log", ["tea-0"]),
        (
            "broker/codec-*",
            [f"codec-{codec}-0" for codec in sorted(CODECS)],
        ),
        ("bro?er/{tea,clocked}-0/*.log", ["clocked-0", "tea-0"]),
        ("broker/tea-?", ["tea-0"]),
        ("*/tea-[0-9]/", ["tea-0"]),
    ],
)
def test_paths_and_globs_are_resolved_in_a_store(
    store: ObjectStore, path: str, expected: list[str]
) -> None:
    assert labels(f"s3a://{BUCKET}/{path}", **s3(store)) == expected


def test_a_missing_path_is_reported(store: ObjectStore) -> None:
    with pytest.raises(FileNotFoundError, match="bucket/nothing: it does not exist in s3"):
        plan(options_of(f"s3://{BUCKET}/nothing", **s3(store)))
    with pytest.raises(FileNotFoundError, match="buckets/broker: it does not exist in s3"):
        plan(options_of("s3://buckets/broker", **s3(store)))
    with pytest.raises(KraftwireError, match=r"s3://buckets/tea-[*]: .*bucket does not exist"):
        plan(options_of("s3://buckets/tea-*", **s3(store)))
    with pytest.raises(KraftwireError, match="no file or directory of Kafka matches"):
        plan(options_of(f"s3://{BUCKET}/coffee-*", **s3(store)))


def test_wrong_credentials_are_reported(store: ObjectStore) -> None:
    path = f"s3://{BUCKET}/broker/tea-0"
    with store.guarded() as options:
        good = {name.replace("fs.", "fs_"): value for name, value in options.items()}
        assert offsets_of(path, **good) == list(range(200))
        for glob in (path, f"s3://{BUCKET}/broker/*"):
            for wrong in ({"fs_secret_key": "guessed"}, {"fs_access_key": "guessed"}):
                with pytest.raises(KraftwireError, match="AWS Error") as caught:
                    plan(options_of(glob, **{**good, **wrong}))
                assert "pass credentials as options like fs.access_key" in str(caught.value)
                assert good["fs_secret_key"] not in str(caught.value)


@pytest.mark.slow
def test_many_partitions_need_few_requests(store: ObjectStore) -> None:
    data = batch(0, 1)
    for number in range(200):
        store.put(f"many/tea-{number}/00000000000000000000.log", data)
        store.put(f"many/tea-{number}/00000000000000000000.index", b"")
    store.requests.clear()
    tasks = plan(options_of(f"s3://{BUCKET}/many", **s3(store)))
    assert sum(map(len, tasks)) == 200
    assert len(store.requests) <= 5
    store.requests.clear()
    plan(options_of(f"s3://{BUCKET}/many", partitions="3", **s3(store)))
    assert len(store.requests) <= 5
    store.requests.clear()
    tasks = plan(options_of(f"s3://{BUCKET}/many/tea-1*", **s3(store)))
    assert sum(map(len, tasks)) == 111
    assert len(store.requests) <= 111 + 3, "one for each that is matched"


@pytest.mark.slow
def test_a_range_of_offsets_reads_few_bytes(store: ObjectStore, tmp_path: Path) -> None:
    size = 32 << 10
    (path,) = write_segments(
        tmp_path / "big-0", [batch(at, 1, size=size, time=at) for at in range(600)]
    )
    store.put_directory(tmp_path, "ranges")
    store.requests.clear()
    found = offsets_of(
        f"s3://{BUCKET}/ranges/big-0", startingOffsets=300, endingOffsets=310, **s3(store)
    )
    assert found == list(range(300, 310))
    ranges = [one.range for one in store.requests if one.range and one.path.endswith(".log")]
    fetched = 0
    for one in ranges:
        first, last = one.removeprefix("bytes=").split("-")
        fetched += int(last) - int(first) + 1
    assert 0 < fetched < path.stat().st_size // 2


def test_each_bucket_is_opened_once(store: ObjectStore) -> None:
    paths = [f"s3://{BUCKET}/broker/tea-0", f"s3a://{BUCKET}/broker/clocked-0", str(BROKER)]
    places = resolve(paths, {name.removeprefix("fs."): v for name, v in store.options.items()})
    assert [len(place.paths) for place in places] == [2, 1]


def test_indexes_of_a_store_are_used(store: ObjectStore) -> None:
    (partition,) = requested_partitions(options_of(f"s3://{BUCKET}/broker/orders-0", **s3(store)))
    assert [file.base_offset for file in partition.of_kind(FileKind.TRANSACTION_INDEX)] == [5, 29]


@pytest.mark.slow
def test_an_export_into_a_store_is_resumed(store: ObjectStore) -> None:
    server = f"endpoint_override={store.endpoint}&scheme=http&region=us-east-1"
    url = f"s3://me:hush@{BUCKET}/export/deep?{server}"
    request = ExportRequest.of((str(BROKER),), url, {})
    begun = prepare(request)
    assert begun.output is not None
    written = list(ExportWriter.of(begun.plan, begun.output, Parquet()).write(begun.plan.parts))
    again = prepare(request)
    assert again.is_resumed
    assert len(finished_parts(begun.output, again.plan.parts)) == len(written) > 20


def test_errors_do_not_show_credentials_of_an_output() -> None:
    with pytest.raises(KraftwireError, match="s4://bucket/x: pyarrow cannot open it") as caught:
        open_output("s4://me:hush@bucket/x?secret=hush")
    assert "hush" not in str(caught.value)


@spark_group
def test_a_history_starts_from_a_snapshot_in_a_store(
    spark: SparkSession, store: ObjectStore, tmp_path: Path
) -> None:
    logs.write_log(tmp_path, [logs.moved(3), logs.moved(2)], base=10)
    logs.write_snapshot(tmp_path, 11, [logs.topic(), logs.partition(leader=3)])
    store.put_directory(tmp_path, "metadata")
    log = find_log((f"s3://{BUCKET}/metadata",), store.options)
    with history(spark, log) as told:
        leaders = [(row["offset"], row["leader"]) for row in told.table("leaders").collect()]
    assert leaders == [(None, 3), (11, 2)]


@spark_group
def test_spark_reads_from_a_store(spark: SparkSession, store: ObjectStore) -> None:
    reader = spark.read.format("kraftwire").options(**store.options)
    frame = reader.load(f"s3a://{BUCKET}/broker/{{tea,clocked}}-0")
    assert {tuple(row) for row in frame.groupBy("topic").count().collect()} == {
        ("tea", 200),
        ("clocked", 120),
    }
