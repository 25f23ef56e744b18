"""Compares Kafka's dump-log tool with `kraftwire.log`, line by line.

The lines of batches and records are rebuilt from what `kraftwire.log` read, so that one comparison
covers every value. JSON at the end of a line is compared as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kraftwire.cli.log.record_format import timestamp_type
from kraftwire.log import FileSource, read_batches
from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.record import Record
from kraftwire.log.queries.typed_records import CONTROL, TypedRecord, decode_typed, kafka_json
from kraftwire_messages.kafka import (
    RemoteLogSegmentMetadataRecord,
    RemoteLogSegmentMetadataUpdateRecord,
)
from kraftwire_wire.records import ControlType
from kraftwire_wire.uuids import format_uuid

from codec_tests.interop.kafka_tools import run_tool

DECODERS = {
    "cluster-metadata": "--cluster-metadata-decoder",
    "group": "--offsets-decoder",
    "transaction": "--transaction-log-decoder",
    "share": "--share-group-state-decoder",
    "remote-log": "--remote-log-metadata-decoder",
}
_FACTS_AND_CONTENT = re.compile(
    r"^(.*?(?:headerKeys: \[[^\]]*\]|isValid: true))(?: crc: \d+)?(.*)$"
)
"""Records of magic 0 and 1 have no headers, but a CRC, which our reader checks and drops."""

_CONTROL_WORDS = {
    ControlType.LEADER_CHANGE: "LeaderChange: ",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeader ",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooter ",
    ControlType.KRAFT_VERSION: "KRaftVersion ",
    ControlType.KRAFT_VOTERS: "KRaftVoters ",
}


def java_dump(files: list[Path], *options: str) -> dict[Path, list[str]]:
    """Run the tool and return the lines that it prints for each file."""
    printed = run_tool("DumpLogSegments", *options, "--files", ",".join(map(str, files)))
    found: dict[Path, list[str]] = {}
    lines: list[str] = []
    for line in printed.splitlines():
        if line.startswith("Dumping "):
            lines = found.setdefault(Path(line.removeprefix("Dumping ")), [])
        elif line.startswith("Non-consecutive offsets"):
            break  # the rest is about all files
        else:
            lines.append(line)
    return found


def compare_dumps(files: list[Path], *options: str, log: str | None = None) -> int:
    """Check that Kafka's tool prints what we read; return the number of lines compared."""
    theirs = java_dump(files, *options)
    compared = 0
    for file in files:
        with FileSource(file) as source:
            ours = list(our_lines(read_batches(source), log))
        assert ours == list(their_lines(theirs[file])), file
        compared += len(ours)
    return compared


def batch_line(batch: Batch) -> str:
    header = batch.header
    horizon = header.delete_horizon
    before: dict[str, object] = {
        "baseOffset": batch.base_offset,
        "lastOffset": header.last_offset,
        "count": batch.record_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "deleteHorizonMs": "OptionalLong.empty" if horizon is None else f"OptionalLong[{horizon}]",
    }
    if header.magic < 2:
        before = {"offset": header.last_offset}
    facts = before | {
        "position": header.position,
        timestamp_type(header): header.max_timestamp,
        "size": header.size,
        "magic": header.magic,
        "compresscodec": header.codec_label,
        "crc": header.crc,
        "isvalid": batch.has_valid_crc,
    }
    return " ".join(f"{key}: {_java(value)}" for key, value in facts.items())


def _java(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def record_line(batch: Batch, record: Record, log: str | None) -> tuple[str, object]:
    """Return the line of a record: the text before key and payload, and these, parsed."""
    header = batch.header
    start = (
        f"| offset: {record.offset} {timestamp_type(header)}: {record.timestamp} "
        f"keySize: {_size(record.key)} valueSize: {_size(record.value)} "
    )
    if header.magic < 2:
        start += "isValid: true"
    else:
        keys = ",".join(key for key, _ in record.headers)
        sequence = header.sequence_at(record.offset - header.base_offset)
        start += f"sequence: {sequence} headerKeys: [{keys}]"
    typed = decode_typed(log, batch, record)
    if typed is not None:
        return start, _typed_content(typed)
    parts = (("key", record.key), ("payload", record.value))
    text = " ".join(f"{name}: {raw.decode()}" for name, raw in parts if raw is not None)
    return start, text


def _size(value: bytes | None) -> int:
    return -1 if value is None else len(value)


def _typed_content(typed: TypedRecord) -> object:
    if isinstance(typed.value and typed.value.message, _REMOTE):
        return f"payload: {_java_text(typed)}"
    key, value = kafka_json(typed)
    if typed.log == CONTROL:
        if typed.id in (ControlType.ABORT, ControlType.COMMIT):
            name = ControlType(typed.id).name
            return f"endTxnMarker: {name} coordinatorEpoch: {value['coordinatorEpoch']}"
        return _CONTROL_WORDS[ControlType(typed.id)].strip(": "), value
    if key is None:
        return None, value
    return key, "<DELETE>" if value is None else value


_REMOTE = (RemoteLogSegmentMetadataRecord, RemoteLogSegmentMetadataUpdateRecord)
_STATES = (
    "COPY_SEGMENT_STARTED",
    "COPY_SEGMENT_FINISHED",
    "DELETE_SEGMENT_STARTED",
    "DELETE_SEGMENT_FINISHED",
)


def _java_text(typed: TypedRecord) -> str:
    """Return a record of remote-log metadata as Java's toString prints it."""
    assert typed.value is not None
    record: Any = typed.value.message
    place = record.remote_log_segment_id
    topic = place.topic_id_partition
    where = f"{format_uuid(topic.id)}:{topic.name}-{topic.partition}"
    custom = record.custom_metadata
    facts = {
        "remoteLogSegmentId": (
            f"RemoteLogSegmentId{{topicIdPartition={where}, id={format_uuid(place.id)}}}"
        ),
        "customMetadata": (
            "Optional.empty"
            if custom is None
            else f"Optional[CustomMetadata{{{len(custom)} bytes}}]"
        ),
        "state": _STATES[record.remote_log_segment_state],
        "eventTimestampMs": record.event_timestamp_ms,
        "brokerId": record.broker_id,
    }
    if isinstance(record, RemoteLogSegmentMetadataRecord):
        epochs = ", ".join(
            f"{one.leader_epoch}={one.offset}" for one in record.segment_leader_epochs
        )
        order = (
            "remoteLogSegmentId startOffset endOffset brokerId maxTimestampMs eventTimestampMs "
            "segmentLeaderEpochs segmentSizeInBytes customMetadata state txnIdxEmpty"
        )
        facts |= {
            "startOffset": record.start_offset,
            "endOffset": record.end_offset,
            "maxTimestampMs": record.max_timestamp_ms,
            "segmentLeaderEpochs": f"{{{epochs}}}",
            "segmentSizeInBytes": record.segment_size_in_bytes,
            "txnIdxEmpty": str(record.txn_index_empty).lower(),
        }
    else:
        order = "remoteLogSegmentId customMetadata state eventTimestampMs brokerId"
    inside = ", ".join(f"{name}={facts[name]}" for name in order.split())
    return f"{type(record).__name__.removesuffix('Record')}{{{inside}}}"


def parse_line(line: str) -> tuple[str, object]:
    """Parse a line of the tool into what `record_line` returns."""
    match = _FACTS_AND_CONTENT.match(line)
    assert match is not None, line
    start, rest = match.group(1), match.group(2).removeprefix(" ")
    for word in _CONTROL_WORDS.values():
        if rest.startswith(word):
            return start, (word.strip(": "), json.loads(rest.removeprefix(word)))
    if rest.startswith(("key: {", "payload: {")):
        return start, _parse_typed(rest)
    return start, rest


def _parse_typed(rest: str) -> tuple[Any, Any]:
    decoder = json.JSONDecoder()
    key = None
    if rest.startswith("key: "):
        rest = rest.removeprefix("key: ")
        key, end = decoder.raw_decode(rest)
        rest = rest[end:].lstrip()
    rest = rest.removeprefix("payload: ")
    return key, rest if rest == "<DELETE>" else json.loads(rest)


def our_lines(batches: Iterator[Batch], log: str | None) -> Iterator[object]:
    """Yield what the tool should print for batches."""
    for batch in batches:
        yield batch_line(batch)
        for record in batch.records:
            yield record_line(batch, record, log)


def their_lines(lines: list[str]) -> Iterator[object]:
    """Yield the tool's lines in the same form."""
    for line in lines:
        if line.startswith("| "):
            yield parse_line(line)
        elif line.startswith(("baseOffset", "offset")):
            yield line
