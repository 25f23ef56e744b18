"""The requested columns of a read, in their order and types, checked before it starts.

A user may name any existing columns (`.schema("offset bigint, key binary")`); the others are not
built. Names match as in Spark, regardless of case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.columns.record_columns import COLUMNS, CORRUPT_RECORD, TYPE, VERSION
from pyspark_kraftwire.columns.record_kinds import RecordKind
from pyspark_kraftwire.options import Mode, Options


@dataclass(frozen=True)
class Projection:
    """The requested columns, by where they come from; `schema` is what Spark expects."""

    schema: pa.Schema
    records: Mapping[str, str]
    """Columns of records: the user's names to those in `COLUMNS`."""
    messages: Mapping[str, str]
    """Columns of messages: the user's names to those of the messages."""
    type_name: str | None
    version_name: str | None
    corrupt_name: str | None
    decodes: bool
    """Whether any of these are typed columns."""

    def needs(self, options: Options) -> list[str]:
        """Return the record columns that must be read for it."""
        needed = {need for name in self.records.values() for need in COLUMNS[name].needs}
        if self.decodes:
            needed |= {"key", "value", "offset", "batch_position"}
            if options.include_control:
                needed.add("attributes")
        return sorted(needed) or ["offset"]

    @property
    def message_types(self) -> dict[str, pa.DataType]:
        """The types of the columns of messages, by the names of the messages."""
        return {message: self.schema.field(name).type for name, message in self.messages.items()}


def project(schema: pa.Schema, options: Options, kinds: Sequence[RecordKind]) -> Projection:
    """Check a schema against the existing columns; raise `KraftwireError` if it does not fit."""
    typed = {name: kind for one in kinds for name, kind in one.columns.items()}
    there: dict[str, pa.DataType] = {name: column.type for name, column in COLUMNS.items()}
    if options.decode is not None:
        there |= {TYPE: pa.string(), VERSION: pa.int16(), **typed}
    is_permissive = options.mode is Mode.PERMISSIVE
    if is_permissive:
        corrupt = options.corrupt_column
        if corrupt.lower() in {taken.lower() for taken in there}:
            raise KraftwireError(f"option columnNameOfCorruptRecord: there is a column {corrupt}")
        there[corrupt] = CORRUPT_RECORD
    by_lower = {name.lower(): name for name in there}
    found: dict[str, str] = {}
    for field in schema:
        name = by_lower.get(field.name.lower())
        if name is None:
            raise KraftwireError(f"no column {field.name!r}; there are {', '.join(there)}")
        _check(field.name, field.type, there[name])
        found[field.name] = name
    asked = {there_name: name for name, there_name in found.items()}
    messages = {name: of for name, of in found.items() if of in typed}
    return Projection(
        schema=schema,
        records={name: of for name, of in found.items() if of in COLUMNS},
        messages=messages,
        type_name=asked.get(TYPE),
        version_name=asked.get(VERSION),
        corrupt_name=asked.get(options.corrupt_column) if is_permissive else None,
        decodes=bool(messages) or TYPE in asked or VERSION in asked,
    )


def _check(path: str, asked: pa.DataType, there: pa.DataType) -> None:
    """Check that a type equals the existing one; a struct may have only some of its fields."""
    if pa.types.is_struct(asked) and pa.types.is_struct(there):
        fields = {field.name: field.type for field in there}
        for field in asked:
            if field.name not in fields:
                names = ", ".join(fields)
                raise KraftwireError(f"no field {path}.{field.name}; there are {names}")
            _check(f"{path}.{field.name}", field.type, fields[field.name])
    elif pa.types.is_list(asked) and pa.types.is_list(there):
        _check(f"{path}[]", asked.value_type, there.value_type)
    elif asked != there:
        raise KraftwireError(f"column {path} is {there}, not {asked}")
