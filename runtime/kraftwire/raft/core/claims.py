"""Whether this replica believes the epochs, offsets and leaders that other nodes claim.

`bounds` has the rules and the reasons for them. This module counts each refused claim, and reports
it as `RefusedClaim`.
"""

from __future__ import annotations

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import RefusedClaim
from kraftwire.raft.core.inputs import AddressedResponse
from kraftwire.raft.core.roles import Follower
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.state.bounds import (
    JUMPS_PER_ELECTION,
    MAX_EPOCH,
    MAX_OFFSET,
    is_epoch,
    is_offset,
)


def accepts_epoch(core: Core, epoch: int) -> bool:
    """Whether the replica may go on to a later epoch that the message being handled names.

    If so, this spends the allowance, and the caller has to adopt the epoch.
    """
    if not is_possible_epoch(core, epoch):
        return False
    jump = epoch - core.epoch
    if is_known_source(core):
        core.trusted_epoch = max(core.trusted_epoch, epoch)
        core.allowance.use_up(max(jump, 0), core.now)
        return True
    if jump <= 0 or (_epoch_matters(core, epoch) and core.allowance.spend(jump, core.now)):
        return True
    _refuse(core, f"epoch {epoch}: elections do not explain a jump from {core.epoch}")
    return False


def _epoch_matters(core: Core, epoch: int) -> bool:
    """Whether a replica that is not a voter has a reason to believe in an epoch.

    It ignores requests while a leader answers it, and epochs far above those that known nodes have
    named. Voters, and a replica without nodes to ask, believe more.
    """
    if core.is_electable or not core.has_nodes_to_ask:
        return True
    has_leader = isinstance(core.role, Follower) and core.role.has_fetched
    is_response = isinstance(core.source, AddressedResponse)  # the leader itself may have resigned
    return (is_response or not has_leader) and epoch <= core.trusted_epoch + JUMPS_PER_ELECTION


def is_possible_epoch(core: Core, epoch: int) -> bool:
    """Whether a replica can ever be in an epoch; negative ones count as old ones."""
    if epoch <= MAX_EPOCH:
        return True
    _refuse(core, f"epoch {epoch}, which is above the limit of {MAX_EPOCH}")
    return False


def is_possible_offset(core: Core, offset: int, name: str) -> bool:
    """Whether an offset is one that a log can reach."""
    if offset <= MAX_OFFSET:
        return True
    _refuse(core, f"{name} {offset}, which is above the limit of {MAX_OFFSET}")
    return False


def is_possible_end(core: Core, end: OffsetAndEpoch, name: str) -> bool:
    """Whether the leader of this epoch can have a log or a snapshot that ends there."""
    if is_offset(end.offset) and is_epoch(end.epoch) and end.epoch <= core.epoch:
        return True
    _refuse(core, f"{name} {end.offset} of epoch {end.epoch}, from a leader of epoch {core.epoch}")
    return False


def is_known_source(core: Core) -> bool:
    """Whether a bootstrap server has responded, or a voter at its address in the voter set."""
    if not isinstance(core.source, AddressedResponse) or core.source.address is None:
        return False
    address = core.source.address
    if address in core.config.bootstrap:
        return True
    return any(core.address_of(voter.listeners) == address for voter in core.voters)


def may_replace_leader(core: Core) -> bool:
    """Whether the replica may replace the leader that it knows for this epoch.

    Only the response of a known node can show that the first announcement was wrong, and only
    until the first leader has answered a Fetch.
    """
    return is_known_source(core) and not core.is_leader_heard


def _refuse(core: Core, reason: str) -> None:
    core.refused_claims += 1
    source = core.source
    if source is not None:
        peer = source.address if isinstance(source, AddressedResponse) else source.token
        core.effects.append(RefusedClaim(peer, f"{type(source.message).__name__} with {reason}"))
