"""Voters of one id, of which one is on a disk that is lost (KIP-856)."""

from __future__ import annotations

from uuid import UUID

from kraftwire.raft.core.effects import Effect
from kraftwire.raft.core.inputs import RequestFailed, Tick
from kraftwire.raft.core.messages import partition_of
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.election.vote_client import note_vote, start_election
from kraftwire.raft.membership import RemoveVoter
from kraftwire.raft.metadata_log.batches import control_batch
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.config import Config, Membership
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_messages.kafka import VoteRequest

from codec_tests.raft.configured import (
    BOTH_DISKS,
    CONFIGURED,
    NEW_DISK,
    POLICY,
    adding,
    configured,
    named,
    recovered,
)
from codec_tests.raft.replicas import (
    CLUSTER,
    ME,
    THREE,
    TWO,
    fetched,
    lead,
    listeners_of,
    sent,
    states,
)


def with_both_disks() -> Replica:
    """Replica 1 leads; the disk of 3 is lost, and the new one a voter too."""
    replica = named()
    core = replica.core
    core.append(control_batch(core.log.end, 4, 0, adding(NEW_DISK)))
    lead(replica).flushed = core.log.end
    return replica


def test_majorities_count_disks_and_not_ids() -> None:
    replica = with_both_disks()
    core = replica.core
    before = core.committed
    fetched(replica, THREE)
    assert core.committed == before, "two of four are no majority"
    fetched(replica, NEW_DISK)
    assert core.committed == core.log.end


def test_votes_of_two_disks_are_two() -> None:
    core = configured(Election(3)).core
    core.control.voters.add(0, BOTH_DISKS)
    start_election(core)
    for key in (THREE, ReplicaKey(3, UUID(int=99))):
        note_vote(core, key, granted=True)
    assert core.epoch == 3
    note_vote(core, NEW_DISK, granted=True)
    assert core.epoch == 4


def test_voters_of_one_id_take_turns_at_its_node() -> None:
    replica = configured(Election(3))
    core = replica.core
    core.control.voters.add(0, BOTH_DISKS)
    asked: list[UUID] = []

    def note(effects: list[Effect]) -> int:
        (send,) = [one for one in sent(effects, VoteRequest) if one.address.port == 9003]
        assert isinstance(send.message, VoteRequest)
        asked.append(partition_of(send.message).voter_directory_id)
        return send.number

    start_election(core)
    number = note(core.effects)
    core.effects.clear()
    for _ in range(3):
        replica.step(core.now, RequestFailed(number))
        number = note(replica.step(core.now + 20, Tick()))
    first, second = THREE.directory_id, NEW_DISK.directory_id
    assert asked == [first, second, first, second]


def test_nobody_asks_itself_for_the_disk_that_it_has_lost() -> None:
    config = Config(
        key=NEW_DISK,
        cluster_id=CLUSTER,
        listeners=listeners_of(3),
        membership=Membership.KIP_856,
        static_voters=CONFIGURED,
    )
    replica = Replica(
        config, recovered(ME, TWO, THREE, NEW_DISK), configured(Election(3)).core.rng, 0
    )
    start_election(replica.core)
    ports = {one.address.port for one in sent(replica.core.effects, VoteRequest)}
    assert ports == {9001, 9002}


def test_a_leader_that_was_removed_with_its_disk_resigns() -> None:
    replica = named()
    core = replica.core
    core.append(control_batch(core.log.end, 4, 0, adding(ReplicaKey(1, UUID(int=11)))))
    core.append(control_batch(core.log.end, 4, 0, POLICY.records(core.voters, RemoveVoter(ME))))
    assert not core.is_voter
    fetched(replica, TWO)
    assert isinstance(core.role, Leader)
    fetched(replica, THREE)
    assert not isinstance(core.role, Leader)


def test_a_leader_has_not_come_as_far_on_the_disk_that_it_has_lost() -> None:
    """KIP-856: DescribeQuorum shows the dead voter."""
    replica = named()
    core = replica.core
    lost = ReplicaKey(1, UUID(int=11))
    core.append(control_batch(core.log.end, 4, 0, adding(lost)))
    voters, _ = states(replica)
    ends = {one.replica_directory_id: one.log_end_offset for one in voters}
    assert ends[ME.directory_id] == core.log.end
    assert ends[lost.directory_id] == -1
