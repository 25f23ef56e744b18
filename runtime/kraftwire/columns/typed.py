"""Records of Kafka's own logs to Arrow: sorted by what they are, each kind into its columns.

A log is named as in `kraftwire.log.typed`: `cluster-metadata` and `remote-log`, whose values
say what they are, and `group`, `transaction` and `share`, whose keys do.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kraftwire.columns.frames import (
    NO_ID,
    coordinator_ids,
    metadata_frames,
    value_versions,
)
from kraftwire.columns.messages import OnError, decode_rows, raise_error
from kraftwire.columns.rows import NULL, Int32s, Rows, int16s, int32_array, int32_buffer, rows_of
from kraftwire.log.typed import KEYLESS, LOGS
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message
from kraftwire_wire.records import coordinator_classes


class TypedRows(NamedTuple):
    """The records of one kind in a log.

    `rows` says where each stood in the input; `versions` those of the values, null where
    there is none; `keys` is None where the log has no typed keys. A value is null for a
    tombstone, and like a key where it could not be read.
    """

    rows: pa.Int64Array
    versions: pa.Int16Array
    keys: pa.StructArray | None
    values: pa.StructArray


def decode_typed(
    log: str, keys: pa.Array, values: pa.Array, *, on_error: OnError | None = None
) -> dict[str, TypedRows]:
    """The records of a log by the names of their values' messages.

    `keys` and `values` are binary columns of the same length. `DecodeError` for the first row
    that is no record of the log, its path begins with the row; with `on_error`, that is
    called for each such row in the end, and a row that is of no known kind is left out.
    """
    if log not in LOGS:
        raise KraftwireError(f"no log is called {log!r}; there are {', '.join(LOGS)}")
    if len(keys) != len(values):
        raise KraftwireError(f"{len(keys)} keys and {len(values)} values")
    errors = Errors(keeps_all=on_error is not None)
    read = _read_metadata if log in KEYLESS else _read_coordinator
    found = read(log, rows_of(keys), rows_of(values), errors)
    for row, error in sorted(errors.found.items()):
        (on_error or raise_error)(row, error)
    return found


class Errors:
    """What is wrong with rows, the first of each; or with the first row alone."""

    def __init__(self, *, keeps_all: bool) -> None:
        self._keeps_all = keeps_all
        self.found: dict[int, KraftwireError] = {}

    def note(self, row: int, error: KraftwireError) -> None:
        """Keep an error, unless it is one too many."""
        if not self._keeps_all and self.found:
            if row >= next(iter(self.found)):
                return
            self.found.clear()
        self.found.setdefault(row, error)


def _read_metadata(log: str, _: Rows, values: Rows, errors: Errors) -> dict[str, TypedRows]:
    frames = metadata_frames(log, values, errors.note)
    found = {}
    for record_id, places in _kinds(frames.ids):
        message = registry.record(log, record_id).value
        chosen, structs = _decode(message, frames.versions, frames.begins, values, places, errors)
        found[message.__name__] = TypedRows(places, chosen, None, structs)
    return found


def _read_coordinator(log: str, keys: Rows, values: Rows, errors: Errors) -> dict[str, TypedRows]:
    ids, key_begins = coordinator_ids(log, keys, errors.note)
    versions, begins = value_versions(log, ids, values, errors.note)
    found = {}
    for record_id, places in _kinds(ids):
        classes = coordinator_classes(registry, log, record_id)
        key_versions = array("i", [classes.key.VALID_VERSIONS[0]]) * len(keys)
        _, key_structs = _decode(classes.key, key_versions, key_begins, keys, places, errors)
        chosen, structs = _decode(classes.value, versions, begins, values, places, errors)
        found[classes.value.__name__] = TypedRows(places, chosen, key_structs, structs)
    return found


def _kinds(ids: Int32s) -> Iterator[tuple[int, pa.Int64Array]]:
    """The ids there are, and the rows of each."""
    column = int32_array(ids)
    for record_id in sorted(pc.unique(column).to_pylist()):
        if record_id != NO_ID:
            yield record_id, pc.indices_nonzero(pc.equal(column, record_id)).cast(pa.int64())


def _decode(
    message: type[Message],
    versions: Int32s,
    begins: Int32s,
    rows: Rows,
    places: pa.Int64Array,
    errors: Errors,
) -> tuple[pa.Int16Array, pa.StructArray]:
    """The messages at some places: their versions, null for none, and the messages."""

    def taken(values: Int32s) -> pa.Int32Array:
        return int32_array(values).take(places)

    def note(row: int, error: KraftwireError) -> None:
        errors.note(places[row].as_py(), error)

    chosen = taken(versions).cast(pa.int16())
    spans = Rows(rows.data, int32_buffer(taken(begins)), int32_buffer(taken(rows.ends)), None)
    structs = decode_rows(message, spans, int16s(chosen), note)
    none: Any = pa.scalar(None, pa.int16())
    return pc.if_else(pc.equal(chosen, NULL), none, chosen), structs
