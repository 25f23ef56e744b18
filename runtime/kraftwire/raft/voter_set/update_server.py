"""Answers UpdateRaftVoter in a leader, and upgrades kraft.version (KIP-853).

A voter whose listeners or versions differ from the voter set reports them. The leader answers
before the record is committed, since it may need the new listeners to commit it. Under
kraft.version 0 the log has no voters: the leader remembers the reports until an upgrade of
kraft.version writes them to the log.
"""

from __future__ import annotations

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import UpgradeOutcome
from kraftwire.raft.core.inputs import Request, UpgradeKRaftVersion
from kraftwire.raft.core.messages import listeners_in
from kraftwire.raft.core.replies import leader_listener, leader_of, reply
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.election.leadership import append_controls, note_heard
from kraftwire.raft.membership import Refusal, UpdateVoter, upgrade_records
from kraftwire.raft.state.voters import NO_DIRECTORY, ReplicaKey, Voter, VoterSet
from kraftwire.raft.voter_set.change_server import settle_change
from kraftwire.raft.voter_set.checks import (
    check_caller,
    check_is_committed,
    check_is_settled,
    check_key,
    check_kraft_version,
    check_listeners,
    leader_role,
)
from kraftwire_messages.kafka import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from kraftwire_wire.numbers import ErrorCode


def handle_update_voter(core: Core, request: Request, message: UpdateRaftVoterRequest) -> None:
    """Update the description of a voter."""
    feature = message.kraft_version_feature
    voter = Voter(
        ReplicaKey(message.voter_id, message.voter_directory_id),
        listeners_in(message.listeners),
        feature.min_supported_version,
        feature.max_supported_version,
    )
    refusal = (
        check_caller(core, message.cluster_id, message.current_leader_epoch)
        or check_key(voter.key)
        or check_listeners(core, voter.listeners)
        or _check_range(voter)
        or _check_update(core, voter)
    )
    if refusal is None:
        _update(core, voter)
    listener = leader_listener(core, request)
    leader = UpdateRaftVoterResponse.CurrentLeader(
        leader_id=leader_of(core), leader_epoch=core.epoch
    )
    if listener is not None:
        leader.host, leader.port = listener.host, listener.port
    error = ErrorCode.NONE if refusal is None else refusal.error
    reply(core, request, UpdateRaftVoterResponse(error_code=error, current_leader=leader))


def _check_range(voter: Voter) -> Refusal | None:
    if 0 <= voter.min_kraft_version <= voter.max_kraft_version:
        return None
    return Refusal(ErrorCode.INVALID_REQUEST, "The kraft.version range is invalid.")


def _check_update(core: Core, voter: Voter) -> Refusal | None:
    """Refuse an update that cannot be made, or not now."""
    leader = leader_role(core)
    settle_change(core, leader)
    is_in_log = leader.described is None
    return (
        check_is_settled(leader)
        or (check_is_committed(core, leader) if is_in_log else None)
        or check_kraft_version(core, voter.min_kraft_version, voter.max_kraft_version)
        or (core.policy.refusal(core.voters, UpdateVoter(voter)) if is_in_log else None)
        or _check_id(core, voter)
    )


def _check_id(core: Core, voter: Voter) -> Refusal | None:
    """Refuse an id that no voter has, and the leader's own; any directory id may be new."""
    if not core.voters.of_id(voter.id):
        return Refusal(ErrorCode.VOTER_NOT_FOUND, f"No voter has the id {voter.id}.")
    if voter.id == core.key.id:  # Kafka's leader would crash on it
        return Refusal(ErrorCode.INVALID_REQUEST, "A leader does not accept updates about itself.")
    return None


def _update(core: Core, voter: Voter) -> None:
    leader = leader_role(core)
    if leader.described is None:
        records = core.policy.records(core.voters, UpdateVoter(voter))
        append_controls(core, leader, records)
    else:
        described = [voter if one.id == voter.id else one for one in leader.described]
        leader.described = VoterSet(described)
    note_heard(core, leader, voter.key)


def upgrade_kraft_version(core: Core, upgrade: UpgradeKRaftVersion) -> None:
    """Raise kraft.version, which writes the voters to the log."""
    leader = core.role
    if not isinstance(leader, Leader) or leader.epoch != upgrade.epoch:
        reason = f"This replica does not lead epoch {upgrade.epoch}."
        core.effects.append(UpgradeOutcome(upgrade.token, ErrorCode.NOT_LEADER_OR_FOLLOWER, reason))
        return
    if upgrade.version == core.control.kraft_version.last:
        core.effects.append(UpgradeOutcome(upgrade.token))
        return
    refusal = _check_upgrade(core, leader, upgrade.version)
    if refusal is not None:
        core.effects.append(UpgradeOutcome(upgrade.token, *refusal))
        return
    described = leader.described
    if described is not None and not upgrade.validate_only:
        leader.described = None
        append_controls(core, leader, upgrade_records(upgrade.version, described))
    core.effects.append(UpgradeOutcome(upgrade.token))


def _check_upgrade(core: Core, leader: Leader, version: int) -> Refusal | None:
    """Refuse a version that a voter does not support, or whose support is unknown."""
    reason = None
    if version < core.control.kraft_version.last:
        reason = "kraft.version cannot be lowered."
    elif leader.described is None:
        reason = "The voters have not described themselves."
    elif any(one.key.directory_id == NO_DIRECTORY for one in leader.described):
        reason = "Not all voters have reported their directory id."
    elif not all(
        one.min_kraft_version <= version <= one.max_kraft_version for one in leader.described
    ):
        reason = f"Not all voters support kraft.version {version}."
    return None if reason is None else Refusal(ErrorCode.INVALID_UPDATE_VERSION, reason)
