"""Functions for DataFrames with messages: the types of messages, and decoding captured frames."""

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
    """Return Spark's type for a message: the fields of all its versions, in their order.

    The message is a class, or the name of a Kafka message: `schema_of("TopicRecord")`.
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
    """Decode a column of captured frames, which have no length prefixes, to structs.

    Their fields are `name`, `api_key`, `version`, `correlation_id`, `client_id`, `message` and
    `error`. If `response` is given, it is decoded as the response to `request`. `message` is
    JSON as Kafka prints it; if a message is named, a struct of `schema_of`, null for all other
    messages. For an unreadable frame the fields are null, and `error` says why.
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
    """Return a Spark function for one on Arrow arrays; before pyspark 4.1 it runs row by row."""

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
