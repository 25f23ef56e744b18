"""Reads the small files of a data directory as JSON objects: indexes, checkpoints, snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kraftwire.console.output import pick_fields
from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.directories.partition import LogFile
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.small_files import checkpoints, indexes, properties
from kraftwire.log.small_files.producer_snapshot import decode_producer_snapshot
from kraftwire.log.small_files.quorum_state import decode_quorum_state
from kraftwire_wire.json_text import parse_json
from kraftwire_wire.uuids import format_uuid

Rows = Iterator[dict[str, Any]]


def file_rows(file: LogFile) -> Rows:
    """Yield the entries of a file that has no record batches; raise `CorruptBatch` if damaged."""
    reader = _READERS.get(file.kind)
    if reader is None:
        return
    for row in reader(file):
        yield {"file": str(file.path), "kind": file.kind.value, **row}


def _offset_index(file: LogFile) -> Rows:
    with file.open() as source:
        for entry in indexes.read_offset_index(source, file.base_offset):
            yield entry._asdict()


def _time_index(file: LogFile) -> Rows:
    with file.open() as source:
        for entry in indexes.read_time_index(source, file.base_offset):
            yield entry._asdict()


def _transaction_index(file: LogFile) -> Rows:
    with file.open() as source:
        for entry in indexes.read_transaction_index(source):
            yield entry.to_json(0)


def _producers(file: LogFile) -> Rows:
    snapshot = decode_producer_snapshot(file.read(), str(file.path))
    yield from snapshot.to_json(snapshot.VALID_VERSIONS[-1])["producerEntries"]


def _offsets(file: LogFile) -> Rows:
    found = checkpoints.decode_offset_checkpoint(file.read(), str(file.path))
    for at, offset in found.items():
        yield at._asdict() | {"offset": offset}


def _epochs(file: LogFile) -> Rows:
    for entry in checkpoints.decode_leader_epochs(file.read(), str(file.path)):
        yield {"epoch": entry.epoch, "startOffset": entry.start_offset}


def _partition_metadata(file: LogFile) -> Rows:
    found = properties.decode_partition_metadata(file.read(), str(file.path))
    yield {"version": found.version, "topicId": format_uuid(found.topic_id)}


def _meta_properties(file: LogFile) -> Rows:
    found = properties.decode_meta_properties(file.read(), str(file.path))
    yield pick_fields(found, "version cluster_id node_id directory_id")


def _quorum_state(file: LogFile) -> Rows:
    state = decode_quorum_state(file.read(), str(file.path))
    yield {"dataVersion": state.version, **state.message.to_json(state.version)}


def _clean_shutdown(file: LogFile) -> Rows:
    # Empty before KIP-966, a JSON object since.
    data = file.read()
    try:
        obj = parse_json(data) if data.strip() else {}
    except ValueError as error:
        raise CorruptBatch(str(file.path), 0, f"not JSON: {error}") from None
    yield {str(key): value for key, value in obj.items()} if isinstance(obj, dict) else {}


_READERS: dict[FileKind, Callable[[LogFile], Rows]] = {
    FileKind.OFFSET_INDEX: _offset_index,
    FileKind.TIME_INDEX: _time_index,
    FileKind.TRANSACTION_INDEX: _transaction_index,
    FileKind.PRODUCER_SNAPSHOT: _producers,
    FileKind.OFFSET_CHECKPOINT: _offsets,
    FileKind.LEADER_EPOCHS: _epochs,
    FileKind.PARTITION_METADATA: _partition_metadata,
    FileKind.META_PROPERTIES: _meta_properties,
    FileKind.QUORUM_STATE: _quorum_state,
    FileKind.CLEAN_SHUTDOWN: _clean_shutdown,
}
