"""Print or write the offsets that consumer groups have committed, from `__consumer_offsets`.

spark-submit spark_jobs/group_offsets.py /var/lib/kafka/data --out /data/offsets
"""

from __future__ import annotations

import click
from pyspark.sql import SparkSession

from kraftwire.console.failures import EXIT_FINDINGS
from kraftwire.console.output import output_option
from pyspark_kraftwire.jobs.arguments import source_option, table_arguments
from pyspark_kraftwire.jobs.group_offsets import find_log, latest, offsets
from pyspark_kraftwire.jobs.session import failing_in_one_line, on_spark
from pyspark_kraftwire.jobs.tables import print_frame, write_table


@click.command()
@table_arguments("Write the table to DIR instead of printing it.")
@click.option(
    "--latest", "only_latest", is_flag=True, help="Only the newest row of each partition."
)
@source_option
@output_option
def group_offsets(
    paths: tuple[str, ...],
    out: str | None,
    format_: str,
    overwrite: bool,
    only_latest: bool,
    options: dict[str, str],
    output: str | None,
) -> None:
    """Print or write the offsets that groups have committed, as __consumer_offsets stores them.

    PATH is a data directory, a partition of __consumer_offsets or a segment, or a glob of
    them. A row has the group, the topic's partition, the committed offset or that it was
    deleted, and the record's position in the log. Commits of aborted transactions do not
    count. Commits that compaction has removed are missing.

    Exit codes: 0 done, 1 something was damaged, 2 could not do it.

    \b
    Examples:
      spark-submit group_offsets.py /var/lib/kafka/data --out /data/offsets
      python group_offsets.py data --latest -o table
    """
    with failing_in_one_line():
        log = find_log(paths, options)

        def run(spark: SparkSession) -> int:
            with offsets(spark, log) as found:
                table = latest(found.history) if only_latest else found.history
                if out is None:
                    print_frame(table, output)
                else:
                    write_table(table, out, format_, overwrite=overwrite)
            return found.problems

        if on_spark("group_offsets", run):
            raise click.exceptions.Exit(EXIT_FINDINGS)


if __name__ == "__main__":
    group_offsets()
