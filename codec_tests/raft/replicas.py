"""Replicas to ask, without a network: three voters, of which the first is asked."""

from __future__ import annotations

from random import Random
from uuid import UUID

from kraftwire.raft.batches import data_batch
from kraftwire.raft.config import Config
from kraftwire.raft.core import Core
from kraftwire.raft.effects import Reply, SaveElection
from kraftwire.raft.election import Election
from kraftwire.raft.memory_store import MemoryStore
from kraftwire.raft.voters import Listener, ReplicaKey, Voter, VoterSet

CLUSTER = "cluster"
LISTENER = "CONTROLLER"
ME, TWO, THREE = (ReplicaKey(number, UUID(int=number)) for number in (1, 2, 3))


def listeners_of(number: int) -> tuple[Listener, ...]:
    """Where a replica listens."""
    return (Listener(LISTENER, "127.0.0.1", 9000 + number),)


VOTERS = VoterSet(Voter(key, listeners_of(key.id)) for key in (ME, TWO, THREE))


def core_of(
    election: Election | None = None, *, log_epoch: int | None = None, voters: VoterSet = VOTERS
) -> Core:
    """Replica 1 as it begins with an election, and a record of an epoch in its log."""
    store = MemoryStore(voters)
    if election is not None:
        store.save_election(election, 1)
    if log_epoch is not None:
        store.append(data_batch(0, log_epoch, 0, [b"record"]))
    config = Config(key=ME, cluster_id=CLUSTER, listeners=listeners_of(1))
    return Core(config, store.recover(), Random(1), 5000)


def saved(core: Core) -> Election:
    """What was kept last."""
    effects = [effect for effect in core.effects if isinstance(effect, SaveElection)]
    return effects[-1].election


def replies(core: Core) -> list[Reply]:
    """What was answered."""
    return [effect for effect in core.effects if isinstance(effect, Reply)]
