"""Scenarios: the nodes of a cluster, their settings, and how often things fail.

A seed determines a scenario; the scenario and the steps determine the run. Times are in ms,
probabilities between 0 and 1, clock rates in thousandths of true time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from random import Random
from uuid import UUID

from kraftwire.address import Address
from kraftwire.raft.state.config import Config, Membership
from kraftwire.raft.state.voters import NO_VOTERS, Listener, ReplicaKey, Voter, VoterSet

CLUSTER = "simulated"
LISTENER = "CONTROLLER"
TRUE_RATE = 1000
_HOST = "127.0.0.1"
_FIRST_PORT = 9000
_PORTS = 100
_BACKOFF_MS = 100
"""Longer than Kafka's, or most events would be requests to nodes that know no leader either."""
_SNAPSHOT_FETCH_BYTES = 200
"""Small, so that the small snapshots of a run take several requests."""
_CLEAN_MS = 1000
_MAX_VOTERS = 7
_MAX_OBSERVERS = 5


class Bootstrap(StrEnum):
    """Where the first voter set comes from."""

    STATIC = "static"
    """The configuration: kraft.version is 0, and the voters cannot change."""
    CHECKPOINT = "checkpoint"
    """The bootstrap checkpoint of each voter names all of them (KIP-853)."""
    STANDALONE = "standalone"
    """The bootstrap checkpoint of node 1 names only node 1; clients add the others."""


@dataclass(frozen=True, kw_only=True)
class Faults:
    """How often something fails."""

    loss: float = 0.0
    repeat: float = 0.0
    """A message is delivered twice."""
    late: float = 0.0
    """A message is delivered after others that were sent later."""
    crash: float = 0.0
    """A node crashes while it handles an input."""
    pause_ms: int = 0
    """Mean time between faults of nodes, links and disks; 0 for no such faults."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A cluster, its workload and its faults; transcripts list these fields by name."""

    seed: int
    voters: int
    observers: int = 0
    bootstrap: Bootstrap = Bootstrap.CHECKPOINT
    membership: Membership = Membership.SHIPPED
    """The rules for changing voters; those of KIP-856 need a static bootstrap."""
    faults: Faults = Faults()
    work_ms: int = 20
    """Mean time between requests of clients; 0 for none."""
    changes: float = 0.1
    """The share of requests that do not propose records: for voters, snapshots and restarts."""
    rates: tuple[int, ...] = ()
    """The clock rate of each node; true time for nodes after the last."""
    old: frozenset[int] = frozenset()
    """Nodes of an earlier release: no pre-vote, and Fetch 17."""
    stranger_ms: int = 0
    """Mean time between forged requests (see `forged_requests`); 0 for none."""

    @property
    def nodes(self) -> range:
        """The ids of all nodes, voters first."""
        return range(1, self.voters + self.observers + 1)

    @property
    def has_checkpoints(self) -> bool:
        """Whether bootstrap checkpoints name the first voters."""
        return self.bootstrap is not Bootstrap.STATIC

    @property
    def first_voter_ids(self) -> range:
        return range(1, 2 if self.bootstrap is Bootstrap.STANDALONE else self.voters + 1)

    def rate_of(self, node: int) -> int:
        return self.rates[node - 1] if node <= len(self.rates) else TRUE_RATE

    def first_voters(self) -> VoterSet:
        """Return the first voter set; a static configuration has no directory ids."""
        if self.bootstrap is Bootstrap.STATIC:
            return VoterSet(
                Voter(ReplicaKey(node), listeners_of(node)) for node in self.first_voter_ids
            )
        return VoterSet(
            Voter(key_of(node), listeners_of(node), 0, 1) for node in self.first_voter_ids
        )

    def config_of(self, key: ReplicaKey, moves: int = 0) -> Config:
        """Return the configuration of a node after a number of moves.

        If voters can change, the configuration of a node with a new disk omits the first voters.
        Otherwise the node would believe that it is one of them, and a sole voter would elect
        itself. KIP-856 keeps the ids, because voters do not elect an empty log.
        """
        has_static = not self.has_checkpoints and (
            key == key_of(key.id) or self.membership is Membership.KIP_856
        )
        return Config(
            key=key,
            cluster_id=CLUSTER,
            listeners=listeners_of(key.id, moves),
            default_listener=LISTENER,
            retry_backoff_ms=_BACKOFF_MS,
            fetch_snapshot_max_bytes=_SNAPSHOT_FETCH_BYTES,
            clean_interval_ms=_CLEAN_MS,
            bootstrap=tuple(_address_of(node) for node in self.nodes if node != key.id),
            static_voters=self.first_voters() if has_static else NO_VOTERS,
            membership=self.membership,
        )


def key_of(node: int, disk: int = 0) -> ReplicaKey:
    """Return the replica key of a node with its first disk, or a later one."""
    return ReplicaKey(node, UUID(int=(disk << 32) + node))


def listeners_of(node: int, moves: int = 0) -> tuple[Listener, ...]:
    """Return the listeners of a node after a number of moves."""
    return (Listener(LISTENER, *_address_of(node, moves)),)


def _address_of(node: int, moves: int = 0) -> Address:
    return Address(_HOST, _FIRST_PORT + _PORTS * moves + node)


def node_at(address: Address) -> tuple[int, int]:
    """Return the node with an address, and its number of moves before it got the address."""
    moves, node = divmod(address.port - _FIRST_PORT, _PORTS)
    return node, moves


def draw_scenario(seed: int, *, stranger: bool = False) -> Scenario:
    """Draw the scenario of a seed, between a cluster without faults and one with every fault.

    With `stranger`, a client outside the cluster sends forged requests as well.
    """
    rng = Random(seed)
    voters = rng.randint(1, _MAX_VOTERS)
    observers = rng.choice((0, 0, 1, 2, _MAX_OBSERVERS))
    severity = rng.choice((0.0, 0.3, 1.0, 1.0, 2.0))
    faults = Faults(
        loss=severity * rng.choice((0.0, 0.01, 0.1)),
        repeat=severity * rng.choice((0.0, 0.01, 0.1)),
        late=severity * rng.choice((0.0, 0.05, 0.3)),
        crash=severity * rng.choice((0.0, 0.001, 0.005)),
        pause_ms=int(rng.choice((300, 1000, 3000)) / severity) if severity else 0,
    )
    nodes = range(1, voters + observers + 1)
    bootstrap = rng.choice((Bootstrap.STATIC, Bootstrap.CHECKPOINT, Bootstrap.STANDALONE))
    # The rules of KIP-856 need a static configuration.
    policies = tuple(Membership) if bootstrap is Bootstrap.STATIC else (Membership.SHIPPED,)
    spread = rng.choice((0, 0, 50, 300))
    return Scenario(
        seed=seed,
        voters=voters,
        observers=observers,
        bootstrap=bootstrap,
        membership=rng.choice(policies),
        faults=faults,
        work_ms=rng.choice((5, 20, 100, 500)),
        changes=rng.choice((0.02, 0.1, 0.5)),
        rates=tuple(TRUE_RATE + rng.randint(-spread, spread) for _ in nodes),
        old=frozenset(node for node in nodes if rng.random() < 0.15),
        stranger_ms=rng.choice((20, 100, 500)) if stranger else 0,
    )
