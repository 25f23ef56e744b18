"""The records of Kafka's own logs as the scripts read them: a few columns, a few messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type

from kraftwire_wire.message import Message
from pyspark_kraftwire.columns.record_columns import COLUMNS, CORRUPT_RECORD, TYPE
from pyspark_kraftwire.columns.record_kinds import message_column
from pyspark_kraftwire.options import Mode, parse_options


def read_records(
    spark: SparkSession,
    paths: Sequence[str],
    options: Mapping[str, str],
    columns: Iterable[str],
    messages: Iterable[type[Message]],
) -> DataFrame:
    """Columns of records, their `type`, and messages; last what says what cannot be read.

    `options` are those of the source. The last column is null where `mode` has no such rows.
    """
    given = {name: text for name, text in options.items() if name != "paths"}
    parsed = parse_options({**given, "paths": json.dumps(paths)})
    corrupt = parsed.corrupt_column
    fields = [pa.field(name, COLUMNS[name].type) for name in columns]
    fields.append(pa.field(TYPE, pa.string()))
    fields += [pa.field(one.__name__, message_column(one)) for one in messages]
    if parsed.mode is Mode.PERMISSIVE:
        fields.append(pa.field(corrupt, CORRUPT_RECORD))
    reader = spark.read.format("kraftwire").options(**given)
    frame = reader.schema(from_arrow_schema(pa.schema(fields))).load(list(paths))
    if parsed.mode is Mode.PERMISSIVE:
        return frame
    return frame.withColumn(corrupt, F.lit(None).cast(from_arrow_type(CORRUPT_RECORD)))
