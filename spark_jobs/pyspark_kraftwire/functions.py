"""Functions for DataFrames that hold messages: their types, and captured frames decoded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import DataType, StructType

from kraftwire_messages.kafka import registry
from kraftwire_wire.message import Message
from pyspark_kraftwire.columns.record_kinds import message_column
from pyspark_kraftwire.decoding.captured_frames import frame_structs, rpc_type


def schema_of(message: str | type[Message]) -> StructType:
    """Spark's type for a message: the fields of all its versions, in their order.

    The message is a class, or the name of one of Kafka's: `schema_of("TopicRecord")`.
    """
    found = from_arrow_type(message_column(_class_of(message)))
    assert isinstance(found, StructType)
    return found


def _class_of(message: str | type[Message]) -> type[Message]:
    return registry.message(message) if isinstance(message, str) else message


def decode_rpc(
    request: Column | str,
    response: Column | str | None = None,
    *,
    message: str | type[Message] | None = None,
) -> Column:
    """A column of captured frames, without their length prefixes, as a struct.

    Its fields are `name`, `api_key`, `version`, `correlation_id`, `client_id`, `message` and
    `error`. With `response`, that is what is decoded, and the request beside it says how.
    `message` is JSON as Kafka prints it; name a message to have it as a struct of
    `schema_of`, null for frames of others. What cannot be read is null, and `error` says why.
    """
    named = None if message is None else _class_of(message)
    columns = [request] if response is None else [request, response]

    def decode(*arrays: pa.Array) -> pa.Array:
        return frame_structs(arrays[0], arrays[1] if len(arrays) > 1 else None, named)

    function = _arrow_function(decode, from_arrow_type(rpc_type(named)), len(columns))
    return function(*columns)


def _arrow_function(
    decode: Callable[..., pa.Array], kind: DataType, count: int
) -> Callable[..., Column]:
    """A function on one or two Arrow arrays as one of Spark's; before 4.1 it goes row by row."""

    def one(request: pa.Array) -> pa.Array:
        return decode(request)

    def two(request: pa.Array, response: pa.Array) -> pa.Array:
        return decode(request, response)

    def by_row(*values: bytes | None) -> object:
        return decode(*(pa.array([value], pa.binary()) for value in values))[0].as_py()

    arrow_udf: Any = getattr(F, "arrow_udf", None)
    made: Callable[..., Column]
    made = F.udf(by_row, kind) if arrow_udf is None else arrow_udf(one if count == 1 else two, kind)
    return made
