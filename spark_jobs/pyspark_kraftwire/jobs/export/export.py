"""`decode_segments`: exports directories of segments to Parquet, or to any other format of Spark.

An export is planned without Spark, so that a wrong path or option is reported immediately. Damage
does not stop it unless the options have `mode=FAILFAST`: it is left out and reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import click
from pyspark.sql import SparkSession

from kraftwire.console.failures import CouldNotDoIt
from kraftwire_wire.errors import KraftwireError, count_of
from pyspark_kraftwire.jobs.export.arrow_writer import (
    CODECS,
    ExportedPart,
    ExportPart,
    ExportPlan,
    ExportWriter,
    Parquet,
    finished_parts,
    plan_export,
)
from pyspark_kraftwire.jobs.export.counts import PartitionCounts, by_partition
from pyspark_kraftwire.jobs.export.outputs import OutputDirectory, open_output
from pyspark_kraftwire.jobs.export.spark_writer import (
    FILES,
    GROUP_BYTES,
    SparkWriter,
    finished_groups,
    plan_groups,
)
from pyspark_kraftwire.jobs.export.state import begin, fingerprint
from pyspark_kraftwire.jobs.session import reporting_progress
from pyspark_kraftwire.options import Mode, parse_options, script_options

WRITERS = ("arrow", "spark")
_NAME = "decode_segments"


@dataclass(frozen=True)
class ExportRequest:
    """The arguments of an export; `options` are those of the source, with the paths.

    `out` is None for formats without files; `group_bytes` is for the Spark writer.
    """

    options: Mapping[str, str]
    out: str | None
    format: str = "parquet"
    writer: str = "arrow"
    codec: str | None = None
    level: int | None = None
    write_options: Mapping[str, str] = field(default_factory=dict)
    group_bytes: int = GROUP_BYTES

    @classmethod
    def of(
        cls, paths: tuple[str, ...], out: str | None, options: Mapping[str, str]
    ) -> ExportRequest:
        """Return a request for Parquet with the defaults."""
        return cls(script_options(paths, options, mode=Mode.DROPMALFORMED.value), out)

    def how(self) -> dict[str, object]:
        """Return everything that the export depends on except the source's options."""
        return {
            "format": self.format,
            "writer": self.writer,
            "codec": self.codec,
            "level": self.level,
            **{f"write option {name}": text for name, text in self.write_options.items()},
        }


@dataclass(frozen=True)
class Export:
    """A planned export and its output; `is_resumed` says whether an earlier run started it."""

    request: ExportRequest
    plan: ExportPlan
    output: OutputDirectory | None
    is_resumed: bool


def prepare(request: ExportRequest) -> Export:
    """Plan an export and open its output; raise `KraftwireError` if that fails."""
    _check(request)
    plan = plan_export(parse_options(request.options))
    if request.out is None:
        return Export(request, plan, None, is_resumed=False)
    output = open_output(request.out)
    splits = [part.split for part in plan.parts]
    is_resumed = begin(output, fingerprint(splits, request.options, request.how()))
    return Export(request, plan, output, is_resumed)


def _check(request: ExportRequest) -> None:
    is_file = request.format.lower() in FILES
    if request.writer == "arrow" and request.format.lower() != "parquet":
        reason = "the arrow writer only writes parquet; --writer spark writes any format"
        raise KraftwireError(f"--format {request.format}: {reason}")
    if request.writer == "arrow" and request.write_options:
        raise KraftwireError("--write-option needs --writer spark")
    if request.writer == "spark" and request.level is not None:
        raise KraftwireError("--level needs --writer arrow; for --writer spark use --write-option")
    if is_file and request.out is None:
        raise KraftwireError(f"name a directory for the {request.format} files with --out")
    if not is_file and request.out is not None:
        reason = "it has no files: leave out --out and name its target with --write-option"
        raise KraftwireError(f"--format {request.format}: {reason}")
    if request.codec is not None and request.codec not in CODECS and request.writer == "arrow":
        raise KraftwireError(f"--codec {request.codec}: there are {', '.join(CODECS)}")


def run(spark: SparkSession, export: Export) -> list[PartitionCounts]:
    """Write what is not finished yet; return the counts of all partitions, also of earlier runs."""
    if export.request.writer == "arrow":
        return _run_arrow(spark, export)
    return _run_spark(spark, export)


def _run_arrow(spark: SparkSession, export: Export) -> list[PartitionCounts]:
    output = export.output
    assert output is not None, "Parquet has files"
    request, parts = export.request, export.plan.parts
    done = finished_parts(output, parts) if export.is_resumed else {}
    left = [[part for part in task if part.name not in done] for task in export.plan.tasks]
    left = [task for task in left if task]
    _note_finished(len(done), len(parts), "file")
    writer = ExportWriter.of(export.plan, output, Parquet(request.codec or "zstd", request.level))
    context = spark.sparkContext
    read = context.accumulator(0)

    def write(tasks: Iterable[list[ExportPart]]) -> Iterator[ExportedPart]:
        for task in tasks:
            for written in writer.write(task):
                read.add(written.counts.bytes)
                yield written

    total = sum(part.split.size for task in left for part in task)
    written: list[ExportedPart] = []
    if left:
        with reporting_progress(total, _NAME, lambda: int(read.value)):
            written = context.parallelize(left, len(left)).mapPartitions(write).collect()
    for one in written:
        if one.error is not None:
            raise CouldNotDoIt(one.error)
    found = done | {one.name: one for one in written}
    return by_partition(found[part.name].counts for part in parts)


def _run_spark(spark: SparkSession, export: Export) -> list[PartitionCounts]:
    request, output = export.request, export.output
    codec = request.codec or ("zstd" if request.format.lower() in ("parquet", "orc") else None)
    given = {"compression": codec} if codec is not None else {}
    plan = export.plan
    writer = SparkWriter(
        spark, request.format, {**given, **request.write_options}, plan.options, plan.schema
    )
    size = request.group_bytes if output is not None else 1 << 63
    groups = plan_groups(plan.parts, request.options, size)
    done = finished_groups(output, groups) if output is not None else {}
    _note_finished(len(done), len(groups), "group")
    left = [group for group in groups if group.number not in done]
    counts = [one for parts in done.values() for one in parts]
    read = 0
    with reporting_progress(sum(group.bytes for group in left), _NAME, lambda: read):
        for group in left:
            counts += writer.append(group) if output is None else writer.replace(group, output)
            read += group.bytes
    return by_partition(counts)


def _note_finished(done: int, all_: int, what: str) -> None:
    if done:
        click.echo(f"{done} of {count_of(all_, what)} finished before", err=True)
