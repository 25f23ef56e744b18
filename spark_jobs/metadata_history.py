"""Print or write the history of a cluster, as tables, from its metadata log.

spark-submit spark_jobs/metadata_history.py /var/lib/kafka/metadata --out /data/history
"""

from __future__ import annotations

import click
from pyspark.sql import SparkSession

from kraftwire.console.failures import EXIT_FINDINGS
from kraftwire.console.output import output_option
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.jobs.arguments import source_option, table_arguments
from pyspark_kraftwire.jobs.cluster_history.history import history
from pyspark_kraftwire.jobs.cluster_history.replay import find_log
from pyspark_kraftwire.jobs.cluster_history.tables import TABLES
from pyspark_kraftwire.jobs.session import failing_in_one_line, on_spark
from pyspark_kraftwire.jobs.tables import print_frame, write_table


@click.command()
@table_arguments("Write each table to a directory in DIR.")
@click.option("--table", type=click.Choice(list(TABLES)), help="Print or write only this table.")
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
    """Print or write the history of topics, partitions, brokers and voters.

    PATH is a data directory, a __cluster_metadata-0 directory or a segment. The tables are
    topics (created, deleted), partitions (their replicas over time), leaders (leaders and
    in-sync replicas over time), brokers (registered, fenced, unregistered), voters and
    leader_epochs. Records of aborted transactions do not count. If the start of the log was
    deleted, the history starts from its oldest snapshot, whose rows have no offset.

    Exit codes: 0 done, 1 something was damaged, 2 could not do it.

    \b
    Examples:
      spark-submit metadata_history.py /var/lib/kafka/metadata --out /data/history
      python metadata_history.py data --table leaders -o table
    """
    with failing_in_one_line():
        if out is None and table is None:
            raise KraftwireError(
                "name a directory for the tables with --out, or one to print with --table"
            )
        log = find_log(paths, options)
        if not log.knows_state:
            note = f"no snapshot has the state before offset {log.start}: the history starts there"
            click.echo(note, err=True)

        def run(spark: SparkSession) -> int:
            with history(spark, log) as tables:
                for name in TABLES if table is None else (table,):
                    if out is None:
                        print_frame(tables.table(name), output)
                    else:
                        place = f"{out.rstrip('/')}/{name}"
                        write_table(tables.table(name), place, format_, overwrite=overwrite)
            return tables.problems

        if on_spark("metadata_history", run):
            raise click.exceptions.Exit(EXIT_FINDINGS)


if __name__ == "__main__":
    metadata_history()
