"""Standing for election: from a leader that is not heard of to one that is elected (KIP-996).

A voter that hears of no leader asks the others whether they would vote for it, and only
if a majority would, for their votes in a new epoch: who was cut off, and comes back, does not
end an epoch that goes well. Where one voter knows no such question, it is left out.
"""

from __future__ import annotations

from typing import NamedTuple

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.messages import vote_request
from kraftwire.raft.core.roles import Candidate, Follower, Prospective, Resigned
from kraftwire.raft.election.leadership import begin_epoch
from kraftwire.raft.state.bounds import LEADER_ROOM, MAX_EPOCH, MAX_OFFSET
from kraftwire.raft.state.voters import ReplicaKey


class AskedVote(NamedTuple):
    """A voter was asked for its vote."""

    voter: ReplicaKey


def stand(core: Core) -> None:
    """Ask whether this voter would be elected."""
    core.become_prospective()
    if not _go_on(core):
        ask(core)


def elect_sole_voter(core: Core) -> None:
    """After a start the only voter leads at once: there is nobody to wait for."""
    if len(core.voters) != 1 or not core.is_voter:
        return
    if isinstance(core.role, Candidate):  # it voted for itself before it stopped
        _go_on(core)
        return
    if isinstance(core.role, Resigned):
        begin_next_epoch(core, core.role)
    if not isinstance(core.role, Resigned):
        stand(core)


def may_leave_leader(core: Core) -> bool:
    """Whether there is something else to do than to ask a leader that does not answer again."""
    return core.may_stand or core.has_nodes_to_ask


def leave_leader(core: Core, role: Follower) -> None:
    """Do without a leader that does not answer: a voter stands, an observer asks who leads."""
    if core.may_stand:
        stand(core)
    else:
        core.become_unattached(role.epoch, role.leader_id)


def begin_next_epoch(core: Core, role: Resigned) -> None:
    """Wait for a leader of the next epoch; in the last one, for nothing."""
    if role.epoch < MAX_EPOCH:
        core.become_unattached(role.epoch + 1)
    else:
        core.wait_longer(role)


def ask(core: Core) -> None:
    """Ask the voters that have not answered and can be asked now."""
    role = core.role
    assert isinstance(role, Prospective | Candidate), "others ask for no votes"
    if role.tally.is_lost:
        return
    for key in role.tally.silent:
        address = core.reach(key)
        if address is not None:
            request = vote_request(
                core.config.cluster_id,
                core.key,
                key,
                core.epoch,
                core.log.up_to_date,
                pre_vote=isinstance(role, Prospective),
            )
            core.send(key.id, address, AskedVote(key), request)


def note_answer(core: Core, asked: AskedVote, *, granted: bool) -> None:
    """Count an answer; it was given to what is asked now, since all others are forgotten."""
    role = core.role
    if isinstance(role, Prospective | Candidate):
        role.tally.note(asked.voter, granted=granted)
        if not _go_on(core) and isinstance(role, Prospective) and role.tally.is_lost:
            give_up(core)


def note_unsupported(core: Core) -> None:
    """A voter knows no pre-vote, so none is asked for."""
    if isinstance(core.role, Prospective):
        _run(core)


def time_out(core: Core) -> None:
    """End a round whose time is over: hold another, or look for a leader.

    A candidate fetches from nobody. If a voter knows no pre-vote, a real one goes from election to
    election. So one that was removed, and does not know it, never finds a leader outside its set.
    """
    if isinstance(core.role, Candidate):
        if core.has_servers_outside_the_set:
            core.become_prospective()
            give_up(core)
        else:
            stand(core)
    elif isinstance(core.role, Prospective):
        give_up(core)


def give_up(core: Core) -> None:
    """Go back to the leader, or wait for one."""
    role = core.role
    assert isinstance(role, Prospective), "a candidate asks again"
    if role.leader_id is not None and role.leader_id != core.key.id and role.leader_listeners:
        core.become_follower(role.epoch, role.leader_id, role.leader_listeners)
    else:
        core.become_unattached(role.epoch, role.leader_id)


def _go_on(core: Core) -> bool:
    """Take the next step where a majority has said yes; whether it has."""
    role = core.role
    assert isinstance(role, Prospective | Candidate), "others have no tally"
    if not role.tally.is_won:
        return False
    if isinstance(role, Candidate):
        begin_epoch(core)
    else:
        _run(core)
    return True


def _run(core: Core) -> None:
    """Ask for votes in the next epoch, if there is one."""
    if core.epoch >= MAX_EPOCH or core.log.end > MAX_OFFSET - LEADER_ROOM:
        give_up(core)
        return
    core.become_candidate()
    if not _go_on(core):
        ask(core)
