"""FetchSnapshot, as a follower asks it: piece by piece, until its log begins anew behind it.

A leader that does not answer may have removed the snapshot: a real one closes the connection
then. So the next Fetch asks whether it is still the one to fetch, and what has come of it is
kept. Where an answer does not fit what has come, the next Fetch begins it anew.
"""

from __future__ import annotations

from typing import NamedTuple

from kraftwire.address import Address
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import WriteSnapshot
from kraftwire.raft.core.messages import fetch_snapshot_request, partition_of
from kraftwire.raft.core.roles import Follower
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.snapshot_download import Download
from kraftwire.raft.replication.responses import Outcome, note_fetched, take_leader
from kraftwire_messages.kafka import FetchSnapshotResponse
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.numbers import ErrorCode


class AskedSnapshot(NamedTuple):
    """The leader was asked for a piece of a snapshot."""


_GONE = (
    ErrorCode.SNAPSHOT_NOT_FOUND,
    ErrorCode.POSITION_OUT_OF_RANGE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


def begin_download(core: Core, role: Follower, snapshot: OffsetAndEpoch) -> bool:
    """Fetch the snapshot that the leader has named; whether there can be such a one."""
    if role.download is not None and role.download.snapshot == snapshot:
        role.download.is_doubtful = False
        return True
    is_useful = _is_useful(core, snapshot)
    role.download = Download(snapshot, core.config.max_batch_bytes) if is_useful else None
    return is_useful


def _is_useful(core: Core, snapshot: OffsetAndEpoch) -> bool:
    """Whether a snapshot can be one of a leader: every leader has what is committed here."""
    is_ahead = core.log.is_behind(snapshot) and snapshot.offset > core.committed
    return is_ahead and snapshot.epoch <= core.epoch


def ask_piece(core: Core, role: Follower, download: Download, address: Address) -> None:
    """Ask the leader for what comes next."""
    request = fetch_snapshot_request(
        core.config.cluster_id,
        core.key,
        core.epoch,
        download.snapshot,
        download.position,
        max_bytes=core.config.fetch_snapshot_max_bytes,
    )
    core.send(role.leader_id, address, AskedSnapshot(), request)


def note_unanswered(core: Core) -> None:
    """The leader has not answered: the next Fetch asks what there is to fetch."""
    if isinstance(core.role, Follower) and core.role.download is not None:
        core.role.download.is_doubtful = True


def take_piece(core: Core, response: FetchSnapshotResponse) -> Outcome:
    """Take in what the leader has answered."""
    outcome = _take(core, response)
    if outcome is Outcome.FAILED:
        note_unanswered(core)
    return outcome


def _take(core: Core, response: FetchSnapshotResponse) -> Outcome:
    partition: FetchSnapshotResponse.PartitionSnapshot | None = partition_of(response)
    role = core.role
    if response.error_code or partition is None:
        return Outcome.FAILED
    if isinstance(role, Follower) and partition.error_code in _GONE:
        role.download = None
    told = partition.current_leader
    if told is None:
        return Outcome.FAILED
    outcome = take_leader(core, partition.error_code, told, response.node_endpoints)
    if core.role is not role or not isinstance(role, Follower) or role.epoch != told.leader_epoch:
        return outcome
    if outcome is Outcome.GOOD and not _add(core, role, partition):
        role.download = None
        return Outcome.FAILED
    if outcome is Outcome.GOOD or partition.error_code == ErrorCode.SNAPSHOT_NOT_FOUND:
        note_fetched(core, role)
        return Outcome.GOOD
    return outcome


def _add(core: Core, role: Follower, partition: FetchSnapshotResponse.PartitionSnapshot) -> bool:
    """Take in a piece, and with the last one the snapshot; whether it is what was asked for."""
    download = role.download
    told = OffsetAndEpoch(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
    if download is None or (told, partition.position) != (download.snapshot, download.position):
        return False
    piece = partition.unaligned_records or b""
    if not download.add(piece, partition.size):
        core.refused = download.refused or core.refused
        return False
    core.effects.append(WriteSnapshot(told, partition.position, piece))
    return _install(core, role, download) if download.is_complete else True


def _install(core: Core, role: Follower, download: Download) -> bool:
    """Begin the log anew; whether it is still behind, and the snapshot can be read."""
    role.download = None
    if not _is_useful(core, download.snapshot):
        return False
    try:
        core.install(download.snapshot, download.size, download.controls)
    except KraftwireError as error:
        core.refused = str(error)
        return False
    return True
