"""A streaming query that kills its Spark in the middle of a batch: the tests start it."""

from __future__ import annotations

import os
import signal
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it


def main(data: str, output: str, checkpoint: str, last: int) -> None:
    """Stream `data` to Parquet; Spark is killed in the task that has seen the offset `last`."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    assert spark._jvm is not None
    process = int(spark._jvm.ProcessHandle.current().pid())

    def kill(offset: int) -> bool:
        if offset == last:
            os.kill(process, signal.SIGKILL)
        return True

    stream = spark.readStream.format("kraftwire").option("maxRecordsPerTrigger", "8").load(data)
    query = (
        stream.where(F.udf(kill, "boolean", useArrow=False)(stream["offset"]))
        .writeStream.format("parquet")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start(output)
    )
    query.awaitTermination(120)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
