"""Export directories of segments to Parquet, or to any other format of Spark.

spark-submit spark_jobs/decode_segments.py /var/lib/kafka/data --out /data/export
"""

from __future__ import annotations

from dataclasses import replace

import click

from kraftwire.console.failures import EXIT_FINDINGS
from kraftwire.console.output import output_option, wants_json
from pyspark_kraftwire.jobs.arguments import parse_named_values, paths_argument, source_option
from pyspark_kraftwire.jobs.export.arrow_writer import CODECS
from pyspark_kraftwire.jobs.export.counts import print_counts
from pyspark_kraftwire.jobs.export.export import WRITERS, ExportRequest, prepare, run
from pyspark_kraftwire.jobs.session import failing_in_one_line, on_spark
from pyspark_kraftwire.options import AUTO, DECODERS


@click.command()
@paths_argument
@click.option("--out", metavar="DIR", help="Write to DIR/topic=.../partition=...")
@click.option(
    "--format", "format_", default="parquet", show_default=True, help="A format of Spark."
)
@click.option(
    "--writer",
    type=click.Choice(WRITERS),
    help="arrow writes Parquet inside the tasks (the default for it), spark any format.",
)
@click.option("--codec", help=f"{', '.join(CODECS)}, or a codec of the format.")
@click.option("--level", type=int, metavar="N", help="Compression level, for --writer arrow.")
@click.option(
    "--decode", type=click.Choice([*DECODERS, AUTO]), help="Add typed columns of this log."
)
@source_option
@click.option(
    "--write-option",
    "write_options",
    multiple=True,
    callback=parse_named_values,
    metavar="NAME=VALUE",
    help="An option for Spark's writer: url=jdbc:..., dbtable=records.",
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
    output gets the counts of each partition, the offsets lost to damage, and the unreadable
    bytes. Those are left out, unless --option mode=PERMISSIVE writes rows about them or
    mode=FAILFAST ends the run.

    Run the same command again to resume a killed export. Formats without files (jdbc) are
    appended to and cannot be resumed: name their target with --write-option, without --out.

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
