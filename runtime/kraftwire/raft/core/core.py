"""The state of a replica that all handlers share, and the changes that they make to it.

A change of role drops the requests in flight. `SaveElection` is its first effect, so the change is
durable before any message depends on it. A method raises `ValueError` if a change would contradict
what the replica knows (`transitions`); handlers check first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random

from kraftwire.address import Address
from kraftwire.log.batches.batch import Batch
from kraftwire.raft.core.connections import Connections, Query
from kraftwire.raft.core.effects import (
    Append,
    Committed,
    Effect,
    Flush,
    InstallSnapshot,
    SaveElection,
    Send,
    Truncate,
)
from kraftwire.raft.core.inputs import AddressedResponse, Request
from kraftwire.raft.core.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Role,
    Unattached,
    deadline_to_keep,
)
from kraftwire.raft.core.transitions import Transition, check_transition
from kraftwire.raft.membership import policy_of
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.store import Recovered
from kraftwire.raft.state.bounds import EpochAllowance
from kraftwire.raft.state.config import Config
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.tally import Tally
from kraftwire.raft.state.voters import Listener, ReplicaKey, Voter, VoterSet
from kraftwire_wire.message import Message


class Core:
    """The state of a replica; times are in ms."""

    def __init__(self, config: Config, recovered: Recovered, rng: Random, now: int) -> None:
        """Start from the recovered state and persist it again.

        Raises `KraftwireError` if the membership policy forbids a start with this log.
        """
        self.policy = policy_of(config)
        self.policy.check_start(recovered.control)
        self.config = config
        self.log = recovered.log
        self.control = recovered.control
        self.rng = rng
        self.now = now
        self.effects: list[Effect] = []
        latest = self.log.latest_snapshot
        self.committed = 0 if latest is None else latest.offset
        """The offset up to which records are known to be committed; it never falls."""
        self.clean_deadline: int | None = None
        """When surplus snapshots are removed; None if there are none."""
        self.has_news = False
        """Whether waiting Fetches can be answered: with new records or a new high watermark."""
        self._checked_voters: VoterSet | None = None
        self._is_voter = False
        self.stop_deadline: int | None = None
        """When this replica stops even if it is needed; None before `ShutDown`."""
        self.has_stopped = False
        self.refused: str | None = None
        """Why this replica last refused batches of a leader; None if it never did."""
        self.connections = Connections(
            request_timeout_ms=config.request_timeout_ms, retry_backoff_ms=config.retry_backoff_ms
        )
        self._turns: Counter[int] = Counter()
        """How many requests went to each node that has several voters of its id (KIP-856)."""
        self.allowance = EpochAllowance(config.election_timeout_ms, now)
        self.source: Request | AddressedResponse | None = None
        """The request or response that is being handled."""
        self.refused_claims = 0
        """How many impossible epochs and offsets this replica has refused."""
        self.heard_epoch: int | None = None
        """The last epoch whose leader has answered a Fetch at the known listeners."""
        self.role: Role = self._first_role(recovered.election or Election(0))
        self.trusted_epoch = self.role.epoch
        """The highest epoch that a known node or the recovered state has named (`bounds`)."""
        self._save()

    # -- state ---------------------------------------------------------------------------------

    @property
    def key(self) -> ReplicaKey:
        return self.config.key

    @property
    def epoch(self) -> int:
        return self.role.epoch

    @property
    def voters(self) -> VoterSet:
        """The newest voter set, committed or not."""
        return self.control.voters.last

    @property
    def is_voter(self) -> bool:
        voters = self.control.voters.last
        if voters is not self._checked_voters:  # asked in every step, and sets seldom change
            self._checked_voters = voters
            self._is_voter = self.config.can_vote and voters.find(self.key) is not None
        return self._is_voter

    @property
    def is_electable(self) -> bool:
        """Whether this replica may be elected: a voter, or one whose removal is not committed.

        If one of two voters leads, removes itself and crashes, it may be the only one with that
        record. The other voter cannot win without its vote, which it refuses; it can win with the
        other's (Ongaro's dissertation, 4.2.2). Kafka's controller does not become a candidate
        then, and no leader is ever elected.
        """
        if self.is_voter:
            return True
        voters = self.control.voters
        if not self.config.can_vote or voters.is_committed(self.committed):
            return False
        return voters.before(voters.last_offset).find(self.key) is not None

    @property
    def myself(self) -> Voter:
        """This replica as the voter set should describe it."""
        versions = self.config.supported_kraft_versions
        return Voter(self.key, self.config.listeners, versions[0], versions[-1])

    @property
    def others(self) -> list[ReplicaKey]:
        """The other voters, in the order of the set."""
        return [voter.key for voter in self.voters if voter.id != self.key.id]

    @property
    def has_nodes_to_ask(self) -> bool:
        """Whether there are bootstrap servers or voters that may know the leader."""
        return bool(self.config.bootstrap or self.others)

    @property
    def has_servers_outside_the_set(self) -> bool:
        """Whether a bootstrap server is at no voter's address, so that elections never ask it."""
        asked = {self.address_of(voter.listeners) for voter in self.voters}
        return not asked.issuperset(self.config.bootstrap)

    @property
    def is_leader_heard(self) -> bool:
        """Whether the leader of this epoch has answered a Fetch, or is this replica."""
        return self.role.leader_id == self.key.id or self.heard_epoch == self.role.epoch

    @property
    def leader_id(self) -> int | None:
        return self.role.leader_id

    @property
    def leader_listeners(self) -> tuple[Listener, ...]:
        return self.role.leader_listeners

    @property
    def voted(self) -> ReplicaKey | None:
        """The vote of this replica in the epoch; None in a leader, which no longer needs it."""
        return self.role.voted

    # -- changes -------------------------------------------------------------------------------

    def become_unattached(self, epoch: int, leader_id: int | None = None) -> None:
        """Wait for the leader of a later epoch, or look for the leader of this one again.

        The latter happens after a lost election, or if the leader does not answer an observer.
        """
        deadline = (
            deadline_to_keep(self.role) or self._election_deadline() if self.is_electable else None
        )
        voted = self.voted if epoch == self.epoch else None
        self._enter(Unattached(epoch, deadline, leader_id, voted))

    def become_follower(self, epoch: int, leader_id: int, listeners: tuple[Listener, ...]) -> None:
        """Follow the leader of a later epoch, or that of this one if more is known about it."""
        if epoch == self.epoch and self.leader_id not in (None, leader_id):
            raise ValueError(f"a second leader {leader_id} of epoch {epoch} from {self.role}")
        self._follow(epoch, leader_id, listeners)

    def replace_leader(self, leader_id: int, listeners: tuple[Listener, ...]) -> None:
        """Follow another leader of this epoch, if the first has never answered a Fetch."""
        if self.is_leader_heard:
            raise ValueError(f"{leader_id} replaces the leader of {self.role}")
        self._follow(self.epoch, leader_id, listeners)

    def _follow(self, epoch: int, leader_id: int, listeners: tuple[Listener, ...]) -> None:
        if not listeners or leader_id == self.key.id:
            raise ValueError(f"follower of {leader_id} at {listeners} from {self.role}")
        is_same = epoch == self.epoch
        before = self.role
        self._enter(self._follower(epoch, leader_id, listeners, self.voted if is_same else None))
        if is_same and listeners != before.leader_listeners:
            self.heard_epoch = None  # a stranger may have announced the new listeners

    def become_prospective(self) -> None:
        """Ask voters whether they would elect this replica, without a new epoch."""
        listeners = self.leader_listeners
        deadline = self._election_deadline()
        tally = Tally(self.voters, self.key)
        role = Prospective(self.epoch, deadline, tally, self.leader_id, listeners, self.voted)
        self._enter(role, is_saved=False)

    def become_candidate(self) -> None:
        """Start the next epoch with a vote for itself, and ask the other voters for theirs."""
        self._enter(self._candidate(self.epoch + 1))

    def become_leader(self, leader: Leader) -> None:
        self._enter(leader)

    def become_resigned(self, successors: tuple[ReplicaKey, ...] = ()) -> None:
        """Stop leading, and wait for the next epoch; the file still says that it led this one."""
        self._enter(self._resigned(self.epoch, successors), is_saved=False)

    def wait_longer(self, role: Resigned) -> None:
        role.election_deadline = self._election_deadline()

    def vote(self, candidate: ReplicaKey) -> None:
        """Vote for another replica, and wait for the outcome of the election."""
        role = self.role
        if candidate == self.key or not isinstance(role, Unattached | Prospective) or role.voted:
            raise ValueError(f"a vote for {candidate} from {role}")
        role.voted, role.election_deadline = candidate, self._election_deadline()
        self._save()

    def _enter(self, role: Role, *, is_saved: bool = True) -> None:
        """Change the role; `is_saved` is false if epoch, leader and vote stay the same."""
        check_transition(Transition(self.role, role, self.is_electable, self.is_leader_heard))
        self.role = role
        if is_saved:
            self._save()
        self.connections.forget()

    def _save(self) -> None:
        election = Election(self.epoch, self.leader_id, self.voted)
        voter_ids = tuple(voter.id for voter in self.voters)
        form = self.policy.election_form(self.control.kraft_version.last)
        self.effects.append(SaveElection(election, form, voter_ids))

    # -- log and requests ----------------------------------------------------------------------

    def append(self, batch: Batch) -> None:
        """Append a batch, and apply its control records.

        Raises `KraftwireError` if they cannot be read; then nothing is appended.
        """
        header = batch.header
        self.control.apply(batch)
        self.log.append(header.base_offset, header.last_offset, header.partition_leader_epoch)
        self.effects.append(Append(batch))
        self.has_news = True

    def truncate(self, offset: int) -> None:
        """Remove the log from an offset on, and revert its control records."""
        self.log.truncate(offset)
        self.control.truncate(offset)
        self.effects.append(Truncate(offset))

    def install(self, snapshot: OffsetAndEpoch, size: int, controls: Iterable[Batch]) -> None:
        """Restart the log after a completely written snapshot with these control batches.

        Raises `KraftwireError` if they cannot be read; then nothing has changed.
        """
        self.control.load(snapshot, controls)
        self.log.install(snapshot, size)
        self.effects.append(InstallSnapshot(snapshot))
        self.commit(snapshot.offset)

    def commit(self, end: int) -> None:
        """Raise the offset up to which records are committed; a lower one changes nothing."""
        if end > self.committed:
            self.committed = end
            self.effects.append(Committed(end))

    def flush(self) -> None:
        self.effects.append(Flush(self.log.end))

    def send(
        self, node_id: int, address: Address, message: Message, query: Query | None = None
    ) -> None:
        """Send a request to a node that is ready; its response is handled with `query`."""
        if len(self.voters.of_id(node_id)) > 1:  # others need no turns, and their ids are unbounded
            self._turns[node_id] += 1
        number = self.connections.send(node_id, self.now, query, address)
        self.effects.append(Send(number, address, message))

    def address_of(self, listeners: tuple[Listener, ...]) -> Address | None:
        """Return the address of the listener that replicas use; None if it is not among these."""
        for name, host, port in listeners:
            if name == self.config.default_listener:
                return Address(host, port)
        return None

    def address_if_ready(self, key: ReplicaKey) -> Address | None:
        """Return the address of another voter; None if it is unknown, busy, or not its turn.

        Under KIP-856 an id may have two voters, one of them on a lost disk. Only one node has the
        id, and it answers for its own directory, so these voters take turns.
        """
        voter = self.voters.find(key)
        if voter is None or key.id == self.key.id:
            return None
        same_id = self.voters.of_id(key.id)
        is_next = voter is same_id[self._turns[key.id] % len(same_id)]
        if not is_next or not self.connections.is_ready(key.id, self.now):
            return None
        return self.address_of(voter.listeners)

    def _first_role(self, election: Election) -> Role:
        """Return the role of a replica after a start."""
        epoch, leader_id, voted = election
        if epoch < self.log.last_epoch:  # its file is older than its log: it may have voted since
            return Unattached(self.log.last_epoch, self._deadline_if_electable())
        if leader_id == self.key.id:
            return self._resigned(epoch)
        # If the epoch has a leader, the candidacy is lost, and the log may have the leader's data.
        is_mine = leader_id is None and voted is not None and voted.matches(self.key)
        if is_mine and self.is_electable:
            return self._candidate(epoch)
        listeners = self.listeners_of(leader_id)
        if leader_id is not None and listeners:
            return self._follower(epoch, leader_id, listeners, voted)
        return Unattached(epoch, self._deadline_if_electable(), leader_id, voted)

    def _candidate(self, epoch: int) -> Candidate:
        tally = Tally(self.voters, self.key)
        return Candidate(epoch, self._election_deadline(), tally, self.key)

    def _resigned(self, epoch: int, successors: tuple[ReplicaKey, ...] = ()) -> Resigned:
        deadline = self._election_deadline()
        listeners, others = self.config.listeners, set(self.others)
        return Resigned(epoch, self.key.id, listeners, deadline, successors, others)

    def _follower(
        self, epoch: int, leader_id: int, listeners: tuple[Listener, ...], voted: ReplicaKey | None
    ) -> Follower:
        timeout_ms, spread_ms = self.config.fetch_timeout_ms, self.config.fetch_spread_ms
        extra_ms = self.rng.randrange(spread_ms) if spread_ms else 0
        return Follower(
            epoch,
            leader_id,
            listeners,
            fetch_deadline=self.now + timeout_ms + extra_ms,
            extra_ms=extra_ms,
            voted=voted,
            update_deadline=self.now + timeout_ms,
        )

    def listeners_of(self, replica_id: int | None) -> tuple[Listener, ...]:
        voters = () if replica_id is None else self.voters.of_id(replica_id)
        return voters[-1].listeners if voters else ()

    # -- deadlines -----------------------------------------------------------------------------

    def _election_deadline(self) -> int:
        least = self.config.election_timeout_ms
        return self.now + least + (self.rng.randrange(least) if least else 0)

    def _deadline_if_electable(self) -> int | None:
        return self._election_deadline() if self.is_electable else None
