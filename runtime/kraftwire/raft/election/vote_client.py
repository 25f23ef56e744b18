"""Becoming a leader: pre-vote, then votes in a new epoch (KIP-595, KIP-996).

A voter that hears from no leader first asks the others whether they would vote for it. Only if a
majority would, it starts an epoch and asks for votes. So a voter that was cut off and comes back
does not end an epoch that goes well. If one voter does not support the pre-vote, it is skipped.
"""

from __future__ import annotations

from kraftwire.raft.core.connections import VoteQuery
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.messages import vote_request
from kraftwire.raft.core.roles import Candidate, Follower, Prospective, Resigned
from kraftwire.raft.election.leadership import begin_epoch
from kraftwire.raft.state.bounds import LEADER_ROOM, MAX_EPOCH, MAX_OFFSET
from kraftwire.raft.state.voters import ReplicaKey


def stand(core: Core) -> None:
    """Become prospective, and ask whether this voter would be elected."""
    core.become_prospective()
    if not _go_on(core):
        request_votes(core)


def elect_sole_voter(core: Core) -> None:
    """After a start, let the only voter lead immediately: it waits for nobody."""
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
    """Whether a replica whose leader does not answer can do more than ask that leader again."""
    return core.may_stand or core.has_nodes_to_ask


def leave_leader(core: Core, role: Follower) -> None:
    """Leave a leader that does not answer: a voter starts an election, an observer searches."""
    if core.may_stand:
        stand(core)
    else:
        core.become_unattached(role.epoch, role.leader_id)


def begin_next_epoch(core: Core, role: Resigned) -> None:
    """Wait for a leader of the next epoch, if there can be one."""
    if role.epoch < MAX_EPOCH:
        core.become_unattached(role.epoch + 1)
    else:
        core.wait_longer(role)


def request_votes(core: Core) -> None:
    """Ask the voters that have not answered and that no other request is in flight to."""
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
            core.send(key.id, address, request, VoteQuery(key))


def note_vote(core: Core, voter: ReplicaKey, *, granted: bool) -> None:
    """Count a vote or pre-vote; `Connections` drops responses to earlier questions."""
    role = core.role
    if isinstance(role, Prospective | Candidate):
        role.tally.note(voter, granted=granted)
        if not _go_on(core) and isinstance(role, Prospective) and role.tally.is_lost:
            give_up(core)


def note_unsupported(core: Core) -> None:
    """Skip the pre-vote, which a voter does not support."""
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
    """Return to the leader, or wait for one."""
    role = core.role
    assert isinstance(role, Prospective), "a candidate asks again"
    if role.leader_id is not None and role.leader_listeners:
        core.become_follower(role.epoch, role.leader_id, role.leader_listeners)
    else:
        core.become_unattached(role.epoch, role.leader_id)


def _go_on(core: Core) -> bool:
    """Take the next step if a majority granted its vote; return whether it did."""
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
    """Ask for votes in the next epoch, if there can be one."""
    if core.epoch >= MAX_EPOCH or core.log.end > MAX_OFFSET - LEADER_ROOM:
        give_up(core)
        return
    core.become_candidate()
    if not _go_on(core):
        request_votes(core)
