"""A quorum whose voters are configured, and that recovers from disks that are lost (KIP-856)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from kraftwire.log.directory import METADATA_TOPIC
from kraftwire.raft.core import messages
from kraftwire.raft.core.effects import Effect, Reply
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.membership import policy_of
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.state.config import Membership
from kraftwire.raft.state.majorities import majorities_overlap
from kraftwire.raft.state.voters import ReplicaKey, Voter, VoterSet
from kraftwire_messages.kafka import DescribeQuorumRequest
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.quorums import CLUSTER, LISTENER, Quorum, Token

CLIENT = Token(1, 0, 0)
"""Whose replies go to nobody."""
U1, U2, U3 = (ReplicaKey(number, UUID(int=number)) for number in (1, 2, 3))
U3_NEW = ReplicaKey(3, UUID(int=33))


class Configured(Quorum):
    """See the module; what a client is told is in `answers`."""

    answers: list[Any]

    def __init__(self, seed: int, size: int) -> None:
        self.answers = []
        super().__init__(seed, size)

    def start(self, number: int) -> None:
        node = self.nodes[number]
        if node.life == 0:
            ids = self.nodes.values()
            voters = VoterSet(
                Voter(ReplicaKey(one.config.key.id), one.config.listeners) for one in ids
            )
            node.config = replace(node.config, membership=Membership.KIP_856, static_voters=voters)
            node.store = self.disk(number)
        super().start(number)

    def disk(self, number: int) -> MemoryStore:
        """One with nothing on it."""
        config = self.nodes[number].config
        return MemoryStore(config.static_voters, policy_of(config).registry)

    def lose_disk(self, number: int, key: ReplicaKey) -> None:
        """Crash, and start with another disk."""
        self.crash(number)
        node = self.nodes[number]
        node.config = replace(node.config, key=key)
        node.store = self.disk(number)
        self.checked[number] = self.epochs[number] = 0
        self.start(number)

    def do(self, number: int, effects: list[Effect]) -> None:
        self.answers += [
            one.message for one in effects if isinstance(one, Reply) and one.token == CLIENT
        ]
        super().do(number, effects)

    @property
    def leader(self) -> int | None:
        """Who leads, and may write."""
        for number, node in self.nodes.items():
            role = None if node.replica is None else node.replica.core.role
            if isinstance(role, Leader) and role.is_open and role.high_watermark:
                return number
        return None

    def until_led(self) -> int:
        """Go on until somebody leads."""
        for _ in range(20_000):
            if self.leader is not None:
                return self.leader
            self.event()
        raise AssertionError("nobody leads")

    def ask(self, message: Message) -> Any:
        """Ask the leader as a client; the answer."""
        version = message.VALID_VERSIONS[-1]
        self.answers.clear()
        self.give(self.until_led(), Request(CLIENT, message, version, LISTENER))
        for _ in range(20_000):
            if self.answers:
                return self.answers[0]
            self.event()
        raise AssertionError("there is no answer")

    def check_granted(self, leader: Leader, voters: VoterSet) -> None:
        """Those who have elected it may be none any more."""

    def check(self, number: int) -> None:
        super().check(number)
        replica = self.nodes[number].replica
        assert replica is not None
        control = replica.core.control
        if control.first_data is not None:
            voters = control.voters.before(control.first_data)
            assert all(key.directory_id.int for key in voters.keys), "nobody writes before"
        for (_, before), (_, after) in pairwise(control.voters.entries):
            if all(key.directory_id.int for key in before.keys):
                assert majorities_overlap(before.keys, after.keys)


def described(quorum: Configured) -> tuple[set[ReplicaKey], set[ReplicaKey]]:
    """The voters and observers that DescribeQuorum tells."""
    asked = DescribeQuorumRequest.PartitionData(partition_index=messages.PARTITION)
    topic = DescribeQuorumRequest.TopicData(topic_name=METADATA_TOPIC, partitions=[asked])
    partition = messages.partition_of(quorum.ask(DescribeQuorumRequest(topics=[topic])))
    voters, observers = (
        {ReplicaKey(one.replica_id, one.replica_directory_id) for one in some}
        for some in (partition.current_voters, partition.observers)
    )
    return voters, observers


def adding(key: ReplicaKey) -> Message:
    return messages.add_raft_voter_request(
        CLUSTER, Voter(key), timeout_ms=0, ack_when_committed=True
    )


def removing(key: ReplicaKey) -> Message:
    return messages.remove_raft_voter_request(CLUSTER, key)


def error_of(quorum: Configured, message: Message) -> int:
    """What the leader answers to a wish."""
    return int(quorum.ask(message).error_code)


def quiet(seed: int) -> Configured:
    """Three voters of which nobody fails, and that have a leader and records."""
    quorum = Configured(seed, 3)
    quorum.calm()
    quorum.until_led()
    for _ in range(500):
        quorum.event()
    return quorum


@pytest.mark.parametrize("seed", range(4))
def test_a_disk_that_is_lost_is_replaced(seed: int) -> None:
    quorum = quiet(seed)
    assert described(quorum) == ({U1, U2, U3}, set())
    quorum.lose_disk(3, U3_NEW)
    for _ in range(3000):
        quorum.event()
    assert described(quorum) == ({U1, U2, U3}, {U3_NEW})
    assert error_of(quorum, adding(U3_NEW)) == ErrorCode.NONE
    assert described(quorum) == ({U1, U2, U3, U3_NEW}, set())
    assert error_of(quorum, removing(U3)) == ErrorCode.NONE
    assert described(quorum)[0] == {U1, U2, U3_NEW}
    quorum.crash(1)
    quorum.away = 1
    before = max(quorum.checked.values())
    for _ in range(5000):
        quorum.event()
    assert quorum.checked[3] > before, "the new disk has a part in the majority"
    replica = quorum.nodes[3].replica
    assert replica is not None
    assert replica.core.voters.keys == {U1, U2, U3_NEW}


@pytest.mark.parametrize("seed", range(6))
def test_disks_are_replaced_while_replicas_fail(seed: int) -> None:
    quorum = Configured(seed, 3)
    for _ in range(1000):
        quorum.event()
    quorum.calm()
    quorum.until_led()
    quorum.faults = True
    for _ in range(500):
        quorum.event()
    quorum.lose_disk(3, U3_NEW)
    for wish in [adding(U3_NEW), removing(U3)]:
        for _ in range(20):
            leader = quorum.leader
            if leader is not None:
                request = Request(CLIENT, wish, wish.VALID_VERSIONS[-1], LISTENER)
                quorum.give(leader, request)
            for _ in range(100):
                quorum.event()
    quorum.calm()
    for wish in [adding(U3_NEW), removing(U3)]:
        for _ in range(40):
            if error_of(quorum, wish) in (ErrorCode.DUPLICATE_VOTER, ErrorCode.VOTER_NOT_FOUND):
                break
            for _ in range(100):
                quorum.event()
    assert described(quorum)[0] == {U1, U2, U3_NEW}
