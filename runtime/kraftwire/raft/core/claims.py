"""What other nodes claim: epochs, offsets and leaders, and whether this replica believes them.

`bounds` has the rules and the reasons for them. A claim that is not believed is counted, and
`Refused` reports it for the log.
"""

from __future__ import annotations

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import Refused
from kraftwire.raft.core.inputs import Answer
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

    The caller then does so, since this spends the allowance.
    """
    if not is_possible_epoch(core, epoch):
        return False
    jump = epoch - core.epoch
    if is_known_source(core):
        core.told_epoch = max(core.told_epoch, epoch)
        core.allowance.use_up(max(jump, 0), core.now)
        return True
    if jump <= 0 or (_may_be_elected(core, epoch) and core.allowance.spend(jump, core.now)):
        return True
    _refuse(core, f"epoch {epoch}: elections do not explain a jump from {core.epoch}")
    return False


def _may_be_elected(core: Core, epoch: int) -> bool:
    """Whether it can matter to a replica that is not a voter, or not yet, who leads an epoch.

    A request does not while a leader answers the replica, and nothing does far above the epochs
    that known nodes have named. Voters, and a replica that has nobody to ask, believe more.
    """
    if core.may_stand or not core.has_nodes_to_ask:
        return True
    has_leader = isinstance(core.role, Follower) and core.role.has_fetched
    is_asked_for = isinstance(core.source, Answer)  # the leader itself says that it has resigned
    return (is_asked_for or not has_leader) and epoch <= core.told_epoch + JUMPS_PER_ELECTION


def is_possible_epoch(core: Core, epoch: int) -> bool:
    """Whether a replica can ever be in an epoch; a negative one counts as an old one."""
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
    """Whether this is the answer of a bootstrap server, or of a voter where the set has it."""
    if not isinstance(core.source, Answer) or core.source.address is None:
        return False
    address = core.source.address
    if address in core.config.bootstrap:
        return True
    return any(core.address_of(voter.listeners) == address for voter in core.voters)


def may_replace_leader(core: Core) -> bool:
    """Whether the replica may believe in another leader of this epoch than it does.

    Not after the first has answered a Fetch, and never on a request: only a known node that was
    asked can say that the sender of the first was wrong.
    """
    return is_known_source(core) and not core.is_leader_heard


def _refuse(core: Core, reason: str) -> None:
    """Count a claim that is not believed, and have it logged."""
    core.refused_claims += 1
    source = core.source
    if source is not None:
        peer = source.address if isinstance(source, Answer) else source.token
        core.effects.append(Refused(peer, f"{type(source.message).__name__} with {reason}"))
