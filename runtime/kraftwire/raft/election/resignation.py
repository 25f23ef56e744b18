"""Giving up: a leader resigns, and a replica that shuts down waits until nobody needs it.

A leader that shuts down resigns, and goes on telling the voters who may be next. So long as
no other leader is known, a voter still answers and votes, since without it there may be no
majority; it does not stand itself. There is no time in which it leads and refuses what leaders
are asked, as a real one does with BROKER_NOT_AVAILABLE: it resigns at once.
"""

from __future__ import annotations

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import Stopped
from kraftwire.raft.core.inputs import Resign
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.election.leadership import resign


def give_up_leadership(core: Core, what: Resign) -> None:
    """Resign, unless this is about an epoch that it does not lead."""
    if isinstance(core.role, Leader) and what.epoch in (None, core.epoch):
        resign(core, core.role)


def shut_down(core: Core) -> None:
    """Begin to stop; asked again, nothing changes."""
    if core.stop_deadline is None:
        core.stop_deadline = core.now + core.config.shutdown_ms


def may_stop(core: Core) -> bool:
    """Whether this replica shuts down, and nobody needs it or it was given no more time."""
    deadline = core.stop_deadline
    if deadline is None or isinstance(core.role, Leader):
        return False
    return not _is_needed(core) or core.now >= deadline


def stop(core: Core) -> None:
    """Tell that this replica has stopped, once it may."""
    if may_stop(core):
        core.has_stopped = True
        core.effects.append(Stopped(is_clean=not _is_needed(core)))


def _is_needed(core: Core) -> bool:
    """Whether the voters may be without a leader, and without a majority if this one stops."""
    follows = core.leader_id not in (None, core.key.id)
    return core.is_voter and len(core.voters) > 1 and not follows
