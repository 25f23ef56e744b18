"""Kafka's log segments as Spark DataFrames.

    spark.read.format("kraftwire").load("/var/lib/kafka/data").show()

Importing this package is all that Spark does to know the format: it looks for `pyspark_*`
packages that have a `DefaultSource`.

    source                       Spark's side of a read
    options, storage, plan       what is asked for, where files lie, which bytes are read
    read, wanted, table, shapes  bytes to the columns that Spark expects
    kinds, typed                 the typed records of Kafka's own logs
    filters, spark_filters       what Spark hands down
    functions, rpc               types of messages, captured frames decoded
    streaming                    logs followed while they grow
    jobs, export                 what the scripts beside this package do

`source`, `functions`, `spark_filters`, `streaming.reader` and `jobs` are Spark's side; the other
modules know nothing of it.
"""

try:
    import pyspark as _pyspark
except ModuleNotFoundError as error:
    mend = "pip install 'kraftwire[spark]'"
    raise ModuleNotFoundError(f"DataFrames need pyspark: {mend}", name="pyspark") from error

from typing import TYPE_CHECKING, Any

from pyspark_kraftwire.source import KraftwireSource

if TYPE_CHECKING:
    from pyspark_kraftwire.functions import decode_rpc, schema_of

DefaultSource = KraftwireSource

__all__ = ["DefaultSource", "KraftwireSource", "decode_rpc", "schema_of"]

del _pyspark


def __getattr__(name: str) -> Any:
    # Spark imports every pyspark_* package to look for sources: that has to be quick.
    if name in ("decode_rpc", "schema_of"):
        from pyspark_kraftwire import functions

        return getattr(functions, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
