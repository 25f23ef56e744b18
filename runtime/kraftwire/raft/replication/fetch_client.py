"""Sends Fetch to the leader, or to a node that may know the leader.

A replica truncates records that the leader's log does not have, but never committed ones. It
appends and flushes what the leader sends before it asks for more, since the next Fetch acknowledges
that.
"""

from __future__ import annotations

from kraftwire.address import Address
from kraftwire.log.batches.batch import Batch
from kraftwire.log.errors import CorruptBatch
from kraftwire.raft.core.claims import is_possible_end, is_possible_offset
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.messages import fetch_request, partition_of
from kraftwire.raft.core.roles import Follower, Unattached
from kraftwire.raft.metadata_log.batches import MOST_CONTROL_BYTES, check_size, split_batches
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.replication.leader_updates import Outcome, learn_from_response, note_fetched
from kraftwire.raft.replication.snapshot_client import begin_download, fetch_snapshot
from kraftwire.raft.state.bounds import is_offset
from kraftwire_messages.kafka import FetchResponse
from kraftwire_wire.errors import KraftwireError

_FIRST_BOOTSTRAP = -2


def fetch(core: Core) -> None:
    """Fetch from the leader, or ask a node for the leader, unless a request is in flight."""
    role = core.role
    assert isinstance(role, Unattached | Follower), "others do not fetch"
    if not core.connections.is_idle:
        return
    if isinstance(role, Follower):
        address = core.address_of(role.leader_listeners)
        if address is not None and core.connections.is_ready(role.leader_id, core.now):
            if role.download is None or role.download.is_doubtful:
                _send(core, role.leader_id, address)
            else:
                fetch_snapshot(core, role, role.download, address)
            return
    nodes = _bootstrap(core)
    ready = core.connections.ready(nodes, core.now)
    if ready:
        node = core.rng.choice(ready)
        _send(core, node, nodes[node])


def _bootstrap(core: Core) -> dict[int, Address]:
    """Return the nodes that may know the leader: the bootstrap servers, else the voters.

    An observer also keeps asking a leader that has not answered for a while.
    """
    if core.config.bootstrap:
        nodes = {
            _FIRST_BOOTSTRAP - rank: address for rank, address in enumerate(core.config.bootstrap)
        }
        leader_id = core.role.leader_id if isinstance(core.role, Unattached) else None
        if leader_id is not None and not core.is_electable:
            leader = core.address_of(core.listeners_of(leader_id))
            if leader is not None and leader not in nodes.values():
                nodes[leader_id] = leader
        return nodes
    addresses = {key.id: core.address_of(core.listeners_of(key.id)) for key in core.others}
    return {node: address for node, address in addresses.items() if address is not None}


def _send(core: Core, node: int, address: Address) -> None:
    request = fetch_request(
        core.config.cluster_id,
        core.key,
        core.epoch,
        OffsetAndEpoch(core.log.end, core.log.last_epoch),
        core.committed,
        max_wait_ms=core.config.fetch_max_wait_ms,
        max_bytes=core.config.fetch_max_bytes,
    )
    core.send(node, address, request)


def handle_fetch_response(core: Core, response: FetchResponse) -> Outcome:
    """Follow the leader that the response names, or append what the leader has sent."""
    partition: FetchResponse.PartitionData | None = partition_of(response)
    if response.error_code or partition is None or partition.current_leader is None:
        return Outcome.FAILED
    leader = partition.current_leader
    outcome = learn_from_response(core, partition.error_code, leader, response.node_endpoints)
    role = core.role
    if not isinstance(role, Follower) or role.epoch != leader.leader_epoch or partition.error_code:
        return outcome
    if outcome is Outcome.FAILED or not _apply(core, role, partition):
        return Outcome.FAILED
    note_fetched(core, role)
    return Outcome.GOOD


def _apply(core: Core, role: Follower, partition: FetchResponse.PartitionData) -> bool:
    """Append, truncate, or begin to fetch a snapshot; return False if that is impossible."""
    diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
    is_snapshot = snapshot is not None and max(snapshot.end_offset, snapshot.epoch) >= 0
    if diverging is not None and diverging.epoch >= 0:
        role.download = None
        end = OffsetAndEpoch(diverging.end_offset, diverging.epoch)
        return is_possible_end(core, end, "divergence at") and _truncate(core, end)
    if snapshot is not None and is_snapshot:
        end = OffsetAndEpoch(snapshot.end_offset, snapshot.epoch)
        return is_possible_end(core, end, "snapshot up to") and begin_download(core, role, end)
    role.download = None
    if not is_possible_offset(core, partition.high_watermark, "high watermark"):
        return False
    if not _append(core, partition.records or b""):
        return False
    core.commit(min(core.log.end, partition.high_watermark))
    return True


def _truncate(core: Core, leader: OffsetAndEpoch) -> bool:
    """Remove what the leader does not have; return False if it would remove committed records."""
    mine = core.log.end_of(leader.epoch)
    offset = min(mine.offset, leader.offset) if mine.epoch == leader.epoch else mine.offset
    offset = max(offset, core.log.start)
    if offset < core.committed or not core.log.is_boundary(offset):
        return False
    if offset < core.log.end:
        core.truncate(offset)
    return True


def _append(core: Core, data: bytes) -> bool:
    """Append batches up to the first of a later epoch (KAFKA-18723).

    Stop early after decompressing a lot. Return False if a batch does not continue the log or
    cannot be read; then the batches before it are appended, and `core.refused` has the reason.
    """
    before = core.log.end
    unpacked = 0
    try:
        for batch in list(split_batches(data, core.config.max_batch_bytes)):
            if batch.header.partition_leader_epoch > core.epoch:
                break
            unpacked += check_size(batch)
            _append_next(core, batch)
            if unpacked > MOST_CONTROL_BYTES:
                break  # other inputs wait; the next Fetch asks for the rest
    except KraftwireError as error:
        core.refused = str(error)
        return False
    finally:
        if core.log.end > before:
            core.flush()
    return True


def _append_next(core: Core, batch: Batch) -> None:
    """Append a batch; raise `KraftwireError` if it does not continue the log or is corrupt."""
    header = batch.header
    is_next = core.log.end == header.base_offset <= header.last_offset
    is_possible = is_offset(header.last_offset + 1)
    if not (is_next and is_possible) or header.partition_leader_epoch < core.log.last_epoch:
        raise CorruptBatch(batch.file, header.position, f"it does not follow {core.log.up_to_date}")
    core.append(batch)
