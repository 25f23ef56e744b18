"""Becoming a leader: pre-vote, then votes in a new epoch (KIP-595, KIP-996).

A voter that hears from no leader first asks the others whether they would vote for it. Only if a
majority would, it starts an epoch and asks for votes. So a voter that was cut off and comes back
does not disrupt a working leader. If a voter does not support the pre-vote, the replica skips it.
"""

from __future__ import annotations

from kraftwire.raft.core.connections import VoteQuery
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.messages import vote_request
from kraftwire.raft.core.roles import Candidate, Follower, Prospective, Resigned
from kraftwire.raft.election.leadership import begin_epoch
from kraftwire.raft.state.bounds import MAX_EPOCH, MAX_OFFSET, MIN_FREE_OFFSETS
from kraftwire.raft.state.voters import ReplicaKey


def start_election(core: Core) -> None:
    """Become prospective, and ask the voters whether they would elect this replica."""
    core.become_prospective()
    if not _advance_if_won(core):
        request_votes(core)


def elect_sole_voter(core: Core) -> None:
    """After a start, let the only voter lead immediately."""
    if len(core.voters) != 1 or not core.is_voter:
        return
    if isinstance(core.role, Candidate):  # it voted for itself before it stopped
        _advance_if_won(core)
        return
    if isinstance(core.role, Resigned):
        begin_next_epoch(core, core.role)
    if not isinstance(core.role, Resigned):
        start_election(core)


def may_leave_leader(core: Core) -> bool:
    """Whether a replica can do anything but ask its leader again, if that does not answer."""
    return core.is_electable or core.has_nodes_to_ask


def leave_leader(core: Core, role: Follower) -> None:
    """Leave a leader that does not answer: a voter starts an election, an observer searches."""
    if core.is_electable:
        start_election(core)
    else:
        core.become_unattached(role.epoch, role.leader_id)


def begin_next_epoch(core: Core, role: Resigned) -> None:
    """Wait for a leader of the next epoch, unless this epoch is the last possible one."""
    if role.epoch < MAX_EPOCH:
        core.become_unattached(role.epoch + 1)
    else:
        core.wait_longer(role)


def request_votes(core: Core) -> None:
    """Ask the voters that have not answered, except those with another request in flight."""
    role = core.role
    assert isinstance(role, Prospective | Candidate), "others ask for no votes"
    if role.tally.is_lost:
        return
    for key in role.tally.silent:
        address = core.address_if_ready(key)
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
    """Count a vote or pre-vote; `Connections` has dropped responses from earlier elections."""
    role = core.role
    if isinstance(role, Prospective | Candidate):
        role.tally.note(voter, granted=granted)
        if not _advance_if_won(core) and isinstance(role, Prospective) and role.tally.is_lost:
            give_up(core)


def note_unsupported(core: Core) -> None:
    """Skip the pre-vote, which a voter does not support."""
    if isinstance(core.role, Prospective):
        _become_candidate(core)


def time_out(core: Core) -> None:
    """End an election that got no result in time: start another, or look for a leader.

    A candidate does not fetch. If a voter does not support the pre-vote, Kafka's candidate starts
    one election after another. If it was removed and does not know it, it never finds a leader
    outside its voter set. This one asks the bootstrap servers between two elections.
    """
    if isinstance(core.role, Candidate):
        if core.has_servers_outside_the_set:
            core.become_prospective()
            give_up(core)
        else:
            start_election(core)
    elif isinstance(core.role, Prospective):
        give_up(core)


def give_up(core: Core) -> None:
    """Give up the candidacy: follow the known leader again, or wait for one."""
    role = core.role
    assert isinstance(role, Prospective), "a candidate asks again"
    if role.leader_id is not None and role.leader_listeners:
        core.become_follower(role.epoch, role.leader_id, role.leader_listeners)
    else:
        core.become_unattached(role.epoch, role.leader_id)


def _advance_if_won(core: Core) -> bool:
    """Become candidate or leader if a majority granted its vote; return whether it did."""
    role = core.role
    assert isinstance(role, Prospective | Candidate), "others have no tally"
    if not role.tally.is_won:
        return False
    if isinstance(role, Candidate):
        begin_epoch(core)
    else:
        _become_candidate(core)
    return True


def _become_candidate(core: Core) -> None:
    """Ask for votes in the next epoch, unless epochs or offsets would run out."""
    if core.epoch >= MAX_EPOCH or core.log.end > MAX_OFFSET - MIN_FREE_OFFSETS:
        give_up(core)
        return
    core.become_candidate()
    if not _advance_if_won(core):
        request_votes(core)
