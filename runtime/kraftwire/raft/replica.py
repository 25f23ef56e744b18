"""A replica: one input at a time, and what it wants done about it.

Behind every input the timers are looked at, and whoever can be asked now is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from kraftwire.raft.candidacy import (
    AskedVote,
    ask,
    note_answer,
    note_unsupported,
    stand,
    time_out,
)
from kraftwire.raft.config import Config
from kraftwire.raft.core import Core
from kraftwire.raft.effects import Effect, Settled
from kraftwire.raft.elections import (
    handle_begin_quorum_epoch,
    handle_end_quorum_epoch,
    handle_vote,
)
from kraftwire.raft.fetch_server import answer_parked, handle_fetch, refuse_parked
from kraftwire.raft.following import fetch, take_response
from kraftwire.raft.inputs import Flushed, Input, Propose, Request, RequestFailed, Response
from kraftwire.raft.leading import (
    AskedEnd,
    note_flushed,
    propose,
    resign,
    tell_successors,
    tell_voters,
)
from kraftwire.raft.responses import Outcome, read_response
from kraftwire.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from kraftwire.raft.store import Recovered
from kraftwire_messages.kafka import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    VoteRequest,
)

_HANDLERS: dict[type, Callable[[Core, Request, Any], None]] = {
    VoteRequest: handle_vote,
    BeginQuorumEpochRequest: handle_begin_quorum_epoch,
    EndQuorumEpochRequest: handle_end_quorum_epoch,
    FetchRequest: handle_fetch,
}


class Replica:
    """A pure state machine: no clock, file or socket; randomness is injected."""

    def __init__(self, config: Config, recovered: Recovered, chance: Random, now: int) -> None:
        """`recovered` is what its store has; it is the replica's own from here on."""
        self.core = Core(config, recovered, chance, now)

    def start(self) -> list[Effect]:
        """What is to be done first."""
        self._poll()
        return self._taken()

    def step(self, now: int, what: Input) -> list[Effect]:
        """Take in what has happened at a time in ms, which never goes back."""
        core = self.core
        core.now = max(core.now, now)
        before = core.role
        if isinstance(what, Request):
            _HANDLERS[type(what.message)](core, what, what.message)
        elif isinstance(what, Response):
            self._respond(what)
        elif isinstance(what, RequestFailed):
            asked = core.connections.finish(what.number, core.now, failed=True)
            if what.is_unsupported and isinstance(asked, AskedVote):
                note_unsupported(core)
        elif isinstance(what, Flushed):
            note_flushed(core, what.end)
        elif isinstance(what, Propose):
            propose(core, what.token, what.values)
        self._poll()
        if isinstance(before, Leader) and core.role is not before:
            self._leave(before)
        return self._taken()

    def next_deadline(self) -> int | None:
        """When it wants a `Tick`, unless something else happens before; None for never."""
        core, role = self.core, self.core.role
        times = [core.connections.next_deadline(core.now)]
        if isinstance(role, Leader):
            times += [role.check_quorum_deadline, role.begin_quorum_deadline]
            times += [one.deadline for one in role.parked]
        elif isinstance(role, Follower):
            times.append(role.fetch_deadline if core.is_voter else None)
        else:
            times.append(role.election_deadline)
        return min((time for time in times if time is not None), default=None)

    def _leave(self, leader: Leader) -> None:
        """Answer those who have waited for this replica while it led."""
        refuse_parked(self.core, leader.parked)
        self.core.effects += [Settled(token, None) for token, _ in leader.proposed]

    def _taken(self) -> list[Effect]:
        effects, self.core.effects = self.core.effects, []
        return effects

    def _respond(self, what: Response) -> None:
        core = self.core
        node = core.connections.node_of(what.number)
        asked = core.connections.finish(what.number, core.now)
        if asked is None or node is None:
            return
        if isinstance(what.message, FetchResponse):
            if take_response(core, what.message) is Outcome.FAILED:
                core.connections.pause(node, core.now)
            return
        outcome, partition = read_response(core, what.message)
        if outcome is Outcome.FAILED:
            core.connections.pause(node, core.now)
        elif outcome is Outcome.GOOD and isinstance(asked, AskedVote):
            note_answer(core, asked, granted=partition.vote_granted)
        elif isinstance(asked, AskedEnd) and isinstance(core.role, Resigned):
            core.role.untold.discard(asked.voter)

    def _poll(self) -> None:
        """Look at the timers until no state changes any more."""
        core = self.core
        core.connections.expire(core.now)
        before = None
        while core.role is not before:
            before = core.role
            self._look(before)
        while core.has_news:
            core.has_news = False
            answer_parked(core)

    def _look(self, role: Any) -> None:
        core = self.core
        match role:
            case Unattached(election_deadline=deadline):
                if core.is_voter and deadline is not None and core.now >= deadline:
                    stand(core)
                else:
                    fetch(core)
            case Prospective() | Candidate():
                if core.now >= role.election_deadline:
                    time_out(core)
                else:
                    ask(core)
            case Follower():
                if core.is_voter and core.now >= role.fetch_deadline:
                    stand(core)
                else:
                    fetch(core)
            case Leader():
                deadline = role.check_quorum_deadline
                if deadline is not None and core.now >= deadline:
                    resign(core, role)
                    return
                if core.now >= role.begin_quorum_deadline:
                    tell_voters(core, role)
                answer_parked(core, due=True)
            case Resigned():
                if core.now >= role.election_deadline:
                    core.become_unattached(role.epoch + 1)
                else:
                    tell_successors(core, role)
