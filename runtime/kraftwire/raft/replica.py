"""A replica: `step` passes an input to its handler and returns the effects.

After every input the replica checks its deadlines, and sends the requests that it can send now.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from kraftwire.raft.core import snapshots
from kraftwire.raft.core.connections import (
    InFlight,
    ResignationNotice,
    SnapshotQuery,
    VersionsQuery,
    VoteQuery,
)
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import Disconnect, Effect, ProposalOutcome, StoppedLeading
from kraftwire.raft.core.inputs import (
    AddressedResponse,
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
from kraftwire.raft.election import leadership, resignation, vote_client, vote_server
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.store import Recovered
from kraftwire.raft.replication import fetch_client, fetch_server, snapshot_client, snapshot_server
from kraftwire.raft.replication.leader_updates import Outcome, read_response
from kraftwire.raft.self_description.api_versions import handle_api_versions
from kraftwire.raft.self_description.describe_cluster import handle_describe_cluster
from kraftwire.raft.self_description.describe_quorum import handle_describe_quorum
from kraftwire.raft.state.config import Config
from kraftwire.raft.voter_set import change_server, update_client, update_server
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
    VoteRequest: vote_server.handle_vote,
    BeginQuorumEpochRequest: vote_server.handle_begin_quorum_epoch,
    EndQuorumEpochRequest: vote_server.handle_end_quorum_epoch,
    FetchRequest: fetch_server.handle_fetch,
    FetchSnapshotRequest: snapshot_server.handle_fetch_snapshot,
    AddRaftVoterRequest: change_server.handle_add_voter,
    RemoveRaftVoterRequest: change_server.handle_remove_voter,
    UpdateRaftVoterRequest: update_server.handle_update_voter,
    DescribeClusterRequest: handle_describe_cluster,
    DescribeQuorumRequest: handle_describe_quorum,
    ApiVersionsRequest: handle_api_versions,
}


class Replica:
    """A pure state machine: no clock, file or socket; the caller injects randomness."""

    def __init__(self, config: Config, recovered: Recovered, rng: Random, now: int) -> None:
        """The replica owns `recovered`, the state of its store, from here on."""
        self.core = Core(config, recovered, rng, now)

    def start(self) -> list[Effect]:
        vote_client.elect_sole_voter(self.core)
        self._poll()
        return self._pop_effects()

    def step(self, now: int, event: Input) -> list[Effect]:
        """Handle an input at a time in ms, and return its effects. Time never goes back."""
        core = self.core
        if core.has_stopped:
            return []
        core.now = max(core.now, now)
        core.source = None
        before = core.role
        match event:
            case Request():
                self._handle_request(event)
            case Response():
                self._handle_response(event)
            case RequestFailed():
                self._handle_failure(event)
            case RequestLost():
                fetch_server.forget_waiting(core, event.token)
            case Flushed():
                leadership.note_flushed(core, event.end)
            case Propose():
                leadership.propose(core, event.token, event.values)
            case SnapshotTaken():
                snapshots.note_taken(core, event.snapshot, event.size)
            case UpgradeKRaftVersion():
                update_server.upgrade_kraft_version(core, event)
            case Resign():
                resignation.give_up_leadership(core, event)
            case ShutDown():
                resignation.shut_down(core)
        self._release(before)
        self._poll()
        resignation.stop(core)
        return self._pop_effects()

    def snapshot_id(self, end: int) -> OffsetAndEpoch | None:
        """Return the id of a snapshot that ends at an offset; None if none can end there."""
        return snapshots.snapshot_id(self.core, end)

    def next_deadline(self) -> int | None:
        """Return when the replica needs a `Tick` if nothing happens before; None for never."""
        core, role = self.core, self.core.role
        times: list[int | None] = [
            core.stop_deadline,
            core.clean_deadline,
            *core.connections.deadlines(core.now),
        ]
        if isinstance(role, Leader):
            times += [role.check_quorum_deadline, role.begin_quorum_deadline]
            times.append(role.purgatory.next_deadline())
            if role.pending is not None:
                times.append(role.pending.deadline)
            times += [change.deadline for change in role.waiting]
        elif isinstance(role, Follower):
            may_leave = vote_client.may_leave_leader(core)
            times.append(role.fetch_deadline if may_leave else None)
            times.append(update_client.next_deadline(core, role))
        elif core.stop_deadline is None and (core.is_electable or isinstance(role, Resigned)):
            times.append(role.election_deadline)
        return min([time for time in times if time is not None], default=None)

    def _pop_effects(self) -> list[Effect]:
        effects, self.core.effects = self.core.effects, []
        return effects

    def _release(self, before: Role) -> None:
        """If this replica has stopped leading, answer all requests and proposals that wait."""
        core = self.core
        if isinstance(before, Leader) and core.role is not before:
            fetch_server.refuse_waiting(core, before)
            change_server.refuse_changes(core, before)
            core.effects += [ProposalOutcome(token, None) for token, _ in before.proposals]
            if before.is_open:
                core.effects.append(StoppedLeading(before.epoch))

    def _handle_request(self, request: Request) -> None:
        self.core.source = request
        handler = _HANDLERS.get(type(request.message))
        if handler is None:
            self.core.effects.append(Disconnect(request.token))
        else:
            handler(self.core, request, request.message)

    def _handle_failure(self, failure: RequestFailed) -> None:
        sent = self.core.connections.finish(failure.number, self.core.now, failed=True)
        query = None if sent is None else sent.query
        if isinstance(query, VoteQuery) and failure.is_unsupported:
            vote_client.note_unsupported(self.core)
        elif isinstance(query, VersionsQuery):
            change_server.handle_versions(self.core, query, None)
        elif isinstance(query, SnapshotQuery):
            snapshot_client.note_unanswered(self.core)

    def _handle_response(self, response: Response) -> None:
        core = self.core
        sent = core.connections.finish(response.number, core.now)
        if sent is not None:
            core.source = AddressedResponse(sent.address, response.message)
            if self._dispatch_response(sent, response.message) is Outcome.FAILED:
                core.connections.pause(sent.node, core.now)

    def _dispatch_response(self, sent: InFlight, message: Message) -> Outcome:
        core, query = self.core, sent.query
        match message:
            case FetchResponse():
                return fetch_client.handle_fetch_response(core, message)
            case FetchSnapshotResponse():
                return snapshot_client.handle_fetch_snapshot_response(core, message)
            case ApiVersionsResponse() if isinstance(query, VersionsQuery):
                return change_server.handle_versions(core, query, message)
            case UpdateRaftVoterResponse():
                return update_client.handle_update_response(core, message)
            case AddRaftVoterResponse() | RemoveRaftVoterResponse():
                return update_client.handle_join_response(core, message)
        outcome, partition = read_response(core, message)
        if outcome is Outcome.GOOD and isinstance(query, VoteQuery):
            vote_client.note_vote(core, query.voter, granted=partition.vote_granted)
        elif isinstance(query, ResignationNotice) and isinstance(core.role, Resigned):
            core.role.unacknowledged.discard(query.voter)
        return outcome

    def _poll(self) -> None:
        """Act on deadlines until the role stays the same and no waiting Fetch can be answered."""
        core = self.core
        if any(isinstance(sent.query, SnapshotQuery) for sent in core.connections.expire(core.now)):
            snapshot_client.note_unanswered(core)
        snapshots.clean(core)
        before = None
        while core.role is not before or core.has_news:
            if resignation.may_stop(core):
                return
            before = core.role
            self._act(before)
            self._release(before)
            self._answer_news()

    def _answer_news(self) -> None:
        """Answer the Fetches that wait for a longer log, or for a higher high watermark."""
        while self.core.has_news:
            self.core.has_news = False
            fetch_server.answer_waiting(self.core)

    def _act(self, role: Role) -> None:
        core = self.core
        match role:
            case Unattached():
                self._act_unattached(role)
            case Prospective() | Candidate():
                if core.now >= role.election_deadline and core.stop_deadline is None:
                    vote_client.time_out(core)
                else:
                    vote_client.request_votes(core)
            case Follower():
                if core.now >= role.fetch_deadline and vote_client.may_leave_leader(core):
                    vote_client.leave_leader(core, role)
                elif not update_client.send_update(core, role):
                    fetch_client.fetch(core)
            case Leader():
                self._act_leader(role)
            case Resigned():
                if core.now >= role.election_deadline and core.stop_deadline is None:
                    vote_client.begin_next_epoch(core, role)
                else:
                    leadership.announce_resignation(core, role)

    def _act_unattached(self, role: Unattached) -> None:
        core, deadline = self.core, role.election_deadline
        if core.stop_deadline is not None:
            return
        if deadline is not None and core.now >= deadline and core.is_electable:
            vote_client.start_election(core)
        else:
            fetch_client.fetch(core)

    def _act_leader(self, leader: Leader) -> None:
        core = self.core
        self._answer_news()
        change_server.settle_change(core, leader)
        leadership.name_voters(core, leader)
        deadline = leader.check_quorum_deadline
        is_alone = deadline is not None and core.now >= deadline
        if is_alone or leadership.is_removed(core, leader) or core.stop_deadline is not None:
            leadership.resign(core, leader)
            return
        if core.now >= leader.begin_quorum_deadline:
            leadership.announce_leader(core, leader)
        fetch_server.answer_waiting(core, due=True)
