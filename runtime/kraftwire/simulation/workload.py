"""Draws the requests of clients and operators, as far as a cluster can survive them.

Disks are lost and voters change, but every voter set that a node knows keeps a majority with
intact disks: KRaft guarantees nothing beyond that.

KIP-856 needs more. A leader lets state machines write only once every voter has the records that
name all voters, and a voter that lost its disk before never gets them. The cluster then waits until
an operator adds the new disk as a voter and removes the lost one. This module does so in the quiet
period.
"""

from __future__ import annotations

from random import Random

from kraftwire.raft.core.roles import Leader
from kraftwire.raft.state.voters import ReplicaKey, VoterSet
from kraftwire.simulation.node import SimulatedNode
from kraftwire.simulation.steps import NEVER, Action, Step
from kraftwire.simulation.world import World

_MAX_RECORDS = 3
_CHANGES = (
    Action.SNAPSHOT,
    Action.SNAPSHOT,
    Action.ADD,
    Action.ADD,
    Action.REMOVE,
    Action.UPGRADE,
    Action.RESIGN,
    Action.SHUT_DOWN,
    Action.MOVE,
)
"""The requests that do not propose records; repeated entries are more frequent."""


def next_request(world: World, rng: Random, crash: int = NEVER) -> Step | None:
    """Return the next request; None if no node can answer one.

    In the quiet period, first replace the lost disks that a leader waits for, then propose records.
    """
    is_quiet = world.executor.is_quiet
    if not is_quiet and rng.random() < world.scenario.changes:
        return _draw_change(world, rng, crash)
    leader = _leader(world, rng)
    if leader is None:
        return None
    replacement = _disk_replacement(world, leader) if is_quiet else None
    if replacement is not None:
        return replacement
    records = rng.randint(1, _MAX_RECORDS)
    return Step(world.now, Action.PROPOSE, leader.number, value=records, crash=crash)


def can_lose_disk(world: World, node: SimulatedNode) -> bool:
    """Whether the quorum survives if a node loses its disk.

    Return False while voter changes wait, because leaders make them later without this check.
    """
    if any(one.has_waiting_changes for one in world.nodes.values()):
        return False
    # A voter without a directory id could vote again, so its set has no majority without it.
    intact = _intact_keys(world) - {node.config.key}
    sets = (voters for one in world.nodes.values() for voters in one.voter_sets())
    return all(_has_majority(voters, intact) for voters in sets)


def _has_majority(voters: VoterSet, intact: set[ReplicaKey]) -> bool:
    return not len(voters) or len(intact & voters.keys) >= voters.majority


def _intact_keys(world: World) -> set[ReplicaKey]:
    return {node.config.key for node in world.nodes.values() if not node.is_damaged}


def _leader(world: World, rng: Random) -> SimulatedNode | None:
    """Return one of the nodes that believe that they lead; None if none does."""
    leaders = [node for node in world.nodes.values() if isinstance(node.role, Leader)]
    return rng.choice(leaders) if leaders else None


def _draw_change(world: World, rng: Random, crash: int) -> Step | None:
    action = rng.choice(_CHANGES)
    if action in (Action.SNAPSHOT, Action.SHUT_DOWN, Action.MOVE):
        number = rng.choice(world.scenario.nodes)
        records = rng.randint(1, _MAX_RECORDS) if action is Action.SNAPSHOT else 0
        return Step(world.now, action, number, value=records, crash=crash)
    leader = _leader(world, rng)
    if action is Action.ADD:
        other = rng.choice(world.scenario.nodes)
        if leader is None or world.nodes[other].is_damaged:
            return None
        return Step(world.now, action, leader.number, other, crash=crash)
    if leader is None:
        return None
    if action is Action.REMOVE:
        index = _draw_voter_to_remove(world, leader, rng)
        if index is None:
            return None
        return Step(world.now, action, leader.number, value=index, crash=crash)
    return Step(world.now, action, leader.number, crash=crash)


def _draw_voter_to_remove(world: World, leader: SimulatedNode, rng: Random) -> int | None:
    """Return the index of a voter whose removal leaves a majority of intact disks.

    Prefer a voter that lost its disk, then the leader itself.
    """
    intact, voters = _intact_keys(world), leader.core.voters
    removable = [
        index
        for index, voter in enumerate(voters)
        if _has_majority(voters.removing(voter.key), intact)
    ]
    lost = [index for index in removable if voters.voters[index].key not in intact]
    own = [index for index in removable if voters.voters[index].id == leader.number]
    if not removable:
        return None
    return rng.choice(lost or rng.choice((own, removable)) or removable)


def _disk_replacement(world: World, leader: SimulatedNode) -> Step | None:
    """Return the addition of a voter's new disk, or the removal of its lost one, if needed."""
    core, role = leader.core, leader.role
    if not isinstance(role, Leader) or role.is_open or role.pending or role.waiting:
        return None
    for index, voter in enumerate(core.voters):
        present = world.nodes[voter.id].config.key
        if voter.key.matches(present):
            continue
        if present in core.voters.keys:
            return Step(world.now, Action.REMOVE, leader.number, value=index)
        return Step(world.now, Action.ADD, leader.number, voter.id)
    return None
