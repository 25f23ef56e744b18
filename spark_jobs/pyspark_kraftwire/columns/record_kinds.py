"""The kinds of records in Kafka's own logs, and the columns that `decode` has for each.

A kind is named after its message, `TopicRecord`, or after both if key and value are messages,
`OffsetCommit`. Its columns are those messages, null in the rows of other kinds.
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
class RecordKind:
    """A kind of record: its name, and the messages of its key and value."""

    name: str
    key: type[Message] | None
    value: type[Message]

    @property
    def columns(self) -> dict[str, pa.DataType]:
        """The names and Spark types of its columns."""
        messages = [self.value] if self.key is None else [self.key, self.value]
        return {message.__name__: message_column(message) for message in messages}


def message_column(message: type[Message]) -> pa.DataType:
    """Return the type of a message's column, in Spark's types."""
    return spark_type(message_type(message))


@cache
def kinds_of(log: str) -> tuple[RecordKind, ...]:
    """Return the kinds of records in a log, in the order of their ids."""
    found = []
    for record_id in registry.record_ids[log]:
        classes = registry.record(log, record_id)
        name = classes.value.__name__
        if log not in KEYLESS:
            name = name.removesuffix("Value")
        found.append(RecordKind(name, classes.key, classes.value))
    return tuple(found)


@cache
def control_kinds() -> Mapping[int, RecordKind]:
    """Return the kinds of control records by type; transaction markers share a message."""
    found = {}
    for number in ControlType:
        message = control_message(registry, number)
        is_marker = number in (ControlType.ABORT, ControlType.COMMIT)
        found[int(number)] = RecordKind(
            number.name if is_marker else message.__name__, None, message
        )
    return found


def requested_kinds(options: Options, logs: Iterable[str] | None = None) -> list[RecordKind]:
    """Return the kinds that a read has columns for: those of its log, or of all logs found."""
    if options.decode is None:
        return []
    named = (logs if logs is not None else LOGS) if options.decode == AUTO else (options.decode,)
    kinds = [kind for log in named for kind in kinds_of(log)]
    return kinds + list(control_kinds().values()) if options.include_control else kinds
