"""Replicas under the rules of KIP-856: three voters are configured, by id."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kraftwire.raft.core.effects import Append, Effect
from kraftwire.raft.core.inputs import Flushed
from kraftwire.raft.membership import AddVoter, Kip856
from kraftwire.raft.metadata_log.batches import ControlRecord, control_batch, controls_of
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.metadata_log.store import Recovered
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.config import Membership
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import NO_VOTERS, ReplicaKey, Voter, VoterSet

from codec_tests.raft.replicas import ME, THREE, TWO, elected, fetched, listeners_of, replica_of

CONFIGURED = VoterSet(Voter(ReplicaKey(number), listeners_of(number)) for number in (1, 2, 3))
NAMED = VoterSet(Voter(key, listeners_of(key.id)) for key in (ME, TWO, THREE))
NEW_DISK = ReplicaKey(3, UUID(int=33))
BOTH_DISKS = NAMED.adding(Voter(NEW_DISK, listeners_of(3)))
POLICY = Kip856(CONFIGURED)
RULES: dict[str, Any] = {
    "kraft_version": 0,
    "voters": CONFIGURED,
    "membership": Membership.KIP_856,
    "static_voters": CONFIGURED,
}


def configured(election: Election, **more: Any) -> Replica:
    """Replica 1 as it begins with an election."""
    return replica_of(election, **RULES | more)


def unnamed(**more: Any) -> Replica:
    """Replica 1 as it leads epoch 4, whose voters have not told their directories yet."""
    return elected(**RULES | more)


def flushed(replica: Replica) -> list[Effect]:
    """Let the leader have its log on its disk; what it does."""
    return replica.step(replica.core.now, Flushed(replica.core.log.end))


def named(**more: Any) -> Replica:
    """Replica 1 as it leads epoch 4, with the voters in its log and in all others."""
    replica = unnamed(**more)
    fetched(replica, TWO)
    fetched(replica, THREE)
    flushed(replica)
    fetched(replica, TWO)
    fetched(replica, THREE)
    return replica


def said(effects: list[Effect]) -> list[list[ControlRecord]]:
    """The control records of each batch that was appended."""
    batches = [one.batch for one in effects if isinstance(one, Append)]
    return [[control for _, control in controls_of(one, Kip856.registry)] for one in batches]


def adding(*keys: ReplicaKey) -> list[ControlRecord]:
    """The records that add voters."""
    return [one for key in keys for one in POLICY.records(NO_VOTERS, AddVoter(Voter(key)))]


def after(records: list[ControlRecord], before: VoterSet = CONFIGURED) -> ControlState:
    """What a log says behind such records."""
    control = ControlState(before, POLICY.registry)
    control.apply(control_batch(0, 1, 0, records))
    return control


def recovered(*keys: ReplicaKey) -> Recovered:
    """A disk whose log adds voters."""
    store = MemoryStore(CONFIGURED, POLICY.registry)
    store.append(control_batch(0, 1, 0, adding(*keys)))
    return store.recover()
