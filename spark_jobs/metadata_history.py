"""The history of a cluster out of its metadata log, as tables.

spark-submit spark_jobs/metadata_history.py /var/lib/kafka/metadata --out /data/history
"""

from __future__ import annotations

import click
from pyspark.sql import SparkSession

from kraftwire.console.failures import EXIT_FINDINGS
from kraftwire.console.output import output_option
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.jobs.arguments import (
    format_option,
    overwrite_option,
    paths_argument,
    source_option,
)
from pyspark_kraftwire.jobs.cluster_history.history import history
from pyspark_kraftwire.jobs.cluster_history.replay import find_log
from pyspark_kraftwire.jobs.cluster_history.tables import TABLES
from pyspark_kraftwire.jobs.session import failing_in_one_line, on_spark
from pyspark_kraftwire.jobs.tables import print_frame, write_table


@click.command()
@paths_argument
@click.option("--out", metavar="DIR", help="Write the tables there, each to its directory.")
@format_option
@overwrite_option
@click.option("--table", type=click.Choice(list(TABLES)), help="Print or write this table alone.")
@source_option
@output_option
def metadata_history(
    paths: tuple[str, ...],
    out: str | None,
    format_: str,
    overwrite: bool,
    table: str | None,
    options: dict[str, str],
    output: str | None,
) -> None:
    """Tell what became of topics, partitions, brokers and voters, by the metadata log.

    PATH is a data directory, a __cluster_metadata-0 directory or a segment. The tables are
    topics (created, deleted), partitions (their replicas over time), leaders (leaders and
    in-sync replicas over time), brokers (registered, fenced, unregistered), voters and
    leader_epochs. Records of aborted transactions do not count. A log whose beginning was
    deleted is told from its oldest snapshot on, whose rows have no offset.

    Exit codes: 0 done, 1 something was damaged, 2 could not do it.

    \b
    Examples:
      spark-submit metadata_history.py /var/lib/kafka/metadata --out /data/history
      python metadata_history.py data --table leaders -o table
    """
    with failing_in_one_line():
        if out is None and table is None:
            raise KraftwireError("--out says where the tables go, or --table prints one")
        log = find_log(paths, options)
        if not log.knows_state:
            note = f"there is no state before offset {log.start}: what was there then is not told"
            click.echo(note, err=True)

        def tell(spark: SparkSession) -> int:
            with history(spark, log) as told:
                for name in TABLES if table is None else (table,):
                    if out is None:
                        print_frame(told.table(name), output)
                    else:
                        place = f"{out.rstrip('/')}/{name}"
                        write_table(told.table(name), place, format_, overwrite=overwrite)
            return told.problems

        if on_spark("metadata_history", tell):
            raise click.exceptions.Exit(EXIT_FINDINGS)


if __name__ == "__main__":
    metadata_history()
