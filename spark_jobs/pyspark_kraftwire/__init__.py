"""Kafka's log segments as Spark DataFrames.

    spark.read.format("kraftwire").load("/var/lib/kafka/data").show()

Importing this package is all that Spark does to know the format: it looks for `pyspark_*`
packages that have a `DefaultSource`.

    source, stream               Spark's side of a read, and of a stream
    options, storage, plan       what is asked for, where files lie, which bytes are read
    read, wanted, table, shapes  bytes to the columns that Spark expects
    kinds, typed                 the typed records of Kafka's own logs
    filters, spark_filters       what Spark hands down

What has no `spark` in its name but `source` and `stream` knows nothing of Spark.
"""

try:
    import pyspark as _pyspark
except ModuleNotFoundError as error:
    mend = "pip install 'kraftwire[spark]'"
    raise ModuleNotFoundError(f"DataFrames need pyspark: {mend}", name="pyspark") from error

from pyspark_kraftwire.source import KraftwireSource

DefaultSource = KraftwireSource

__all__ = ["DefaultSource", "KraftwireSource"]

del _pyspark
