"""Decodes records of Kafka's own logs to typed columns, in the order of the log.

`kraftwire.columns` groups the records of a chunk by kind; here each kind returns to its rows, and
the rows of other kinds are null.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from kraftwire.columns import TypedRows, decode_messages, decode_typed
from kraftwire.log.batches.header import CONTROL
from kraftwire.log.queries.typed_records import KEYLESS
from kraftwire_wire.errors import DecodeError, KraftwireError
from kraftwire_wire.message import Message
from kraftwire_wire.records import ControlType, decode_control_key, read_prefix
from pyspark_kraftwire.columns.record_kinds import control_kinds
from pyspark_kraftwire.columns.spark_types import cast_array

_MARKERS = (ControlType.ABORT, ControlType.COMMIT)


@dataclass
class TypedColumns:
    """Collects the typed columns of a chunk, and the errors of unreadable records."""

    rows: int
    types: dict[str, pa.DataType]
    """The types of the requested message columns, by the names of the messages."""
    parts: dict[str, list[tuple[pa.Array, pa.Array]]] = field(default_factory=dict)
    """For each column, rows and their values."""
    kinds: list[tuple[str, pa.Array, pa.Array]] = field(default_factory=list)
    """Names of kinds, their rows, and the versions of these."""
    errors: dict[int, KraftwireError] = field(default_factory=dict)

    def read(self, log: str, keys: pa.Array, values: pa.Array, rows: pa.Array | None) -> None:
        """Decode records of a log: all of the chunk, or those at some rows."""

        def note(row: int, error: KraftwireError) -> None:
            self.errors[row if rows is None else rows[row].as_py()] = error

        if rows is not None:
            keys, values = keys.take(rows), values.take(rows)
        found = decode_typed(log, keys, values, only=self.types, on_error=note)
        for name, typed in found.items():
            self._add(log, name, typed, rows)

    def _add(self, log: str, name: str, typed: TypedRows, rows: pa.Array | None) -> None:
        places = typed.rows if rows is None else rows.take(typed.rows)
        kind = name if log in KEYLESS else name.removesuffix("Value")
        self.kinds.append((kind, places, typed.versions))
        if typed.values is not None:
            self._add_part(name, places, typed.values)
        if typed.keys is not None:
            self._add_part(f"{kind}Key", places, typed.keys)

    def read_control(self, keys: pa.Array, values: pa.Array, rows: pa.Array) -> None:
        """Decode the control records at some rows, one at a time: there are few."""
        for row in rows.to_pylist():
            try:
                name, version, message, structs = self._control(keys[row], values[row])
            except KraftwireError as error:
                self.errors[row] = error
                continue
            place = pa.array([row], pa.int64())
            self.kinds.append((name, place, pa.array([version], pa.int16())))
            if structs is not None:
                self._add_part(message.__name__, place, structs)

    def _control(
        self, key: pa.BinaryScalar, value: pa.BinaryScalar
    ) -> tuple[str, int, type[Message], pa.StructArray | None]:
        if not key.is_valid:
            raise DecodeError("control record without a key")
        number = decode_control_key(key.as_py())
        kind = control_kinds().get(int(number))
        if kind is None:
            raise KraftwireError(f"no message is known for control records of type {int(number)}")
        data = value.as_py() or b""
        version = read_prefix(data, "version")
        if kind.value.__name__ not in self.types:
            return kind.name, version, kind.value, None
        body = data[2:] if number in _MARKERS else data
        structs = decode_messages(kind.value, version, pa.array([body], pa.binary()))
        return kind.name, version, kind.value, structs

    def _add_part(self, name: str, places: pa.Array, structs: pa.StructArray) -> None:
        self.parts.setdefault(name, []).append((places, cast_array(structs, self.types[name])))

    def messages(self, name: str) -> pa.Array:
        """Return the column of a message."""
        return _scatter(self.parts.get(name, []), self.types[name], self.rows)

    def kind_names(self) -> pa.Array:
        """Return the name of each record's kind."""
        parts = [(rows, pa.repeat(pa.scalar(name), len(rows))) for name, rows, _ in self.kinds]
        return _scatter(parts, pa.string(), self.rows)

    def versions(self) -> pa.Array:
        """Return the version of each record's value; null for a tombstone."""
        parts = [(rows, versions) for _, rows, versions in self.kinds]
        return _scatter(parts, pa.int16(), self.rows)


def control_rows(attributes: pa.Array) -> pa.Array:
    """Return the rows of control batches."""
    bits = pc.bit_wise_and(attributes, pa.scalar(CONTROL, pa.int16()))
    return pc.indices_nonzero(bits).cast(pa.int64())


def _scatter(parts: list[tuple[pa.Array, pa.Array]], kind: pa.DataType, rows: int) -> pa.Array:
    """Return a column of `rows` rows from parts, each of which has rows and their values."""
    if not parts:
        return pa.nulls(rows, kind)
    if len(parts) == 1:
        places, values = parts[0]
    else:
        places = pa.concat_arrays([places for places, _ in parts])
        values = pa.concat_arrays([values for _, values in parts])
    if len(places) == rows and len(parts) == 1:  # each row has one kind, in the order of rows
        return values
    return pc.scatter(values, places, max_index=rows - 1)
