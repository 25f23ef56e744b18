"""Directories of segments to Parquet, or to any format of Spark's.

spark-submit spark_jobs/decode_segments.py /var/lib/kafka/data --out /data/export
"""

from __future__ import annotations

from dataclasses import replace

import click

from kraftwire.console.failures import EXIT_FINDINGS
from kraftwire.console.output import output_option, wants_json
from pyspark_kraftwire.jobs.arguments import named_values, paths_argument, source_option
from pyspark_kraftwire.jobs.export.arrow_writer import CODECS
from pyspark_kraftwire.jobs.export.counts import print_counts
from pyspark_kraftwire.jobs.export.export import WRITERS, ExportRequest, prepare, run
from pyspark_kraftwire.jobs.session import failing_in_one_line, on_spark
from pyspark_kraftwire.options import AUTO, DECODERS


@click.command()
@paths_argument
@click.option("--out", metavar="DIR", help="Where files go, by topic=.../partition=...")
@click.option("--format", "format_", default="parquet", show_default=True, help="Of Spark's.")
@click.option(
    "--writer",
    type=click.Choice(WRITERS),
    help="arrow writes Parquet inside the tasks, spark any format; arrow for Parquet.",
)
@click.option("--codec", help=f"{', '.join(CODECS)}, or what the format has; zstd for Parquet.")
@click.option("--level", type=int, metavar="N", help="Of the codec, for --writer arrow.")
@click.option("--decode", type=click.Choice([*DECODERS, AUTO]), help="Typed columns of this log.")
@source_option
@click.option(
    "--write-option",
    "write_options",
    multiple=True,
    callback=named_values,
    metavar="NAME=VALUE",
    help="An option of Spark's writer: url=jdbc:..., dbtable=records.",
)
@output_option
def decode_segments(
    paths: tuple[str, ...],
    out: str | None,
    format_: str,
    writer: str | None,
    codec: str | None,
    level: int | None,
    decode: str | None,
    options: dict[str, str],
    write_options: dict[str, str],
    output: str | None,
) -> None:
    """Write the records below PATHs to files, a directory for each topic and partition.

    PATH is a segment, a partition directory, a data directory, or a glob of them. Standard
    output gets the counts of each partition, the offsets that damage took, and what cannot
    be read; that is left out, unless --option mode=PERMISSIVE makes rows of it or
    mode=FAILFAST ends the run.

    The same command goes on where a killed run was. Formats that are no files (jdbc) are
    appended to at once, and cannot go on: --write-option names their target, without --out.

    Exit codes: 0 done, 1 there was damage (the rest is written), 2 could not do it.

    \b
    Examples:
      spark-submit decode_segments.py /var/lib/kafka/data --out /data/export
      python decode_segments.py data/orders-* --out export --option includeHeaders=true
      python decode_segments.py data --out typed --decode auto --writer spark --format orc
    """
    with failing_in_one_line():
        given = options if decode is None else {**options, "decode": decode}
        request = replace(
            ExportRequest.of(paths, out, given),
            format=format_,
            writer=writer or ("arrow" if format_.lower() == "parquet" else "spark"),
            codec=codec,
            level=level,
            write_options=write_options,
        )
        export = prepare(request)
        counts = on_spark("decode_segments", lambda spark: run(spark, export))
        print_counts(counts, as_json=wants_json(output))
        if any(one.corrupt for one in counts):
            raise click.exceptions.Exit(EXIT_FINDINGS)


if __name__ == "__main__":
    decode_segments()
