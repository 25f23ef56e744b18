"""Kafka's log segments as Spark DataFrames.

    spark.read.format("kraftwire").load("/var/lib/kafka/data").show()

Importing this package is all that Spark does to know the format: it looks for `pyspark_*`
packages that have a `DefaultSource`.

    source, stream_source   Spark's side of batch reads and of streams
    functions               types of messages, captured frames decoded
    options                 the options of a read
    split                   the part of a file that a task reads
    columns                 which columns exist, which are requested, filters on them
    planning                which bytes of which files are read
    decoding                bytes to the columns that Spark expects
    streaming               logs followed while they grow
    jobs                    what the scripts beside this package do

Only `source`, `stream_source`, `functions` and `jobs` know Spark. Jobs use all others, streaming
uses planning, and planning and decoding use columns; options and splits are below all of them.
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
