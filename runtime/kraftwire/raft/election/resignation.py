"""How a leader steps down, and how a replica shuts down.

A leader that shuts down resigns, and keeps announcing its preferred successors. A voter that shuts
down still answers and votes until it knows another leader, since the others may have no majority
without it, but it starts no election. Kafka's leader first answers BROKER_NOT_AVAILABLE for a
while; this one resigns immediately.
"""

from __future__ import annotations

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import Stopped
from kraftwire.raft.core.inputs import Resign
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.election.leadership import resign


def give_up_leadership(core: Core, event: Resign) -> None:
    """Resign, unless the input is about another epoch."""
    if isinstance(core.role, Leader) and event.epoch in (None, core.epoch):
        resign(core, core.role)


def shut_down(core: Core) -> None:
    """Begin to shut down; a second call changes nothing."""
    if core.stop_deadline is None:
        core.stop_deadline = core.now + core.config.shutdown_ms


def may_stop(core: Core) -> bool:
    """Whether this replica shuts down, and is not needed or has reached its deadline."""
    deadline = core.stop_deadline
    if deadline is None or isinstance(core.role, Leader):
        return False
    return not _is_needed(core) or core.now >= deadline


def stop(core: Core) -> None:
    """Stop the replica if it may stop."""
    if may_stop(core):
        core.has_stopped = True
        core.effects.append(Stopped(is_clean=not _is_needed(core)))


def _is_needed(core: Core) -> bool:
    """Whether this is a voter without a leader, whose vote the others may need."""
    follows = core.leader_id not in (None, core.key.id)
    return core.is_voter and len(core.voters) > 1 and not follows
