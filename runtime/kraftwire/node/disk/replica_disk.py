"""The disk of a replica: a `Store` on a directory in Kafka's own format.

A Kafka controller can continue with the directory, and this store with a controller's (reference:
Kafka 4.3, KIP-595, 630, 853). Invariants:

- `recover` can open the directory after any crash, and keeps everything that was acknowledged. It
  cuts a torn end, and completes or undoes an unfinished snapshot, installation or cleaning. It
  flushes the log before it returns, since what it returns counts as flushed.
- Damage that no crash explains raises `CorruptBatch`: a replica must not continue with less than it
  has acknowledged.
- After a failed write, all writes fail. A failed fsync may have dropped pages, and the next fsync
  would not report it.
- The log begins at the first entry of `leader-epoch-checkpoint` if a snapshot ends there, since
  cleaning moves that entry to its offset. Otherwise it begins at 0 if the first segment does, and
  else at the first snapshot that does not end before that segment. Cleaning removes whole segments
  only; batches of the first segment before the start of the log are not read.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from kraftwire.log.batches.batch import Batch
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.small_files.properties import (
    PartitionMetadata,
    decode_partition_metadata,
    encode_partition_metadata,
)
from kraftwire.node.disk.directory_lock import DirectoryLock
from kraftwire.node.disk.epoch_checkpoint import EpochCheckpoint
from kraftwire.node.disk.files import make_directory, replace_file
from kraftwire.node.disk.segment import DEFAULTS, DiskSettings
from kraftwire.node.disk.segmented_log import SegmentedLog
from kraftwire.node.disk.snapshot_files import SnapshotFiles
from kraftwire.raft.core.messages import METADATA_TOPIC_ID
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.log_state import LogState, OffsetAndEpoch
from kraftwire.raft.metadata_log.recovery import HOW_TO_REPLACE, recover_batches
from kraftwire.raft.metadata_log.store import Recovered
from kraftwire.raft.state.election_state import Election, decode_election, encode_election
from kraftwire.raft.state.voters import NO_VOTERS, VoterSet
from kraftwire_messages import kafka
from kraftwire_wire.registry import Registry
from kraftwire_wire.uuids import format_uuid

__all__ = ["DiskSettings", "DiskStore"]

_INDEX = re.compile(r"\d{20}\.(index|timeindex|txnindex)")
_LEFT_OVER = re.compile(
    r"(\d{20}[^/]*|quorum-state|leader-epoch-checkpoint|partition\.metadata)"
    r"\.(tmp|part|deleted|cleaned)"
)


class _Writes:
    """Guards writes: once one has failed, all others fail."""

    def __init__(self) -> None:
        self.failure: OSError | None = None

    def check(self) -> None:
        if self.failure is not None:
            reason = f"the node stopped writing after a failed write: {self.failure}"
            advice = "check the disk, then restart the node"
            raise OSError(self.failure.errno or errno.EIO, f"{reason}; {advice}")

    def __enter__(self) -> None:
        self.check()

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        if isinstance(error, OSError) and self.failure is None:
            self.failure = error


class DiskStore:
    """A `Store`: `recover` opens it, `close` flushes it and unlocks the directory."""

    def __init__(
        self,
        directory: Path,
        static: VoterSet = NO_VOTERS,
        registry: Registry = kafka.registry,
        settings: DiskSettings = DEFAULTS,
    ) -> None:
        """`directory` is `<metadata.log.dir>/__cluster_metadata-0`; `recover` makes it if missing.

        See `ControlState` for `static` and `registry`.
        """
        self.directory = directory
        self._static = static
        self._registry = registry
        self._settings = settings
        self._quorum_state = directory / "quorum-state"
        self._draft_state = directory / "quorum-state.json"  # as KIP-856 calls it
        self._writes = _Writes()
        self._opened = ExitStack()
        self._is_open = False
        self._log: SegmentedLog
        self._snapshots: SnapshotFiles
        self._epochs: EpochCheckpoint

    def recover(self) -> Recovered:
        """Open the directory; also raise `DirectoryInUse` if another node has locked it."""
        self.close()
        self._writes.check()
        make_directory(self.directory)
        with ExitStack() as opened:
            opened.enter_context(DirectoryLock(self.directory.parent))
            self._sweep()
            self._check_topic()
            election = self._read_election()
            self._snapshots = SnapshotFiles(self.directory)
            self._epochs = EpochCheckpoint(self.directory)
            self._log = SegmentedLog(self.directory, self._settings)
            opened.callback(self._log.abandon)
            log, control = self._read_log()
            self._make_agree(log)
            self._opened = opened.pop_all()
        self._is_open = True
        return Recovered(election, log, control)

    def close(self) -> None:
        opened, self._opened = self._opened, ExitStack()
        was_open, self._is_open = self._is_open, False
        with opened:
            if was_open and self._writes.failure is None:
                with self._writes:
                    self._log.close()
                    self._epochs.save()

    def _sweep(self) -> None:
        """Remove unfinished and deleted files, and indexes without a segment."""
        names = {path.name for path in self.directory.iterdir()}
        for name in names:
            is_alone = _INDEX.fullmatch(name) and f"{name[:20]}.log" not in names
            if is_alone or _LEFT_OVER.fullmatch(name):
                (self.directory / name).unlink()

    def _check_topic(self) -> None:
        path = self.directory / "partition.metadata"
        if not path.exists():
            replace_file(path, encode_partition_metadata(PartitionMetadata(0, METADATA_TOPIC_ID)))
        topic_id = decode_partition_metadata(path.read_bytes(), str(path)).topic_id
        if topic_id != METADATA_TOPIC_ID:
            reason = f"topic id {format_uuid(topic_id)}, not {format_uuid(METADATA_TOPIC_ID)}"
            raise CorruptBatch(str(path), 0, f"{reason}: this is another topic's directory")

    def _read_election(self) -> Election | None:
        for path in (self._quorum_state, self._draft_state):
            if path.exists():
                try:
                    return decode_election(path.read_bytes(), str(path))
                except CorruptBatch as error:
                    reason = f"{error.reason}; {HOW_TO_REPLACE}"
                    raise CorruptBatch(error.file, error.position, reason) from None
        return None

    def _read_log(self) -> tuple[LogState, ControlState]:
        control = ControlState(self._static, self._registry)
        with ExitStack() as opened:
            sources = self._snapshots.open_all(opened)
            return recover_batches(self._log, self._start(), sources, control), control

    def _start(self) -> int:
        base = self._log.base_offset or 0
        ends = [snapshot.offset for snapshot in self._snapshots.ids]
        first = self._epochs.first_offset
        if first is not None and first >= base and first in ends:
            return first
        if base == 0:
            return 0
        later = [offset for offset in ends if offset >= base]
        if not later:
            reason = f"its log begins at offset {base}, and no snapshot has the records before it"
            raise CorruptBatch(str(self.directory), 0, f"{reason}; {HOW_TO_REPLACE}")
        return min(later)

    def _make_agree(self, log: LogState) -> None:
        """Make the files match the recovered log, and open it."""
        if log.start < log.end or self._log.is_empty_at(log.start):
            self._log.open()
        else:
            self._log.restart_at(log.start)
        self._epochs.replace(log.epochs)
        self._epochs.save()
        for snapshot in set(self._snapshots.ids).difference(log.snapshots):
            self._snapshots.remove(snapshot)

    def save_election(
        self, election: Election, kraft_version: int, voter_ids: Iterable[int] = ()
    ) -> None:
        with self._writes:
            replace_file(self._quorum_state, encode_election(election, kraft_version, voter_ids))
            self._draft_state.unlink(missing_ok=True)

    def append(self, batch: Batch) -> None:
        with self._writes:
            self._log.append(batch)
            self._epochs.append(batch.header.partition_leader_epoch, batch.header.base_offset)

    def flush(self) -> None:
        with self._writes:
            self._log.flush()
            self._epochs.save()

    def truncate(self, offset: int) -> None:
        with self._writes:
            if offset < self._log.end:
                self._epochs.truncate(offset)
                self._epochs.save()
                self._log.truncate(offset)

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Return batches up to the end of a segment at most."""
        return self._log.read(offset, max_bytes)

    def write_snapshot(self, snapshot: OffsetAndEpoch, position: int, data: bytes) -> None:
        with self._writes:
            self._snapshots.write(snapshot, position, data)

    def finish_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        with self._writes:
            self._snapshots.finish(snapshot)

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        return self._snapshots.read(snapshot, position, max_bytes)

    def snapshot_size(self, snapshot: OffsetAndEpoch) -> int:
        return self._snapshots.size(snapshot)

    def install(self, snapshot: OffsetAndEpoch) -> None:
        with self._writes:
            self._restart_at(snapshot.offset)
            self._snapshots.remove_before(snapshot)

    def clean(self, snapshot: OffsetAndEpoch) -> None:
        """Remove whole segments only."""
        with self._writes:
            if snapshot.offset < self._log.end:
                self._epochs.clean(snapshot.offset)
                self._epochs.save()
                self._log.remove_before(snapshot.offset)
            elif not self._log.is_empty_at(snapshot.offset):
                self._restart_at(snapshot.offset)
            self._snapshots.remove_before(snapshot)

    def _restart_at(self, offset: int) -> None:
        self._log.restart_at(offset)
        self._epochs.replace(())
        self._epochs.save()
