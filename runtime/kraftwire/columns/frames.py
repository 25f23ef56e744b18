"""Reads the framing of typed records: the record's id, its version, and its message's start.

The native engine reads ordinary frames. All others, and every frame if it is not in use, are read
one by one with `kraftwire_wire.records`, which raises the errors.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kraftwire.columns.engine import NATIVE
from kraftwire.columns.messages import OnError
from kraftwire.columns.rows import NULL, Int32s, Rows, int32_array
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import DecodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.records import coordinator_classes, read_metadata_frame, read_prefix

NO_ID = -1
"""The id of a row that is not a record of the log."""

_PREFIX = 2
_MAX_VERSION = 0x7FFF


class Frames(NamedTuple):
    """For each row, the record's id, its version, and the position of its message in the data."""

    ids: Int32s
    versions: Int32s
    begins: Int32s


def metadata_frames(log: str, rows: Rows, note: OnError) -> Frames:
    """Return the frames of a metadata log's values; call `note` with each error."""
    if NATIVE is None:
        frames = Frames(_zeros(rows), _zeros(rows), _zeros(rows))
        unusual: Iterable[int] = range(len(rows))
    else:
        frames = Frames(*NATIVE.read_metadata_frames(*rows[:3]))
        unusual = _rows_without(frames.ids, registry.record_ids[log])
    nulls = rows.nulls
    for row in unusual:
        frames.ids[row] = NO_ID
        if row in nulls:
            note(row, DecodeError(f"a record of {log} without a value"))
            continue
        try:
            message, version, start = read_metadata_frame(registry, log, rows.content(row))
        except KraftwireError as error:
            note(row, error)
            continue
        assert message.API_KEY is not None, "records have ids"
        if version > _MAX_VERSION:
            note(row, UnsupportedVersion(message.__name__, version, message.VALID_VERSIONS))
            version = NULL
        frames.ids[row], frames.versions[row] = message.API_KEY, version
        frames.begins[row] = rows.begins[row] + start
    return frames


def coordinator_ids(log: str, keys: Rows, note: OnError) -> tuple[Int32s, Int32s]:
    """Return the ids of a coordinator's keys, and the positions of their messages."""
    ids, begins, unusual = _prefixes(keys, registry.record_ids[log])
    nulls = keys.nulls
    for row in unusual:
        ids[row], begins[row] = NO_ID, keys.begins[row] + _PREFIX
        if row in nulls:
            note(row, DecodeError(f"a record of {log} without a key"))
            continue
        try:
            record_id = read_prefix(keys.content(row), "record id")
            coordinator_classes(registry, log, record_id)
        except KraftwireError as error:
            note(row, error)
        else:
            ids[row] = record_id
    return ids, begins


def value_versions(log: str, ids: Int32s, values: Rows, note: OnError) -> tuple[Int32s, Int32s]:
    """Return the versions of a coordinator's values, and the positions of their messages.

    The version of a tombstone is `NULL`.
    """
    versions, begins, unusual = _prefixes(values, None)
    nulls = values.nulls
    for row in unusual:
        versions[row], begins[row] = NULL, values.begins[row]
        if ids[row] == NO_ID or row in nulls:
            continue
        value = coordinator_classes(registry, log, ids[row]).value
        try:
            version = read_prefix(values.content(row), "version")
            if version < 0:
                raise UnsupportedVersion(value.__name__, version, value.VALID_VERSIONS)
        except KraftwireError as error:
            note(row, error)
        else:
            versions[row], begins[row] = version, values.begins[row] + _PREFIX
    return versions, begins


def _prefixes(rows: Rows, known: Iterable[int] | None) -> tuple[Int32s, Int32s, Iterable[int]]:
    """Return the int16 prefixes, the messages' positions, and the rows to read in Python."""
    if NATIVE is None:
        return _zeros(rows), _zeros(rows), range(len(rows))
    numbers, begins = NATIVE.read_prefixes(*rows[:3])
    if known is None:
        unusual = pc.indices_nonzero(pc.less(int32_array(numbers), 0)).to_pylist()
    else:
        unusual = _rows_without(numbers, known)
    return numbers, begins, unusual


def _rows_without(ids: Int32s, known: Iterable[int]) -> list[int]:
    """Return the rows whose id is not a known one."""
    is_known = pc.is_in(int32_array(ids), pa.array(list(known), pa.int32()))
    found: list[int] = pc.indices_nonzero(pc.invert(is_known)).to_pylist()
    return found


def _zeros(rows: Rows) -> Int32s:
    return array("i", bytes(4 * len(rows)))
