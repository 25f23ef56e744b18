"""The offsets that consumer groups have committed, out of `__consumer_offsets`.

spark-submit spark_jobs/group_offsets.py /var/lib/kafka/data --out /data/offsets
"""

from __future__ import annotations

import click
from pyspark.sql import SparkSession

from kraftwire.console.failures import EXIT_FINDINGS
from kraftwire.console.output import output_option
from pyspark_kraftwire.jobs.arguments import (
    format_option,
    overwrite_option,
    paths_argument,
    source_option,
)
from pyspark_kraftwire.jobs.group_offsets import find_log, latest, offsets
from pyspark_kraftwire.jobs.session import failing_in_one_line, on_spark
from pyspark_kraftwire.jobs.tables import print_frame, write_table


@click.command()
@paths_argument
@click.option("--out", metavar="DIR", help="Write the table there; it is printed unless given.")
@format_option
@overwrite_option
@click.option("--latest", "only_latest", is_flag=True, help="Only the newest of each partition.")
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
    """Tell which offsets groups have committed, and when: the history in __consumer_offsets.

    PATH is a data directory, a partition of __consumer_offsets or a segment, or a glob of
    them. A row has the group, the topic's partition, what was committed, whether that was
    deleted instead, and where in the log this stands. Commits of aborted transactions do not
    count; compaction has removed what is old.

    Exit codes: 0 done, 1 something was damaged, 2 could not do it.

    \b
    Examples:
      spark-submit group_offsets.py /var/lib/kafka/data --out /data/offsets
      python group_offsets.py data --latest -o table
    """
    with failing_in_one_line():
        log = find_log(paths, options)

        def tell(spark: SparkSession) -> int:
            with offsets(spark, log) as found:
                table = latest(found.history) if only_latest else found.history
                if out is None:
                    print_frame(table, output)
                else:
                    write_table(table, out, format_, overwrite=overwrite)
            return found.problems

        if on_spark("group_offsets", tell):
            raise click.exceptions.Exit(EXIT_FINDINGS)


if __name__ == "__main__":
    group_offsets()
