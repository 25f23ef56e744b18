"""A replica: one input at a time, and what it wants done about it.

Behind every input the timers are looked at, and whoever can be asked now is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import Disconnect, Effect, Settled, StoppedLeading
from kraftwire.raft.core.inputs import (
    Answer,
    Flushed,
    Input,
    Propose,
    Request,
    RequestFailed,
    RequestLost,
    Resign,
    Response,
    ShutDown,
    SnapshotTaken,
    UpgradeKRaftVersion,
)
from kraftwire.raft.core.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Role,
    Unattached,
)
from kraftwire.raft.core.snapshots import clean, note_taken, snapshot_id
from kraftwire.raft.election.leadership import (
    AskedEnd,
    is_removed,
    name_voters,
    note_flushed,
    propose,
    resign,
    tell_successors,
    tell_voters,
)
from kraftwire.raft.election.resignation import give_up_leadership, may_stop, shut_down, stop
from kraftwire.raft.election.vote_client import (
    AskedVote,
    ask,
    begin_next_epoch,
    elect_sole_voter,
    leave_leader,
    may_leave_leader,
    note_answer,
    note_unsupported,
    stand,
    time_out,
)
from kraftwire.raft.election.vote_server import (
    handle_begin_quorum_epoch,
    handle_end_quorum_epoch,
    handle_vote,
)
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.store import Recovered
from kraftwire.raft.replication.fetch_client import fetch, take_response
from kraftwire.raft.replication.fetch_server import (
    answer_parked,
    forget_parked,
    handle_fetch,
    refuse_parked,
)
from kraftwire.raft.replication.responses import Outcome, read_response
from kraftwire.raft.replication.snapshot_client import AskedSnapshot, note_unanswered, take_piece
from kraftwire.raft.replication.snapshot_server import handle_fetch_snapshot
from kraftwire.raft.self_description.api_versions import handle_api_versions
from kraftwire.raft.self_description.describe_cluster import handle_describe_cluster
from kraftwire.raft.self_description.describe_quorum import handle_describe_quorum
from kraftwire.raft.state.config import Config
from kraftwire.raft.voter_set.change_server import (
    handle_add_voter,
    handle_remove_voter,
    refuse_change,
    settle_change,
    take_versions,
)
from kraftwire.raft.voter_set.readiness import AskedVersions
from kraftwire.raft.voter_set.update_client import next_deadline as next_update
from kraftwire.raft.voter_set.update_client import take_join, take_update, tell_leader
from kraftwire.raft.voter_set.update_server import handle_update_voter, upgrade_kraft_version
from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    DescribeClusterRequest,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    VoteRequest,
)
from kraftwire_wire.message import Message

_HANDLERS: dict[type, Callable[[Core, Request, Any], None]] = {
    VoteRequest: handle_vote,
    BeginQuorumEpochRequest: handle_begin_quorum_epoch,
    EndQuorumEpochRequest: handle_end_quorum_epoch,
    FetchRequest: handle_fetch,
    FetchSnapshotRequest: handle_fetch_snapshot,
    AddRaftVoterRequest: handle_add_voter,
    RemoveRaftVoterRequest: handle_remove_voter,
    UpdateRaftVoterRequest: handle_update_voter,
    DescribeClusterRequest: handle_describe_cluster,
    DescribeQuorumRequest: handle_describe_quorum,
    ApiVersionsRequest: handle_api_versions,
}


class Replica:
    """A pure state machine: no clock, file or socket; randomness is injected."""

    def __init__(self, config: Config, recovered: Recovered, chance: Random, now: int) -> None:
        """`recovered` is what its store has; it is the replica's own from here on."""
        self.core = Core(config, recovered, chance, now)

    def start(self) -> list[Effect]:
        """What is to be done first."""
        elect_sole_voter(self.core)
        self._poll()
        return self._taken()

    def step(self, now: int, what: Input) -> list[Effect]:
        """Take in what has happened at a time in ms, which never goes back."""
        core = self.core
        if core.has_stopped:
            return []
        core.now = max(core.now, now)
        core.source = None
        before = core.role
        match what:
            case Request():
                self._answer(what)
            case Response():
                self._respond(what)
            case RequestFailed():
                self._fail(what)
            case RequestLost():
                forget_parked(core, what.token)
            case Flushed():
                note_flushed(core, what.end)
            case Propose():
                propose(core, what.token, what.values)
            case SnapshotTaken():
                note_taken(core, what.snapshot, what.size)
            case UpgradeKRaftVersion():
                upgrade_kraft_version(core, what)
            case Resign():
                give_up_leadership(core, what)
            case ShutDown():
                shut_down(core)
        self._leave(before)
        self._poll()
        stop(core)
        return self._taken()

    def snapshot_id(self, end: int) -> OffsetAndEpoch | None:
        """The id of a snapshot of all before an offset; None where there may be none."""
        return snapshot_id(self.core, end)

    def next_deadline(self) -> int | None:
        """When it wants a `Tick`, unless something else happens before; None for never."""
        core, role = self.core, self.core.role
        times: list[int | None] = [
            core.stop_deadline,
            core.clean_deadline,
            *core.connections.deadlines(core.now),
        ]
        if isinstance(role, Leader):
            times += [role.check_quorum_deadline, role.begin_quorum_deadline]
            times.append(role.parked.next_deadline())
            if role.pending is not None:
                times.append(role.pending.deadline)
            times += [one.deadline for one in role.waiting]
        elif isinstance(role, Follower):
            may_leave = core.may_stand or may_leave_leader(core)  # most are voters
            times.append(role.fetch_deadline if may_leave else None)
            times.append(next_update(core, role))
        elif core.stop_deadline is None and (core.may_stand or isinstance(role, Resigned)):
            times.append(role.election_deadline)
        return min([time for time in times if time is not None], default=None)

    def _leave(self, before: Role) -> None:
        """Where this replica has led, and does not any more, answer those who have waited."""
        core = self.core
        if isinstance(before, Leader) and core.role is not before:
            refuse_parked(core, before)
            refuse_change(core, before)
            core.effects += [Settled(token, None) for token, _ in before.proposed]
            if before.is_open:
                core.effects.append(StoppedLeading(before.epoch))

    def _taken(self) -> list[Effect]:
        effects, self.core.effects = self.core.effects, []
        return effects

    def _answer(self, request: Request) -> None:
        self.core.source = request
        handler = _HANDLERS.get(type(request.message))
        if handler is None:
            self.core.effects.append(Disconnect(request.token))
        else:
            handler(self.core, request, request.message)

    def _fail(self, what: RequestFailed) -> None:
        asked = self.core.connections.finish(what.number, self.core.now, failed=True)
        if isinstance(asked, AskedVote) and what.is_unsupported:
            note_unsupported(self.core)
        elif isinstance(asked, AskedVersions):
            take_versions(self.core, asked, None)
        elif isinstance(asked, AskedSnapshot):
            note_unanswered(self.core)

    def _respond(self, what: Response) -> None:
        core = self.core
        sent = core.connections.in_flight(what.number)
        asked = core.connections.finish(what.number, core.now)
        if sent is None or asked is None:
            return
        core.source = Answer(sent.address, what.message)
        if self._take(asked, what.message) is Outcome.FAILED:
            core.connections.pause(sent.node, core.now)

    def _take(self, asked: object, message: Message) -> Outcome:
        """Take in a response; what becomes of it."""
        core = self.core
        match message:
            case FetchResponse():
                return take_response(core, message)
            case FetchSnapshotResponse():
                return take_piece(core, message)
            case ApiVersionsResponse() if isinstance(asked, AskedVersions):
                return take_versions(core, asked, message)
            case UpdateRaftVoterResponse():
                return take_update(core, message)
            case AddRaftVoterResponse() | RemoveRaftVoterResponse():
                return take_join(core, message)
        outcome, partition = read_response(core, message)
        if outcome is Outcome.GOOD and isinstance(asked, AskedVote):
            note_answer(core, asked, granted=partition.vote_granted)
        elif isinstance(asked, AskedEnd) and isinstance(core.role, Resigned):
            core.role.untold.discard(asked.voter)
        return outcome

    def _poll(self) -> None:
        """Look at the timers until no state changes any more, and nothing is left to be told."""
        core = self.core
        if any(isinstance(one, AskedSnapshot) for one in core.connections.expire(core.now)):
            note_unanswered(core)
        clean(core)
        before = None
        while core.role is not before or core.has_news:
            if may_stop(core):
                return
            before = core.role
            self._look(before)
            self._leave(before)
            self._tell_news()

    def _tell_news(self) -> None:
        """Answer what waits for a longer log, or for a higher high watermark."""
        while self.core.has_news:
            self.core.has_news = False
            answer_parked(self.core)

    def _look(self, role: Role) -> None:
        core = self.core
        match role:
            case Unattached():
                self._look_unattached(role)
            case Prospective() | Candidate():
                if core.now >= role.election_deadline and core.stop_deadline is None:
                    time_out(core)
                else:
                    ask(core)
            case Follower():
                if core.now >= role.fetch_deadline and may_leave_leader(core):
                    leave_leader(core, role)
                elif not tell_leader(core, role):
                    fetch(core)
            case Leader():
                self._look_leader(role)
            case Resigned():
                if core.now >= role.election_deadline and core.stop_deadline is None:
                    begin_next_epoch(core, role)
                else:
                    tell_successors(core, role)

    def _look_unattached(self, role: Unattached) -> None:
        core = self.core
        deadline = role.election_deadline
        if core.stop_deadline is not None:
            return
        if deadline is not None and core.now >= deadline and core.may_stand:
            stand(core)
        else:
            fetch(core)

    def _look_leader(self, leader: Leader) -> None:
        core = self.core
        self._tell_news()
        settle_change(core, leader)
        name_voters(core, leader)
        deadline = leader.check_quorum_deadline
        is_alone = deadline is not None and core.now >= deadline
        if is_alone or is_removed(core, leader) or core.stop_deadline is not None:
            resign(core, leader)
            return
        if core.now >= leader.begin_quorum_deadline:
            tell_voters(core, leader)
        answer_parked(core, due=True)
