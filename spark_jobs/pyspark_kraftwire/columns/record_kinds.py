"""The kinds of records in Kafka's own logs, and the columns that `decode` has for each.

A kind is called after its message: `TopicRecord`, and `OffsetCommit` where key and value are
messages of their own. Its columns are those messages, null in the rows of other kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from kraftwire.columns import message_type
from kraftwire.log.queries.typed_records import KEYLESS, LOGS
from kraftwire_messages.kafka import registry
from kraftwire_wire.message import Message
from kraftwire_wire.records import ControlType, control_message
from pyspark_kraftwire.columns.spark_types import spark_type
from pyspark_kraftwire.options import AUTO, Options


@dataclass(frozen=True)
class Kind:
    """A kind of record: its name, and the messages that key and value are."""

    name: str
    key: type[Message] | None
    value: type[Message]

    @property
    def columns(self) -> dict[str, pa.DataType]:
        """The names and Spark's types of its columns."""
        messages = [self.value] if self.key is None else [self.key, self.value]
        return {message.__name__: message_column(message) for message in messages}


def message_column(message: type[Message]) -> pa.DataType:
    """The type of a column of messages, in types that Spark has."""
    return spark_type(message_type(message))


@cache
def kinds_of(log: str) -> tuple[Kind, ...]:
    """The kinds of records in a log, by their ids."""
    found = []
    for record_id in registry.record_ids[log]:
        classes = registry.record(log, record_id)
        name = classes.value.__name__
        if log not in KEYLESS:
            name = name.removesuffix("Value")
        found.append(Kind(name, classes.key, classes.value))
    return tuple(found)


@cache
def control_kinds() -> Mapping[int, Kind]:
    """The kinds of control records by their types; markers of transactions share a message."""
    found = {}
    for number in ControlType:
        message = control_message(registry, number)
        is_marker = number in (ControlType.ABORT, ControlType.COMMIT)
        found[int(number)] = Kind(number.name if is_marker else message.__name__, None, message)
    return found


def wanted_kinds(options: Options, logs: Iterable[str] | None = None) -> list[Kind]:
    """The kinds that a read has columns for: of its log, or of those that `auto` has found."""
    if options.decode is None:
        return []
    named = (logs if logs is not None else LOGS) if options.decode == AUTO else (options.decode,)
    kinds = [kind for log in named for kind in kinds_of(log)]
    return kinds + list(control_kinds().values()) if options.include_control else kinds
