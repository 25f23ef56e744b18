"""Disks are lost while voters are named (KIP-856), and the workload repairs the cluster."""

from __future__ import annotations

import pytest

from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.messages import remove_raft_voter_request
from kraftwire.raft.core.roles import Leader, PendingChange
from kraftwire.raft.membership import RemoveVoter, policy_of
from kraftwire.raft.metadata_log.batches import control_batch
from kraftwire.raft.state.config import Membership
from kraftwire.simulation import workload
from kraftwire.simulation.ledger import RuleViolation
from kraftwire.simulation.node import SimulatedNode
from kraftwire.simulation.run import RECOVERS, recover, simulate
from kraftwire.simulation.scenario import Bootstrap, Scenario, key_of
from kraftwire.simulation.scheduler import Scheduler
from kraftwire.simulation.steps import Action, Step
from kraftwire.simulation.workload import can_lose_disk
from kraftwire.simulation.world import World

CONFIGURED = Scenario(seed=1, voters=3, bootstrap=Bootstrap.STATIC, membership=Membership.KIP_856)
DIRECTORIES = {number: key_of(number).directory_id for number in CONFIGURED.nodes}


def waiting_for_a_lost_disk() -> Scheduler:
    """Return a cluster whose second leader may not write, since a voter lost its disk."""
    scheduler = Scheduler(CONFIGURED, is_quiet=True)
    world = scheduler.world
    for number in CONFIGURED.nodes:
        scheduler.apply(Step(0, Action.START, number))

    def leader_of(epoch: int) -> Leader | None:
        roles = [node.replica.core.role for node in world.nodes.values() if node.replica]
        found = [one for one in roles if isinstance(one, Leader) and one.epoch >= epoch]
        return found[0] if found else None

    def is_settled(_: World) -> bool:
        leader = leader_of(1)
        return leader is not None and leader.is_open and can_lose_disk(world, world.nodes[1])

    assert scheduler.run_until(is_settled, 10_000)
    (first,) = (node for node in world.nodes.values() if _leads(node))
    assert first.replica is not None
    before = first.replica.core.epoch
    scheduler.apply(Step(world.now, Action.RESIGN, first.number))
    assert scheduler.run_until(lambda _: leader_of(before + 1) is not None, 20_000)
    (second,) = (node for node in world.nodes.values() if _leads(node))
    lost = next(node for node in world.nodes.values() if node is not second)
    assert can_lose_disk(world, lost)
    scheduler.apply(Step(world.now, Action.RESET, lost.number, second.number))  # loses its Fetch
    scheduler.apply(Step(world.now, Action.WIPE, lost.number))
    return scheduler


def _leads(node: SimulatedNode) -> bool:
    return node.replica is not None and isinstance(node.replica.core.role, Leader)


def test_a_cluster_that_waits_for_a_lost_disk_recovers_when_it_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scheduler = waiting_for_a_lost_disk()
    recover(scheduler)
    nodes = scheduler.world.nodes.values()
    (leader,) = (node.replica for node in nodes if node.replica is not None and _leads(node))
    assert leader.core.voters.keys == {node.config.key for node in nodes}, "it is replaced"
    monkeypatch.setattr(workload, "_disk_replacement", lambda *_: None)
    scheduler = waiting_for_a_lost_disk()
    with pytest.raises(RuleViolation, match=RECOVERS):  # only an operator can let the leader write
        recover(scheduler)


def test_the_seed_that_showed_this_holds() -> None:
    run = simulate(100393, codecs=False)
    assert run.violation is None


def named(world: World, number: int, *, is_flushed: bool) -> None:
    """Give a node the committed batch that names the voters."""
    node = world.nodes[number]
    node.start(world.now)
    assert node.replica is not None
    core = node.replica.core
    records = policy_of(node.config).naming_records(core.voters, DIRECTORIES)
    batch = control_batch(0, 1, 0, records)
    core.append(batch)
    node.store.append(batch)
    core.commit(core.log.end)
    if is_flushed:
        node.store.flush()


@pytest.mark.parametrize("is_flushed", [True, False])
def test_names_that_a_crash_lost_do_not_count(is_flushed: bool) -> None:
    world = Scheduler(CONFIGURED, is_quiet=True).world
    for number in CONFIGURED.nodes:
        named(world, number, is_flushed=is_flushed or number != 3)
    assert can_lose_disk(world, world.nodes[1])
    world.nodes[3].crash()
    assert can_lose_disk(world, world.nodes[1]) == is_flushed
    (voters,) = world.nodes[3].voter_sets()
    assert all(one.key.directory_id.int for one in voters) == is_flushed


def test_no_disk_is_lost_while_changes_wait_for_their_turn() -> None:
    world = Scheduler(CONFIGURED, is_quiet=True).world
    for number in CONFIGURED.nodes:
        named(world, number, is_flushed=True)
    replica = world.nodes[2].replica
    assert replica is not None
    request = remove_raft_voter_request(None, key_of(3))
    waits = PendingChange(Request("token", request, 0, ""), RemoveVoter(key_of(3)), deadline=1000)
    replica.core.role = Leader(1, 1, (), 0, frozenset(), None, waiting=[waits])
    assert not can_lose_disk(world, world.nodes[1])
    replica.core.role.waiting.clear()
    assert can_lose_disk(world, world.nodes[1])
