"""Exports of segments by both writers, beside the records that the readers of `log` give."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kraftwire.console.failures import CouldNotDoIt
from kraftwire.log import Record, read_batches
from kraftwire.log.batches.encoding import encode_batch
from kraftwire.log.directories.partition import find_partitions
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.jobs.export import arrow_writer
from pyspark_kraftwire.jobs.export.arrow_writer import ExportWriter, Parquet, plan_export
from pyspark_kraftwire.jobs.export.counts import CorruptBytes, PartitionCounts, print_counts
from pyspark_kraftwire.jobs.export.export import ExportRequest, prepare, run
from pyspark_kraftwire.jobs.export.outputs import open_output
from pyspark_kraftwire.jobs.export.spark_writer import plan_groups
from pyspark_kraftwire.jobs.session import reason_of
from pyspark_kraftwire.options import parse_options

from codec_tests.spark.reads import batch, write_segments
from codec_tests.spark.scripts import run_script, start_script, wait_for_files
from codec_tests.stored_files import BROKER, CONTROLLER, segment_of

pytestmark = pytest.mark.xdist_group("spark")

WRITERS = ("arrow", "spark")


def request_of(
    path: Path, out: Path | None, writer: str = "arrow", **options: str
) -> ExportRequest:
    found = ExportRequest.of((str(path),), None if out is None else str(out), options)
    return replace(found, writer=writer)


def exported(spark: SparkSession, request: ExportRequest) -> list[PartitionCounts]:
    return run(spark, prepare(request))


def rows_of(spark: SparkSession, out: Path) -> list[str]:
    """All rows that an export has, in an order of their own."""
    frame = spark.read.parquet(str(out))
    return sorted(str(row) for row in frame.select(*sorted(frame.columns)).collect())


def stored_rows(root: Path) -> Iterator[tuple[object, ...]]:
    """The records below a path but for control records, as an export has them."""
    for partition in find_partitions([root]):
        for segment in partition.segments:
            assert partition.name is not None
            with segment.open() as source:
                for one in read_batches(source):
                    for record in () if one.header.is_control else one.records:
                        headers = [(key, value) for key, value in record.headers] or None
                        where = partition.name.topic, partition.name.partition, record.offset
                        yield *where, record.timestamp, record.key, record.value, headers


def hashes(out: Path) -> dict[str, str]:
    """The files of an export, those that say what is finished too, by what is in them."""
    return {
        str(file.relative_to(out)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in out.rglob("*")
        if file.is_file()
    }


@pytest.mark.slow
@pytest.mark.parametrize("writer", WRITERS)
def test_an_export_has_every_record_once(spark: SparkSession, tmp_path: Path, writer: str) -> None:
    out = tmp_path / "out"
    counts = exported(spark, request_of(BROKER, out, writer, includeHeaders="true"))
    found = [
        (
            row.topic,
            row.partition,
            row.offset,
            round(row.timestamp.timestamp() * 1000),
            None if row.key is None else bytes(row.key),
            None if row.value is None else bytes(row.value),
            row.headers and [(h.key, h.value and bytes(h.value)) for h in row.headers],
        )
        for row in spark.read.parquet(str(out)).collect()
    ]
    expected = list(stored_rows(BROKER))
    assert sorted(found, key=str) == sorted(expected, key=str)
    for one in counts:
        offsets = [row[2] for row in expected if row[:2] == (one.topic, one.partition)]
        assert (one.records, one.first_offset) == (len(offsets), min(offsets))  # type: ignore[type-var]
        assert one.last_offset == max(offsets)  # type: ignore[type-var]
        directory = BROKER / f"{one.topic}-{one.partition}"
        assert one.bytes == sum(file.stat().st_size for file in directory.glob("*.log"))
    assert sum(one.records for one in counts) == len(expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "options"),
    [
        (BROKER, {"includeHeaders": "true", "includeBatch": "true", "includeControl": "true"}),
        (CONTROLLER, {"decode": "metadata"}),
        (BROKER, {"decode": "auto", "mode": "PERMISSIVE"}),
    ],
)
def test_both_writers_write_the_same(
    spark: SparkSession, tmp_path: Path, path: Path, options: dict[str, str]
) -> None:
    outs = [tmp_path / writer for writer in WRITERS]
    counts = [
        exported(spark, request_of(path, out, writer, **options))
        for out, writer in zip(outs, WRITERS, strict=True)
    ]
    arrow, by_spark = (spark.read.parquet(str(out)) for out in outs)
    assert arrow.schema == by_spark.schema
    assert rows_of(spark, outs[0]) == rows_of(spark, outs[1])
    assert counts[0] == counts[1]
    assert sum(one.records for one in counts[0]) == arrow.count() > 0


BATCHES = [batch(first, 20) for first in range(0, 200, 20)]
STARTS = [sum(map(len, BATCHES[:number])) for number in range(len(BATCHES))]


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A segment of ten batches: the second has a wrong CRC, the last is cut off."""
    (segment,) = write_segments(tmp_path / "data" / "tea-0", BATCHES)
    data = bytearray(segment.read_bytes())
    data[STARTS[2] - 1] ^= 1
    segment.write_bytes(data[:-10])
    return segment


@pytest.mark.parametrize("writer", WRITERS)
def test_offsets_lost_to_damage_are_counted_and_the_rest_is_written(
    spark: SparkSession, tmp_path: Path, damaged: Path, writer: str
) -> None:
    out = tmp_path / "out"
    (counts,) = exported(spark, request_of(damaged.parents[1], out, writer))
    assert [(lost.first, lost.last, lost.position) for lost in counts.lost] == [
        (20, 39, STARTS[1]),
        (180, None, STARTS[9]),
    ]
    assert [(one.file, one.position, one.offset) for one in counts.corrupt] == [
        (str(damaged), STARTS[1], None),
        (str(damaged), STARTS[9], None),
    ]
    assert "CRC" in counts.corrupt[0].reason
    kept = {row.offset for row in spark.read.parquet(str(out)).collect()}
    assert kept == {*range(20), *range(40, 180)}
    assert (counts.records, counts.first_offset, counts.last_offset) == (len(kept), 0, 179)


@pytest.mark.parametrize("writer", WRITERS)
def test_offsets_are_lost_up_to_the_next_segment(
    spark: SparkSession, tmp_path: Path, writer: str
) -> None:
    first, _ = write_segments(tmp_path / "data" / "tea-0", BATCHES[:3], BATCHES[5:])
    first.write_bytes(first.read_bytes()[: STARTS[2] + 30])
    (counts,) = exported(spark, request_of(tmp_path / "data", tmp_path / "out", writer))
    assert [(lost.first, lost.last) for lost in counts.lost] == [(40, 99)]
    assert [one.position for one in counts.corrupt] == [STARTS[2]]


def test_damage_becomes_rows_or_ends_the_export_by_mode(
    spark: SparkSession, tmp_path: Path, damaged: Path
) -> None:
    rows = request_of(damaged, tmp_path / "rows", mode="PERMISSIVE")
    (counts,) = exported(spark, rows)
    frame = spark.read.parquet(str(tmp_path / "rows")).where("_corrupt_record is not null")
    found = [row[0] for row in frame.select("_corrupt_record").collect()]
    assert sorted((row.position, row.reason) for row in found) == [
        (one.position, one.reason) for one in counts.corrupt
    ]
    with pytest.raises(CouldNotDoIt, match="CRC does not match"):
        exported(spark, request_of(damaged, tmp_path / "none", mode="FAILFAST"))


def test_a_spark_failure_is_reported_in_one_line(
    spark: SparkSession, tmp_path: Path, damaged: Path
) -> None:
    with pytest.raises(PySparkException) as caught:
        exported(spark, request_of(damaged, tmp_path / "none", "spark", mode="FAILFAST"))
    reason = reason_of(caught.value)
    assert reason.startswith(str(damaged))
    assert "CRC does not match" in reason
    assert "\n" not in reason


@pytest.mark.slow
def test_an_undecodable_record_is_reported_with_its_offset(
    spark: SparkSession, tmp_path: Path
) -> None:
    records = [Record(at, 1_700_000_000_000, None, b"\x01\x7f", ()) for at in range(3)]
    data = tmp_path / "data"
    write_segments(data / "__cluster_metadata-0", [encode_batch(records)])
    counts = [
        exported(spark, request_of(data, tmp_path / writer, writer, decode="metadata"))
        for writer in WRITERS
    ]
    assert counts[0] == counts[1]
    ((one,),) = counts[:1]
    assert [bad.offset for bad in one.corrupt] == [0, 1, 2]
    assert (one.records, one.lost) == (0, [])


def test_an_export_of_empty_segments_says_so(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data" / "tea-0").mkdir(parents=True)
    (tmp_path / "data" / "tea-0" / "00000000000000000000.log").touch()
    print_counts(exported(spark, request_of(tmp_path / "data", tmp_path / "out")), as_json=True)
    assert capsys.readouterr() == ("", "nothing was written: the segments are empty\n")


# -- going on ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_resumed_export_equals_one_that_was_never_killed(
    spark: SparkSession, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    write_segments(data / "many-0", [batch(at, 20) for at in range(0, 3000, 20)], interval=1)
    out, whole = tmp_path / "out", tmp_path / "whole"
    options = ("--option", "maxSplitBytes=1k")
    with start_script("decode_segments", data, "--out", out, *options) as process:
        try:
            wait_for_files(process, out, "*.parquet.json", 3)
        finally:
            process.kill()
    request = request_of(data, out, maxSplitBytes="1k")
    export_ = prepare(request)
    done = {file: file.stat().st_mtime_ns for file in out.rglob("*.parquet.json")}
    assert 3 <= len(done) < len(export_.plan.parts)
    (out / "topic=many" / "partition=0" / "_left.parquet.0.tmp").touch()
    counts = exported(spark, request)
    assert {file: file.stat().st_mtime_ns for file in done} == done, "finished files were rewritten"
    assert counts == exported(spark, request_of(data, whole, maxSplitBytes="1k"))
    assert hashes(out) == hashes(whole)
    assert counts[0].records == 3000


@pytest.mark.slow
def test_an_interrupted_group_is_written_again(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    request = replace(request_of(BROKER, out, "spark", topics="tea,orders,clocked"), group_bytes=1)
    counts = exported(spark, request)
    before = rows_of(spark, out)
    notes = sorted((out / "_kraftwire" / "done").iterdir())
    assert len(notes) == 3
    kept = set(out.glob("topic=clocked/*/*.parquet"))
    notes[-1].unlink()  # as if it was killed behind the rows and before the note
    (file,) = out.glob("topic=tea/*/*.parquet")
    shutil.copy(file, file.with_name("part-half.parquet"))
    assert exported(spark, request) == counts
    assert rows_of(spark, out) == before
    assert set(out.glob("topic=clocked/*/*.parquet")) == kept


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda request, file: replace(request, codec="gzip"), "codec was not given, now it is"),
        (lambda request, file: replace(request, writer="spark"), "writer was"),
        (
            lambda request, file: replace(
                request, options={**request.options, "includeheaders": "true"}
            ),
            "option includeheaders was not given",
        ),
        (
            lambda request, file: file.write_bytes(file.read_bytes() * 2) and request,
            "bytes, now it has",
        ),
        (
            lambda request, file: shutil.copytree(file.parent, file.parent.with_name("tea-1"))
            and request,
            "is new",
        ),
    ],
)
def test_another_export_into_the_same_directory_is_refused(
    tmp_path: Path, change: object, said: str
) -> None:
    data = tmp_path / "data"
    shutil.copytree(BROKER / "tea-0", data / "tea-0")
    request = request_of(data, tmp_path / "out")
    prepare(request)
    prepare(request)
    changed = change(request, data / "tea-0" / "00000000000000000000.log")  # type: ignore[operator]
    with pytest.raises(KraftwireError, match=f"belongs to another export: .*{said}"):
        prepare(changed)


def test_a_directory_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(KraftwireError, match="it has files"):
        prepare(request_of(BROKER, tmp_path))
    with pytest.raises(KraftwireError, match="it is a file; name a directory"):
        prepare(request_of(BROKER, tmp_path / "mine.txt"))
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_file_system_options_are_not_stored(tmp_path: Path) -> None:
    prepare(request_of(BROKER, tmp_path, **{"fs.secret_key": "hidden"}))
    assert "hidden" not in (tmp_path / "_kraftwire" / "export.json").read_text()


# -- files ------------------------------------------------------------------------------------


def write_pieces(path: Path, out: Path, **options: str) -> list[pq.FileMetaData]:
    """Write without Spark; what the files say of themselves."""
    plan = plan_export(parse_options({"path": str(path), **options}))
    writer = ExportWriter.of(plan, open_output(str(out)), Parquet())
    written = list(writer.write(plan.parts))
    return [pq.read_metadata(out / one.name) for one in written if one.size is not None]


def test_offsets_and_timestamps_have_statistics(tmp_path: Path) -> None:
    (metadata,) = write_pieces(segment_of("clocked"), tmp_path)
    columns = [metadata.row_group(0).column(at) for at in range(metadata.num_columns)]
    bounds = {
        column.path_in_schema: (column.statistics.min, column.statistics.max)
        for column in columns
        if column.is_stats_set
    }
    assert bounds.keys() == {"offset", "timestamp"}
    assert bounds["offset"] == (0, 119)
    assert {column.compression for column in columns} == {"ZSTD"}


def test_row_groups_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Values of 1 MiB: each is more than a chunk of a read is meant to have.
    batches = [batch(at, 1, size=1 << 20) for at in range(6)]
    (segment,) = write_segments(tmp_path / "tea-0", batches)
    (whole,) = write_pieces(segment, tmp_path / "whole")
    monkeypatch.setattr(arrow_writer, "GROUP_ROWS", 1)
    (by_rows,) = write_pieces(segment, tmp_path / "rows")
    monkeypatch.undo()
    monkeypatch.setattr(arrow_writer, "GROUP_BYTES", 1)
    (by_bytes,) = write_pieces(segment, tmp_path / "bytes")
    assert whole.num_row_groups == 1
    assert by_rows.num_row_groups == by_bytes.num_row_groups > 1
    assert whole.num_rows == by_rows.num_rows == by_bytes.num_rows == 6


def test_copies_of_a_segment_have_files_of_their_own(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(segment_of("tea"), tmp_path / name / "copy.log")
    options = parse_options({"paths": f'["{tmp_path}/a/copy.log", "{tmp_path}/b/copy.log"]'})
    names = [part.name for part in plan_export(options).parts]
    assert len(names) == len(set(names)) == 2


@pytest.mark.parametrize("size", [1, 5000, 1 << 30])
def test_groups_have_whole_partitions_and_each_part_once(size: int) -> None:
    options = {"paths": f'["{BROKER}"]'}
    parts = plan_export(parse_options(options)).parts
    groups = plan_groups(parts, options, size)
    assert sorted(p.name for group in groups for p in group.parts) == sorted(
        part.name for part in parts
    )
    for group in groups:
        read = plan_export(parse_options(group.options)).parts
        assert sorted(p.name for p in read) == sorted(part.name for part in group.parts)
        if len({(p.split.topic, p.split.partition) for p in group.parts}) > 1:
            assert group.bytes <= size


# -- the script -------------------------------------------------------------------------------


def test_a_format_without_files_is_appended_to_once(spark: SparkSession) -> None:
    request = replace(request_of(BROKER / "tea-0", None, "spark"), format="noop")
    (counts,) = exported(spark, request)
    assert (counts.records, counts.first_offset, counts.last_offset) == (200, 0, 199)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "orc"}, "the arrow writer only writes parquet"),
        ({"out": None}, "files with --out"),
        ({"format": "jdbc", "writer": "spark"}, "it has no files"),
        ({"codec": "middle-out"}, "--codec middle-out"),
        ({"write_options": {"a": "b"}}, "--write-option needs"),
    ],
)
def test_contradictory_options_are_refused(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    request = replace(request_of(BROKER, tmp_path / "out"), **change)  # type: ignore[arg-type]
    with pytest.raises(KraftwireError, match=said):
        prepare(request)


@pytest.mark.slow
def test_the_script_reports_damage_in_json_lines(tmp_path: Path, damaged: Path) -> None:
    done = run_script("decode_segments", damaged, "--out", tmp_path / "out")
    assert done.returncode == 1, done.stderr
    lines = list(done.stdout.splitlines())
    assert [line.partition(",")[0] for line in lines] == [
        '{"kind":"partition"',
        '{"kind":"lost"',
        '{"kind":"lost"',
        '{"kind":"corrupt"',
        '{"kind":"corrupt"',
    ]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--help"], 0, "spark-submit decode_segments.py"),
        (["{data}", "--where", "x"], 2, "--where"),
        (["{data}", "--out", "{tmp}/o", "--option", "modes=FAILFAST"], 2, "did you mean mode?"),
        (["{tmp}/nothing", "--out", "{tmp}/o"], 2, "nothing"),
        (["{tmp}", "--out", "{tmp}/o"], 2, "no file of Kafka's"),
        (["{script}", "--out", "{tmp}/o"], 2, "segments end with .log"),
    ],
)
def test_the_script_reports_errors_without_a_traceback(
    tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    places = {"tmp": tmp_path, "data": BROKER, "script": __file__}
    done = run_script("decode_segments", *(text.format(**places) for text in arguments))
    assert done.returncode == code
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_counts_survive_json() -> None:
    counts = PartitionCounts("tea", 0, 5, 1, 3, 3, [], [CorruptBytes("f", 1, None, "bad")])
    assert PartitionCounts.from_json(counts.to_json()) == counts
