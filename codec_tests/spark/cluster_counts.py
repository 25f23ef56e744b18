"""Counts the stored records on executors that are processes of their own, as one line of JSON.

`test_local_cluster.py` runs this file with SPARK_HOME, in which executors make their folders.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.types import StringType

CLUSTER = "local-cluster[2,1,1024]"
"""Two workers with a core and 1024 MiB each."""


@udf(StringType(), useArrow=False)
def folder() -> str:
    """Where the executor runs that the row is in."""
    return str(Path.cwd())


def main(*paths: str) -> None:
    """Print the records by topic and partition, and where tasks ran."""
    session = (
        SparkSession.builder.master(CLUSTER)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        # Both executors are there before the first task is given to one of them; how many cores
        # are worth waiting for is taken from the first of these.
        .config("spark.cores.max", "2")
        .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .config("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s")
        .getOrCreate()
    )
    try:
        # Small splits, so that there are enough of them for both.
        reader = session.read.format("kraftwire").option("maxSplitBytes", "4k")
        frame = reader.load(list(paths)).select("topic", "partition", folder().alias("folder"))
        rows = frame.groupBy("topic", "partition", "folder").count().collect()
        sys.stdout.write(json.dumps([list(row) for row in rows]) + "\n")
    finally:
        session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
