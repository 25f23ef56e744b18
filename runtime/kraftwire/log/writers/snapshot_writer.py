"""Writing snapshots of a metadata log: the content of a `.checkpoint` file.

Header, voters, data and footer are in separate batches; offsets count from 0, and every batch has
the snapshot's epoch (KIP-630, KIP-853):

    writer = SnapshotWriter(epoch=3)
    writer.begin(now, last_contained_log_timestamp, voters=voters)
    writer.append([(TopicRecord(...), 0), ...], now)
    data = writer.finish(now)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kraftwire.log.batches.encoding import BatchSettings, control_record, encode_batch
from kraftwire.log.batches.record import Record
from kraftwire_messages.kafka import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from kraftwire_wire.message import Message
from kraftwire_wire.records import ControlType, encode_metadata_record

_BATCH_BYTES = 1 << 20
"""`append_values` ends a batch with the value that reaches this size."""


class SnapshotWriter:
    """One snapshot, in memory; timestamps are in ms."""

    def __init__(self, epoch: int) -> None:
        """`epoch` is the leader epoch of the last record that the snapshot covers."""
        self._epoch = epoch
        self._offset = 0
        self._parts: list[bytes] = []

    def begin(
        self,
        timestamp: int,
        last_contained_log_timestamp: int,
        *,
        voters: VotersRecord | None = None,
        kraft_version: int = 1,
    ) -> None:
        """Write the header, and the voter set if the quorum stores its own (kraft.version 1)."""
        header = SnapshotHeaderRecord(last_contained_log_timestamp=last_contained_log_timestamp)
        records: list[tuple[int, Message, int]] = [(ControlType.SNAPSHOT_HEADER, header, 0)]
        if voters is not None:
            version = KRaftVersionRecord(kraft_version=kraft_version)
            records.append((ControlType.KRAFT_VERSION, version, 0))
            records.append((ControlType.KRAFT_VOTERS, voters, 0))
        self.control(records, timestamp)

    def control(self, messages: Sequence[tuple[int, Message, int]], timestamp: int) -> None:
        """Write a batch of control records: the type of each, its message and its version.

        Snapshots of other quorums begin with this instead of `begin`.
        """
        records = [control_record(0, timestamp, *one) for one in messages]
        self._add([(one.key, one.value) for one in records], timestamp, is_control=True)

    def append(self, messages: Sequence[tuple[Message, int]], timestamp: int) -> None:
        """Write a batch of metadata records, each with the version to encode it in."""
        values = [encode_metadata_record(message, version) for message, version in messages]
        self._add([(None, value) for value in values], timestamp, is_control=False)

    def append_values(self, values: Iterable[bytes], timestamp: int) -> None:
        """Write batches of records with these values, which need not be metadata records."""
        pairs: list[tuple[bytes | None, bytes | None]] = []
        size = 0
        for value in values:
            pairs.append((None, value))
            size += len(value)
            if size >= _BATCH_BYTES:
                self._add(pairs, timestamp, is_control=False)
                pairs, size = [], 0
        if pairs:
            self._add(pairs, timestamp, is_control=False)

    def finish(self, timestamp: int) -> bytes:
        """Write the footer; return the content of the file."""
        self.control([(ControlType.SNAPSHOT_FOOTER, SnapshotFooterRecord(), 0)], timestamp)
        return b"".join(self._parts)

    def _add(
        self, pairs: list[tuple[bytes | None, bytes | None]], timestamp: int, *, is_control: bool
    ) -> None:
        first = self._offset
        records = [
            Record(first + number, timestamp, key, value, ())
            for number, (key, value) in enumerate(pairs)
        ]
        settings = BatchSettings(partition_leader_epoch=self._epoch, is_control=is_control)
        self._parts.append(encode_batch(records, settings))
        self._offset = first + len(records)
