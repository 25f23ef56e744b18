"""What a run begins with: how many replicas of which kind, and how bad their world is.

A scenario is drawn from a seed, and with the steps taken in it says all about a run. Times are
in ms, probabilities between 0 and 1, the rates of clocks in thousandths of true time.
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
HOST = "127.0.0.1"
_FIRST_PORT = 9000
_PORTS = 100
TRUE_RATE = 1000
_BACKOFF_MS = 100
"""Longer than usual, or most events would be questions to those who know no leader either."""
_PIECE = 200
"""Snapshots are small here, and should come in pieces."""
_CLEAN_MS = 1000
MOST_VOTERS = 7
MOST_OBSERVERS = 5


class Bootstrap(StrEnum):
    """Where the first voter set comes from."""

    STATIC = "static"
    """The configuration; kraft.version is 0, and no voter comes or goes."""
    CHECKPOINT = "checkpoint"
    """The bootstrap checkpoint of each voter has all of them (KIP-853)."""
    STANDALONE = "standalone"
    """The bootstrap checkpoint of the first has that one; others are added later."""


@dataclass(frozen=True, kw_only=True)
class Faults:
    """How often what goes wrong; none at all unless said."""

    loss: float = 0.0
    repeat: float = 0.0
    """A message comes, and comes again."""
    late: float = 0.0
    """A message comes behind others that were sent after it."""
    crash: float = 0.0
    """A node crashes while it does what an input asks for."""
    pause_ms: int = 0
    """On average between two faults that strike a node, a link or a disk; 0 for none."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """See the module."""

    seed: int
    voters: int
    observers: int = 0
    bootstrap: Bootstrap = Bootstrap.CHECKPOINT
    membership: Membership = Membership.SHIPPED
    """By which rules voters come and go; those of KIP-856 begin with a static configuration."""
    faults: Faults = Faults()
    work_ms: int = 20
    """On average between two things that clients ask for; 0 for none."""
    changes: float = 0.1
    """How much of that is about voters, snapshots and restarts, and not about records."""
    rates: tuple[int, ...] = ()
    """How fast each node's clock runs; true where not said."""
    old: frozenset[int] = frozenset()
    """The nodes of an earlier release: no pre-vote, and Fetch 17."""
    stranger_ms: int = 0
    """On average between two requests of a stranger (see `stranger`); 0 for none."""

    @property
    def nodes(self) -> range:
        """The ids of all nodes; voters come first."""
        return range(1, self.voters + self.observers + 1)

    @property
    def has_checkpoints(self) -> bool:
        """Whether the first voters are told by bootstrap checkpoints."""
        return self.bootstrap is not Bootstrap.STATIC

    @property
    def formatted(self) -> range:
        """The ids of the first voters."""
        return range(1, 2 if self.bootstrap is Bootstrap.STANDALONE else self.voters + 1)

    def rate_of(self, node: int) -> int:
        """How fast a node's clock runs."""
        return self.rates[node - 1] if node <= len(self.rates) else TRUE_RATE

    def first_voters(self) -> VoterSet:
        """The voter set that the cluster begins with."""
        if self.bootstrap is Bootstrap.STATIC:  # a configuration knows no directories
            return VoterSet(Voter(ReplicaKey(node), listeners_of(node)) for node in self.formatted)
        return VoterSet(voter_of(key_of(node)) for node in self.formatted)

    def config_of(self, key: ReplicaKey, moves: int = 0) -> Config:
        """What a node is told; of a new disk it has another key.

        With a new disk nobody is told the voters any more that the quorum began with, once they
        can change: it would take itself for one of them, and elect itself where it was the only
        one. (The ids of KIP-856 stay, and an empty log is not elected by the others.)
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
            fetch_snapshot_max_bytes=_PIECE,
            clean_interval_ms=_CLEAN_MS,
            bootstrap=tuple(address_of(node) for node in self.nodes if node != key.id),
            static_voters=self.first_voters() if has_static else NO_VOTERS,
            membership=self.membership,
        )


def key_of(node: int, disk: int = 0) -> ReplicaKey:
    """A node with its first disk, or a later one."""
    return ReplicaKey(node, UUID(int=(disk << 32) + node))


def listeners_of(node: int, moves: int = 0) -> tuple[Listener, ...]:
    """Where a node listens that has moved so often."""
    return (Listener(LISTENER, *address_of(node, moves)),)


def address_of(node: int, moves: int = 0) -> Address:
    """The address of a node that has moved so often."""
    return Address(HOST, _FIRST_PORT + _PORTS * moves + node)


def node_at(address: Address) -> tuple[int, int]:
    """The node that has an address when it has moved so often."""
    moves, node = divmod(address.port - _FIRST_PORT, _PORTS)
    return node, moves


def voter_of(key: ReplicaKey) -> Voter:
    """A node as voter sets have it."""
    return Voter(key, listeners_of(key.id), 0, 1)


def draw_scenario(seed: int, *, stranger: bool = False) -> Scenario:
    """Return the scenario of a seed: from a quiet cluster to one where everything fails.

    With `stranger`, somebody sends requests of any kind to it as well.
    """
    chance = Random(seed)
    voters = chance.randint(1, MOST_VOTERS)
    observers = chance.choice((0, 0, 1, 2, MOST_OBSERVERS))
    weather = chance.choice((0.0, 0.3, 1.0, 1.0, 2.0))
    faults = Faults(
        loss=weather * chance.choice((0.0, 0.01, 0.1)),
        repeat=weather * chance.choice((0.0, 0.01, 0.1)),
        late=weather * chance.choice((0.0, 0.05, 0.3)),
        crash=weather * chance.choice((0.0, 0.001, 0.005)),
        pause_ms=int(chance.choice((300, 1000, 3000)) / weather) if weather else 0,
    )
    nodes = range(1, voters + observers + 1)
    bootstrap = chance.choice((Bootstrap.STATIC, Bootstrap.CHECKPOINT, Bootstrap.STANDALONE))
    # The rules of KIP-856 begin with a static configuration.
    policies = tuple(Membership) if bootstrap is Bootstrap.STATIC else (Membership.SHIPPED,)
    spread = chance.choice((0, 0, 50, 300))
    return Scenario(
        seed=seed,
        voters=voters,
        observers=observers,
        bootstrap=bootstrap,
        membership=chance.choice(policies),
        faults=faults,
        work_ms=chance.choice((5, 20, 100, 500)),
        changes=chance.choice((0.02, 0.1, 0.5)),
        rates=tuple(TRUE_RATE + chance.randint(-spread, spread) for _ in nodes),
        old=frozenset(node for node in nodes if chance.random() < 0.15),
        stranger_ms=chance.choice((20, 100, 500)) if stranger else 0,
    )
