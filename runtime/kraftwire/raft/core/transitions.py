"""Which role may follow which, in which epoch: the state diagram of KIP-595 and KIP-996.

`TRANSITIONS` is the diagram: a row for each role, with the roles that may follow it and the
condition for each. `Core` asks `check_transition` before every change of role.

    any role    -> Unattached or Follower            in a later epoch
    Unattached  -> Prospective                       hears of no leader in time
    Prospective -> Candidate, in the next epoch      a majority would vote for it
    Candidate   -> Leader                            a majority voted for it
    Candidate   -> Prospective                       lost the election, or got no answer in time
    Follower    -> Prospective                       the leader does not answer
    Leader      -> Resigned                          lost its majority, was removed, or stops
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kraftwire.raft.core.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Role,
    Unattached,
)
from kraftwire.raft.state.voters import Listener


def are_better_listeners(
    listeners: tuple[Listener, ...], known: tuple[Listener, ...], *, is_heard: bool
) -> bool:
    """Whether a replica should replace the listeners that it knows of a leader by these.

    More listeners are better. Different ones are better if the leader has never answered at the
    known ones: a stranger may have announced those.
    """
    return len(listeners) > len(known) or (listeners != known and not is_heard)


class Transition(NamedTuple):
    """A change of role, with the state that decides whether it is allowed."""

    before: Any
    after: Any
    is_electable: bool
    """Whether the replica may become a candidate (`Core.is_electable`)."""
    is_leader_heard: bool
    """Whether the leader of the epoch before has answered a Fetch."""

    @property
    def jump(self) -> int:
        return int(self.after.epoch - self.before.epoch)


def _same_epoch(change: Transition) -> bool:
    return change.jump == 0


def _same_epoch_if_electable(change: Transition) -> bool:
    return change.jump == 0 and change.is_electable


def _same_or_later_epoch(change: Transition) -> bool:
    return change.jump >= 0


def _next_epoch(change: Transition) -> bool:
    return change.jump == 1


def _later_epoch(change: Transition) -> bool:
    return change.jump > 0


def _later_epoch_or_not_electable(change: Transition) -> bool:
    """An observer whose leader does not answer looks for the leader of the same epoch again."""
    return change.jump > 0 or (change.jump == 0 and not change.is_electable)


def _later_epoch_or_better_listeners(change: Transition) -> bool:
    """Within an epoch, a follower changes its leader or the listeners only for a better claim."""
    before, after, is_heard = change.before, change.after, change.is_leader_heard
    if change.jump != 0:
        return change.jump > 0
    if before.leader_id != after.leader_id:
        return not is_heard
    return are_better_listeners(after.leader_listeners, before.leader_listeners, is_heard=is_heard)


def _same_epoch_if_won(change: Transition) -> bool:
    return change.jump == 0 and bool(change.before.tally.is_won)


TRANSITIONS: Mapping[type, Mapping[type, Callable[[Transition], bool]]] = {
    Unattached: {
        Unattached: _later_epoch,
        Prospective: _same_epoch_if_electable,
        Follower: _same_or_later_epoch,
    },
    Prospective: {
        Unattached: _same_or_later_epoch,
        Candidate: _next_epoch,
        Follower: _same_or_later_epoch,
    },
    Candidate: {
        Unattached: _later_epoch,
        Prospective: _same_epoch_if_electable,
        Leader: _same_epoch_if_won,
        Follower: _same_or_later_epoch,
    },
    Follower: {
        Unattached: _later_epoch_or_not_electable,
        Prospective: _same_epoch_if_electable,
        Follower: _later_epoch_or_better_listeners,
    },
    Leader: {Unattached: _later_epoch, Follower: _later_epoch, Resigned: _same_epoch},
    Resigned: {Unattached: _later_epoch, Follower: _later_epoch},
}


def check_transition(change: Transition) -> None:
    """Raise `ValueError` unless `TRANSITIONS` allows a change of role."""
    before: Role = change.before
    condition = TRANSITIONS[type(before)].get(type(change.after))
    if condition is None or not condition(change):
        name = type(change.after).__name__
        raise ValueError(f"{name} of epoch {change.after.epoch} from {before}")
