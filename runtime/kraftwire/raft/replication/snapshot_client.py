"""Fetches a snapshot from the leader piece by piece, and restarts the log after it.

A leader that does not answer may have removed the snapshot, since Kafka then closes the connection.
So the follower keeps the pieces, and its next Fetch asks which snapshot to fetch. If a response
does not continue the pieces, the follower drops them and starts again.
"""

from __future__ import annotations

from kraftwire.address import Address
from kraftwire.raft.core.connections import SnapshotQuery
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import WriteSnapshot
from kraftwire.raft.core.messages import fetch_snapshot_request, partition_of
from kraftwire.raft.core.roles import Follower
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.snapshot_download import SnapshotDownload
from kraftwire.raft.replication.leader_updates import Outcome, learn_from_response, note_fetched
from kraftwire_messages.kafka import FetchSnapshotResponse
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.numbers import ErrorCode

_GONE = (
    ErrorCode.SNAPSHOT_NOT_FOUND,
    ErrorCode.POSITION_OUT_OF_RANGE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


def begin_download(core: Core, role: Follower, snapshot: OffsetAndEpoch) -> bool:
    """Begin to fetch the snapshot that the leader named; return False if it is impossible."""
    if role.download is not None and role.download.snapshot == snapshot:
        role.download.is_doubtful = False
        return True
    is_useful = _is_useful(core, snapshot)
    limit = core.config.max_batch_bytes
    role.download = SnapshotDownload(snapshot, limit) if is_useful else None
    return is_useful


def _is_useful(core: Core, snapshot: OffsetAndEpoch) -> bool:
    """Whether a snapshot is ahead of this log, and no later than this epoch."""
    is_ahead = core.log.is_behind(snapshot) and snapshot.offset > core.committed
    return is_ahead and snapshot.epoch <= core.epoch


def fetch_snapshot(
    core: Core, role: Follower, download: SnapshotDownload, address: Address
) -> None:
    """Ask the leader for the next piece."""
    request = fetch_snapshot_request(
        core.config.cluster_id,
        core.key,
        core.epoch,
        download.snapshot,
        download.position,
        max_bytes=core.config.fetch_snapshot_max_bytes,
    )
    core.send(role.leader_id, address, request, SnapshotQuery())


def note_unanswered(core: Core) -> None:
    """Let the next Fetch ask again which snapshot to fetch: the leader has not answered."""
    if isinstance(core.role, Follower) and core.role.download is not None:
        core.role.download.is_doubtful = True


def handle_fetch_snapshot_response(core: Core, response: FetchSnapshotResponse) -> Outcome:
    """Add a piece of the snapshot, or learn why the leader does not have it."""
    outcome = _handle(core, response)
    if outcome is Outcome.FAILED:
        note_unanswered(core)
    return outcome


def _handle(core: Core, response: FetchSnapshotResponse) -> Outcome:
    partition: FetchSnapshotResponse.PartitionSnapshot | None = partition_of(response)
    role = core.role
    if response.error_code or partition is None:
        return Outcome.FAILED
    if isinstance(role, Follower) and partition.error_code in _GONE:
        role.download = None
    leader = partition.current_leader
    if leader is None:
        return Outcome.FAILED
    outcome = learn_from_response(core, partition.error_code, leader, response.node_endpoints)
    if core.role is not role or not isinstance(role, Follower) or role.epoch != leader.leader_epoch:
        return outcome
    if outcome is Outcome.GOOD and not _add(core, role, partition):
        role.download = None
        return Outcome.FAILED
    if outcome is Outcome.GOOD or partition.error_code == ErrorCode.SNAPSHOT_NOT_FOUND:
        note_fetched(core, role)
        return Outcome.GOOD
    return outcome


def _add(core: Core, role: Follower, partition: FetchSnapshotResponse.PartitionSnapshot) -> bool:
    """Add a piece, and install a complete snapshot; return False for a wrong piece."""
    download = role.download
    snapshot = OffsetAndEpoch(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
    if download is None or (snapshot, partition.position) != (download.snapshot, download.position):
        return False
    piece = partition.unaligned_records or b""
    if not download.add(piece, partition.size):
        core.refused = download.refused or core.refused
        return False
    core.effects.append(WriteSnapshot(snapshot, partition.position, piece))
    return _install(core, role, download) if download.is_complete else True


def _install(core: Core, role: Follower, download: SnapshotDownload) -> bool:
    """Restart the log; return False if it has caught up, or cannot read the snapshot."""
    role.download = None
    if not _is_useful(core, download.snapshot):
        return False
    try:
        core.install(download.snapshot, download.size, download.controls)
    except KraftwireError as error:
        core.refused = str(error)
        return False
    return True
