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
    """The requested columns by their origin; `schema` is what Spark expects."""

    schema: pa.Schema
    records: Mapping[str, str]
    """Columns of records: the user's names to those in `COLUMNS`."""
    messages: Mapping[str, str]
    """Columns of messages: the user's names to those of the messages."""
    type_name: str | None
    version_name: str | None
    corrupt_name: str | None
    decodes: bool
    """Whether any column needs decoded messages."""

    def needs(self, options: Options) -> list[str]:
        """Return the record columns that must be read for these."""
        needed = {need for name in self.records.values() for need in COLUMNS[name].needs}
        if self.decodes:
            needed |= {"key", "value", "offset", "batch_position"}
            if options.include_control:
                needed.add("attributes")
        return sorted(needed) or ["offset"]

    @property
    def message_types(self) -> dict[str, pa.DataType]:
        """The types of the message columns, by the names of the messages."""
        return {message: self.schema.field(name).type for name, message in self.messages.items()}


def project(schema: pa.Schema, options: Options, kinds: Sequence[RecordKind]) -> Projection:
    """Check a schema against the existing columns; raise `KraftwireError` if it does not fit."""
    typed = {name: kind for one in kinds for name, kind in one.columns.items()}
    existing: dict[str, pa.DataType] = {name: column.type for name, column in COLUMNS.items()}
    if options.decode is not None:
        existing |= {TYPE: pa.string(), VERSION: pa.int16(), **typed}
    is_permissive = options.mode is Mode.PERMISSIVE
    if is_permissive:
        corrupt = options.corrupt_column
        if corrupt.lower() in {taken.lower() for taken in existing}:
            raise KraftwireError(
                f"option columnNameOfCorruptRecord: another column is called {corrupt}"
            )
        existing[corrupt] = CORRUPT_RECORD
    by_lower = {name.lower(): name for name in existing}
    found: dict[str, str] = {}
    for field in schema:
        name = by_lower.get(field.name.lower())
        if name is None:
            raise KraftwireError(f"no column {field.name!r}; there are {', '.join(existing)}")
        _check_type(field.name, field.type, existing[name])
        found[field.name] = name
    requested = {of: name for name, of in found.items()}
    messages = {name: of for name, of in found.items() if of in typed}
    return Projection(
        schema=schema,
        records={name: of for name, of in found.items() if of in COLUMNS},
        messages=messages,
        type_name=requested.get(TYPE),
        version_name=requested.get(VERSION),
        corrupt_name=requested.get(options.corrupt_column) if is_permissive else None,
        decodes=bool(messages) or TYPE in requested or VERSION in requested,
    )


def _check_type(path: str, requested: pa.DataType, existing: pa.DataType) -> None:
    """Check that a type equals the existing one; a struct may have only some of its fields."""
    if pa.types.is_struct(requested) and pa.types.is_struct(existing):
        fields = {field.name: field.type for field in existing}
        for field in requested:
            if field.name not in fields:
                names = ", ".join(fields)
                raise KraftwireError(f"no field {path}.{field.name}; there are {names}")
            _check_type(f"{path}.{field.name}", field.type, fields[field.name])
    elif pa.types.is_list(requested) and pa.types.is_list(existing):
        _check_type(f"{path}[]", requested.value_type, existing.value_type)
    elif requested != existing:
        raise KraftwireError(f"column {path} is {existing}, not {requested}")
