"""Replicas of which voters come and go, while they lose what they say, and crash.

There are five, of which three begin as voters. Whoever asks for a change asks anybody.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from kraftwire.address import Address
from kraftwire.log.snapshot_writer import SnapshotWriter
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.messages import add_raft_voter_request, remove_raft_voter_request
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.metadata_log.log_state import BOOTSTRAP
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.state.majorities import majorities_overlap
from kraftwire.raft.state.voters import Voter, VoterSet, encode_voters
from kraftwire_wire.message import Message

from codec_tests.raft.quorums import CLUSTER, LISTENER, Quorum, Token

NOBODY = Token(1, 0, 0)


class Changing(Quorum):
    """See the module."""

    changes = 0
    """How many changes were committed."""

    def start(self, number: int) -> None:
        node = self.nodes[number]
        if node.life == 0:
            node.store = MemoryStore()
            if number <= 3:
                node.store.snapshots[BOOTSTRAP] = self.checkpoint()
            addresses = tuple(Address("127.0.0.1", 9000 + one) for one in self.nodes)
            node.config = replace(node.config, bootstrap=addresses)
        super().start(number)

    def checkpoint(self) -> bytes:
        configs = [self.nodes[number].config for number in (1, 2, 3)]
        voters = VoterSet(Voter(one.key, one.listeners, 0, 1) for one in configs)
        writer = SnapshotWriter(BOOTSTRAP.epoch)
        writer.begin(0, 0, voters=encode_voters(voters))
        return writer.finish(0)

    def event(self) -> None:
        if self.chance.random() < 0.02:
            number, other = self.chance.choices(list(self.nodes), k=2)
            self.give(number, Request(NOBODY, self.wish(other), 0, LISTENER))
        super().event()

    def wish(self, number: int) -> Message:
        config = self.nodes[number].config
        if self.chance.random() < 0.5:
            return remove_raft_voter_request(CLUSTER, config.key)
        return add_raft_voter_request(
            CLUSTER, Voter(config.key, config.listeners), timeout_ms=0, ack_when_committed=True
        )

    def check_granted(self, leader: Leader, voters: VoterSet) -> None:
        """Those who have elected it may be none any more."""

    def check(self, number: int) -> None:
        super().check(number)
        replica = self.nodes[number].replica
        assert replica is not None
        changes = replica.core.control.voters.entries
        for (_, before), (offset, after) in pairwise(changes):
            assert len(before) == 0 or majorities_overlap(before.keys, after.keys)
            if offset < replica.core.committed and before.keys != after.keys:
                self.changes = max(self.changes, offset)


@pytest.mark.parametrize("seed", range(16))
def test_voters_come_and_go_and_no_epoch_has_two_leaders(seed: int) -> None:
    quorum = Changing(seed, 5)
    for _ in range(3000):
        quorum.event()
    quorum.calm()
    before = quorum.changes
    for _ in range(20_000):
        quorum.event()
        if quorum.changes > before:
            return
    raise AssertionError("no change is committed any more")
