"""Decodes records of Kafka's own logs to Arrow, grouped by type.

Logs are named as in `kraftwire.log.queries`. In `cluster-metadata` and `remote-log` the value
has the type of the record; in `group`, `transaction` and `share` the key has it.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator
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
from kraftwire.columns.rows import (
    NULL,
    Int32s,
    Rows,
    int16_buffer,
    int32_array,
    int32_buffer,
    rows_of,
)
from kraftwire.log.queries.typed_records import KEYLESS, LOGS
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message
from kraftwire_wire.records import coordinator_classes


class TypedRows(NamedTuple):
    """The records of one type in a log.

    `rows` are the positions of the records in the input. `versions` are the values' versions, null
    without a value. A value is null for a tombstone; keys and values are null if they could not be
    read. `keys` is None if the log has no typed keys; `keys` and `values` are None if they were not
    requested.
    """

    rows: pa.Int64Array
    versions: pa.Int16Array
    keys: pa.StructArray | None
    values: pa.StructArray | None


def decode_typed(
    log: str,
    keys: pa.Array,
    values: pa.Array,
    *,
    only: Collection[str] | None = None,
    on_error: OnError | None = None,
) -> dict[str, TypedRows]:
    """Return the records of a log by the names of their values' messages.

    `keys` and `values` are binary columns of the same length. `only` names the messages to decode,
    including those of keys; for other messages just the rows and versions are returned.

    Raises `DecodeError` for the first row that is not a record of the log, with a path that begins
    with the row. If `on_error` is passed, it is called at the end for each such row instead. A row
    of unknown type is left out.
    """
    if log not in LOGS:
        raise KraftwireError(f"no log is called {log!r}; there are {', '.join(LOGS)}")
    if len(keys) != len(values):
        reason = f"{len(keys)} keys and {len(values)} values: pass columns of equal length"
        raise KraftwireError(reason)
    errors = _RowErrors(keeps_all=on_error is not None)
    read = _read_metadata if log in KEYLESS else _read_coordinator
    found = read(log, rows_of(keys), rows_of(values), _TypedDecoder(only, errors))
    for row, error in sorted(errors.found.items()):
        (on_error or raise_error)(row, error)
    return found


class _RowErrors:
    """The first error of each row, or only the error of the first such row."""

    def __init__(self, *, keeps_all: bool) -> None:
        self._keeps_all = keeps_all
        self.found: dict[int, KraftwireError] = {}

    def note(self, row: int, error: KraftwireError) -> None:
        if not self._keeps_all and self.found:
            if row >= next(iter(self.found)):
                return
            self.found.clear()
        self.found.setdefault(row, error)


class _TypedDecoder(NamedTuple):
    """Decodes the messages in `only` (all if it is None) and collects the errors."""

    only: Collection[str] | None
    errors: _RowErrors

    def decode(
        self,
        message: type[Message],
        versions: Int32s,
        begins: Int32s,
        rows: Rows,
        places: pa.Int64Array,
    ) -> pa.StructArray | None:
        """Return the messages of the rows in `places`, or None if they were not requested."""
        if self.only is not None and message.__name__ not in self.only:
            return None

        def note(row: int, error: KraftwireError) -> None:
            self.errors.note(places[row].as_py(), error)

        spans = Rows(
            rows.data,
            int32_buffer(_take(begins, places)),
            int32_buffer(_take(rows.ends, places)),
        )
        return decode_rows(message, spans, int16_buffer(_take(versions, places)), note)


def _read_metadata(log: str, _: Rows, values: Rows, decoder: _TypedDecoder) -> dict[str, TypedRows]:
    frames = metadata_frames(log, values, decoder.errors.note)
    found = {}
    for record_id, places in _rows_by_id(frames.ids):
        message = registry.record(log, record_id).value
        structs = decoder.decode(message, frames.versions, frames.begins, values, places)
        chosen = _versions(frames.versions, places)
        found[message.__name__] = TypedRows(places, chosen, None, structs)
    return found


def _read_coordinator(
    log: str, keys: Rows, values: Rows, decoder: _TypedDecoder
) -> dict[str, TypedRows]:
    ids, key_begins = coordinator_ids(log, keys, decoder.errors.note)
    versions, begins = value_versions(log, ids, values, decoder.errors.note)
    found = {}
    for record_id, places in _rows_by_id(ids):
        classes = coordinator_classes(registry, log, record_id)
        key_versions = array("i", [classes.key.VALID_VERSIONS[0]]) * len(keys)
        key_structs = decoder.decode(classes.key, key_versions, key_begins, keys, places)
        structs = decoder.decode(classes.value, versions, begins, values, places)
        chosen = _versions(versions, places)
        found[classes.value.__name__] = TypedRows(places, chosen, key_structs, structs)
    return found


def _rows_by_id(ids: Int32s) -> Iterator[tuple[int, pa.Int64Array]]:
    """Yield each id and its rows."""
    column = int32_array(ids)
    for record_id in sorted(pc.unique(column).to_pylist()):
        if record_id != NO_ID:
            yield record_id, pc.indices_nonzero(pc.equal(column, record_id)).cast(pa.int64())


def _take(values: Int32s, places: pa.Int64Array) -> pa.Int32Array:
    return int32_array(values).take(places)


def _versions(versions: Int32s, places: pa.Int64Array) -> pa.Int16Array:
    """Return the versions of the rows in `places`, null instead of `NULL`."""
    chosen = _take(versions, places).cast(pa.int16())
    none: Any = pa.scalar(None, pa.int16())
    return pc.if_else(pc.equal(chosen, NULL), none, chosen)
