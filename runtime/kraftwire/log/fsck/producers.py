"""Checks of producer snapshots against the batches.

A snapshot has the state of each producer: its epoch, last sequence, last offset, and the first
offset of an open transaction. Each batch changes it. A marker ends the transaction; if its epoch is
new, the broker forgets the older batches. Brokers also forget idle producers, and compaction
removes batches, so only what both sides know is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kraftwire.log.batches.header import NO_PRODUCER, BatchHeader
from kraftwire.log.directories.partition import LogFile
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.fsck.finding import Finding, error
from kraftwire.log.small_files.producer_snapshot import decode_producer_snapshot

_CHECK = "producer snapshot"
_NONE = -1


@dataclass(slots=True)
class ProducerState:
    """The state of a producer after the batches up to an offset."""

    epoch: int
    last_sequence: int = _NONE
    last_offset: int = _NONE
    transaction_first_offset: int = _NONE


class ProducerStates:
    """The states of one partition's producers, updated with each batch."""

    def __init__(self) -> None:
        self._states: dict[int, ProducerState] = {}
        self._first_offset: int | None = None

    def batch(self, header: BatchHeader) -> None:
        if self._first_offset is None:
            self._first_offset = header.base_offset
        if header.producer_id == NO_PRODUCER or (header.is_control and not header.record_count):
            return  # compaction left only the header of a marker
        state = self._states.setdefault(header.producer_id, ProducerState(header.producer_epoch))
        if header.is_control:
            if header.producer_epoch != state.epoch:
                state.last_sequence = state.last_offset = _NONE
            state.transaction_first_offset = _NONE
        else:
            state.last_sequence = header.last_sequence
            state.last_offset = header.last_offset
            if header.is_transactional and state.transaction_first_offset == _NONE:
                state.transaction_first_offset = header.base_offset
        state.epoch = header.producer_epoch

    def check(self, file: LogFile, *, compare: bool) -> Iterator[Finding]:
        """Check a snapshot that the broker took after the batches so far.

        Without `compare`, check only the snapshot itself.
        """
        try:
            snapshot = decode_producer_snapshot(file.read(), str(file.path))
        except CorruptBatch as problem:
            yield error(_CHECK, problem.file, problem.position, problem.reason)
            return
        for entry in snapshot.producer_entries:
            state = self._states.get(entry.producer_id)
            if entry.last_offset >= file.base_offset:
                reason = f"its last offset {entry.last_offset} is after the snapshot"
                yield self._finding(file, entry.producer_id, reason)
            elif compare and state is not None:
                stored = ProducerState(
                    entry.epoch,
                    entry.last_sequence,
                    entry.last_offset,
                    entry.current_txn_first_offset,
                )
                yield from self._differences(file, entry.producer_id, stored, state)

    def _differences(
        self, file: LogFile, producer: int, stored: ProducerState, state: ProducerState
    ) -> Iterator[Finding]:
        if stored.last_offset > state.last_offset:
            return  # compaction removed its last batches
        for name in ProducerState.__slots__:
            wrong, right = getattr(stored, name), getattr(state, name)
            if name == "transaction_first_offset" and 0 <= wrong < (self._first_offset or 0):
                continue  # it began in a deleted segment
            if wrong != right and right != _NONE:
                words = name.replace("_", " ")
                yield self._finding(file, producer, f"{words} {wrong}, the log has {right}")

    @staticmethod
    def _finding(file: LogFile, producer: int, reason: str) -> Finding:
        return error(_CHECK, str(file.path), None, f"producer {producer}: {reason}")
