"""What clients and operators ask for, chosen so that a cluster is never beyond help.

Disks are lost and voters come and go, but of every voter set that a node knows, a majority keeps
its disks: KRaft promises nothing beyond that.

Under KIP-856 one more thing is needed. A leader does not let state machines write before each voter
has the records that name all voters, and a voter whose disk was lost never will. Where that happens
before anything was written, the cluster waits until an operator adds the new disk as a voter and
removes the lost one; so that is what happens in quiet.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from kraftwire.raft.core.roles import Leader
from kraftwire.raft.state.majorities import majority
from kraftwire.raft.state.voters import ReplicaKey, VoterSet
from kraftwire.simulation.node import Node
from kraftwire.simulation.steps import NEVER, Action, Step
from kraftwire.simulation.world import World

_MOST_RECORDS = 3


def work_step(world: World, chance: Random, crash: int = NEVER) -> Step | None:
    """The next thing that somebody asks for; None where nobody could answer.

    In quiet that is records, and before them disks in the place of lost ones that are waited for.
    """
    is_quiet = world.executor.is_quiet
    if not is_quiet and chance.random() < world.scenario.changes:
        return chance.choice(_KINDS)(world, chance, crash)
    leader = _leader(world, chance)
    if leader is None:
        return None
    replacing = _replace_a_disk(world, leader) if is_quiet else None
    if replacing is not None:
        return replacing
    records = chance.randint(1, _MOST_RECORDS)
    return Step(world.now, Action.PROPOSE, leader.number, place=records, crash=crash)


def may_lose(world: World, lost: Node) -> bool:
    """Whether the quorum survives the loss of a disk.

    Not while changes of the voters wait for their turn: nobody has counted yet which disks are left
    when they are made.
    """
    if any(node.has_waiting_changes for node in world.nodes.values()):
        return False
    # A voter whose directory is not known would vote again: no set has a majority without it.
    sound = _sound(world) - {lost.config.key}
    sets = (voters for node in world.nodes.values() for voters in node.voter_sets())
    return all(_has_majority(voters, sound) for voters in sets)


def _has_majority(voters: VoterSet, sound: set[ReplicaKey]) -> bool:
    return not len(voters) or len(voters.keys & sound) >= majority(len(voters))


def _sound(world: World) -> set[ReplicaKey]:
    """The keys of all disks that are not damaged."""
    return {node.config.key for node in world.nodes.values() if not node.is_damaged}


def _leader(world: World, chance: Random) -> Node | None:
    """One of those who believe that they lead."""
    nodes = [node for node in world.nodes.values() if node.replica is not None]
    leaders = [one for one in nodes if one.replica and isinstance(one.replica.core.role, Leader)]
    return chance.choice(leaders) if leaders else None


def _snapshot(world: World, chance: Random, crash: int) -> Step:
    number = chance.choice(world.scenario.nodes)
    records = chance.randint(1, _MOST_RECORDS)
    return Step(world.now, Action.SNAPSHOT, number, place=records, crash=crash)


def _add(world: World, chance: Random, crash: int) -> Step | None:
    leader = _leader(world, chance)
    other = chance.choice(world.scenario.nodes)
    if leader is None or world.nodes[other].is_damaged:
        return None
    return Step(world.now, Action.ADD, leader.number, other, crash=crash)


def _remove(world: World, chance: Random, crash: int) -> Step | None:
    """Rather a voter whose disk is lost, then the leader; none without which is no majority."""
    leader = _leader(world, chance)
    if leader is None or leader.replica is None:
        return None
    sound, voters = _sound(world), leader.replica.core.voters
    able = [
        place
        for place, voter in enumerate(voters)
        if _has_majority(voters.removing(voter.key), sound)
    ]
    lost = [place for place in able if voters.voters[place].key not in sound]
    own = [place for place in able if voters.voters[place].id == leader.number]
    if not able:
        return None
    place = chance.choice(lost or chance.choice((own, able)) or able)
    return Step(world.now, Action.REMOVE, leader.number, place=place, crash=crash)


def _replace_a_disk(world: World, leader: Node) -> Step | None:
    """Add the new disk of a voter, or remove its lost one, if the leader waits for the lost one."""
    assert leader.replica is not None, "it leads"
    core = leader.replica.core
    role = core.role
    if not isinstance(role, Leader) or role.is_open or role.pending or role.waiting:
        return None
    for place, voter in enumerate(core.voters):
        present = world.nodes[voter.id].config.key
        if voter.key.means(present):
            continue
        if present in core.voters.keys:
            return Step(world.now, Action.REMOVE, leader.number, place=place)
        return Step(world.now, Action.ADD, leader.number, voter.id)
    return None


def _of_leader(action: Action) -> Callable[[World, Random, int], Step | None]:
    def step(world: World, chance: Random, crash: int) -> Step | None:
        leader = _leader(world, chance)
        return None if leader is None else Step(world.now, action, leader.number, crash=crash)

    return step


def _of_any(action: Action) -> Callable[[World, Random, int], Step]:
    def step(world: World, chance: Random, crash: int) -> Step:
        return Step(world.now, action, chance.choice(world.scenario.nodes), crash=crash)

    return step


_KINDS: tuple[Callable[[World, Random, int], Step | None], ...] = (
    _snapshot,
    _snapshot,
    _add,
    _add,
    _remove,
    _of_leader(Action.UPGRADE),
    _of_leader(Action.RESIGN),
    _of_any(Action.SHUT_DOWN),
    _of_any(Action.MOVE),
)
