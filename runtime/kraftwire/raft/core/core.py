"""What all handlers of a replica share: its log and voters, its state, and how that changes.

A change of state is made durable before anything else is done about it (`SaveElection` is
the next effect), and gives up what was asked of other nodes in the state before. Where a
change would contradict what the replica knows, `ValueError` says so: handlers check first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random

from kraftwire.address import Address
from kraftwire.log.batch import Batch
from kraftwire.raft.core.connections import Connections
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
from kraftwire.raft.core.inputs import Answer, Request
from kraftwire.raft.core.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Role,
    Unattached,
)
from kraftwire.raft.membership import policy_of
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.store import Recovered
from kraftwire.raft.state.bounds import Allowance
from kraftwire.raft.state.config import Config
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.tally import Tally
from kraftwire.raft.state.voters import Listener, ReplicaKey, Voter, VoterSet
from kraftwire_wire.message import Message


class Core:
    """A replica between two inputs; times are in ms."""

    def __init__(self, config: Config, recovered: Recovered, chance: Random, now: int) -> None:
        """It begins in the state that `recovered` leaves, which is kept anew.

        `KraftwireError` where it must not begin with that.
        """
        policy_of(config).check_start(recovered.control)
        self.config = config
        self.log = recovered.log
        self.control = recovered.control
        self.chance = chance
        self.now = now
        self.effects: list[Effect] = []
        latest = self.log.latest_snapshot
        self.committed = 0 if latest is None else latest.offset
        """Up to where records are known to be committed; it never falls."""
        self.clean_deadline: int | None = None
        """When there are more snapshots than are kept, until when they stay."""
        self.has_news = False
        """Whether there is something since the last look that a parked Fetch waits for."""
        self._looked_at: VoterSet | None = None
        self._is_voter = False
        self.stop_deadline: int | None = None
        """When this replica stops whatever happens; None while nobody wants it to."""
        self.has_stopped = False
        self.refused: str | None = None
        """Why batches of a leader were refused last; None if none were."""
        self.connections: Connections[int, object] = Connections(
            request_timeout_ms=config.request_timeout_ms,
            retry_backoff_ms=config.retry_backoff_ms,
        )
        self._turns: Counter[int] = Counter()
        """How often the nodes with several voters of one id were asked (KIP-856)."""
        self.allowance = Allowance(config.election_timeout_ms, now)
        self.source: Request | Answer | None = None
        """The request or response that is being handled."""
        self.refused_claims = 0
        """How many epochs and offsets were refused that cannot be."""
        self.heard_epoch: int | None = None
        """The epoch whose leader has answered a Fetch well, at the listeners that are known."""
        self.role: Role = self._first_role(recovered.election or Election(0))
        self.told_epoch = self.role.epoch
        """The last epoch that a known node has told when it was asked, or that was stored."""
        self._save()

    # -- what is known -------------------------------------------------------------------------

    @property
    def key(self) -> ReplicaKey:
        """The key of this replica."""
        return self.config.key

    @property
    def epoch(self) -> int:
        """The epoch that it is in."""
        return self.role.epoch

    @property
    def voters(self) -> VoterSet:
        """The newest voter set, committed or not."""
        return self.control.voters.last

    @property
    def is_voter(self) -> bool:
        """Whether this replica is in it."""
        voters = self.control.voters.last
        if voters is not self._looked_at:  # this is asked at every step, and sets seldom change
            self._looked_at = voters
            self._is_voter = self.config.can_vote and voters.find(self.key) is not None
        return self._is_voter

    @property
    def may_stand(self) -> bool:
        """Whether this replica may be elected: a voter, or one whose removal is not committed.

        A leader that removes itself as one of two voters, and crashes, may be the only one with
        that record: nobody else gets its vote, and the other voter's is all that it needs (Ongaro,
        4.2.2). A real one does not stand, and then no leader is ever elected.
        """
        if self.is_voter:
            return True
        voters = self.control.voters
        if not self.config.can_vote or voters.is_committed(self.committed):
            return False
        return voters.before(voters.last_offset).find(self.key) is not None

    @property
    def myself(self) -> Voter:
        """What a voter set should say of this replica."""
        versions = self.config.supported_kraft_versions
        return Voter(self.key, self.config.listeners, versions[0], versions[-1])

    @property
    def others(self) -> list[ReplicaKey]:
        """The voters but for this replica, in the order of the set."""
        return [voter.key for voter in self.voters if voter.id != self.key.id]

    @property
    def has_nodes_to_ask(self) -> bool:
        """Whether there are nodes that may know the leader: bootstrap servers, or voters."""
        return bool(self.config.bootstrap or self.others)

    @property
    def has_servers_outside_the_set(self) -> bool:
        """Whether a bootstrap server is at no voter's address, so that elections never ask it."""
        asked = {self.address_of(voter.listeners) for voter in self.voters}
        return not asked.issuperset(self.config.bootstrap)

    @property
    def is_leader_heard(self) -> bool:
        """Whether the leader of this epoch has answered a Fetch, or is this replica."""
        return isinstance(self.role, Leader | Resigned) or self.heard_epoch == self.epoch

    @property
    def leader_id(self) -> int | None:
        """Who leads the epoch, where that is known; who has resigned still does."""
        if isinstance(self.role, Leader | Resigned):
            return self.key.id
        return None if isinstance(self.role, Candidate) else self.role.leader_id

    @property
    def leader_listeners(self) -> tuple[Listener, ...]:
        """Where the leader listens, as far as that is known."""
        if isinstance(self.role, Leader | Resigned):
            return self.config.listeners
        if isinstance(self.role, Prospective | Follower):
            return self.role.leader_listeners
        return ()

    @property
    def voted(self) -> ReplicaKey | None:
        """Whom it has voted for in the epoch; a leader's vote is not needed any more."""
        if isinstance(self.role, Candidate):
            return self.key
        if isinstance(self.role, Unattached | Prospective | Follower):
            return self.role.voted
        return None

    # -- changes -------------------------------------------------------------------------------

    def become_unattached(self, epoch: int, leader_id: int | None = None) -> None:
        """Wait for a leader in a later epoch, or look for that of this one.

        The latter after an election that was lost, or when the leader does not answer an observer.
        """
        is_same = epoch == self.epoch
        is_observer = isinstance(self.role, Follower) and not self.may_stand
        is_lost = isinstance(self.role, Prospective) or is_observer
        if epoch < self.epoch or (is_same and not is_lost):
            raise ValueError(f"unattached in epoch {epoch} from {self.role}")
        voted = self.voted if is_same else None
        self._enter(Unattached(epoch, self._deadline_unattached(), leader_id, voted))

    def become_follower(self, epoch: int, leader_id: int, listeners: tuple[Listener, ...]) -> None:
        """Follow the leader of a later epoch, or of this one if it is better known now.

        `ValueError` if this replica leads the epoch or follows another leader in it, or if the
        leader has answered a Fetch and `listeners` are no more than those that are known.
        """
        is_same = epoch == self.epoch
        is_leading = isinstance(self.role, Leader | Resigned)
        knows_less = leader_id != self.leader_id or (
            len(listeners) <= len(self.leader_listeners)
            and (self.heard_epoch == epoch or listeners == self.leader_listeners)
        )
        if (
            not listeners
            or leader_id == self.key.id
            or epoch < self.epoch
            or (is_same and is_leading)
            or (is_same and isinstance(self.role, Follower) and knows_less)
        ):
            raise ValueError(f"follower of {leader_id} in epoch {epoch} from {self.role}")
        if is_same and listeners != self.leader_listeners:
            self.heard_epoch = None  # not at these, which a stranger may have announced
        voted = self.voted if is_same else None
        self._enter(self._follower(epoch, leader_id, listeners, voted))

    def replace_leader(self, leader_id: int, listeners: tuple[Listener, ...]) -> None:
        """Follow another leader of this epoch than one that has never answered a Fetch."""
        if self.is_leader_heard or not listeners or leader_id == self.key.id:
            raise ValueError(f"{leader_id} replaces the leader of {self.role}")
        self._enter(self._follower(self.epoch, leader_id, listeners, self.voted))

    def become_prospective(self) -> None:
        """Ask voters whether they would elect this one; nothing changes that has to be kept."""
        if not self.may_stand or isinstance(self.role, Leader | Prospective | Resigned):
            raise ValueError(f"prospective from {self.role}")
        self.role = Prospective(
            self.epoch,
            self._election_deadline(),
            Tally(self.voters, self.key),
            self.leader_id,
            self.leader_listeners if isinstance(self.role, Follower) else (),
            self.voted,
        )
        self.connections.forget()

    def become_candidate(self) -> None:
        """Ask voters for their votes in the next epoch, with the vote of this one."""
        if not isinstance(self.role, Prospective):
            raise ValueError(f"candidate from {self.role}")
        tally = Tally(self.voters, self.key)
        self._enter(Candidate(self.epoch + 1, self._election_deadline(), tally))

    def become_leader(self, leader: Leader) -> None:
        """Lead the epoch of a candidacy that was won."""
        if not isinstance(self.role, Candidate) or not self.role.tally.is_won:
            raise ValueError(f"leader from {self.role}")
        self._enter(leader)

    def become_resigned(self, successors: tuple[ReplicaKey, ...] = ()) -> None:
        """Lead no more, and wait for the next epoch; that it led is still kept."""
        if not isinstance(self.role, Leader):
            raise ValueError(f"resigned from {self.role}")
        self.role = Resigned(self.epoch, self._election_deadline(), successors, set(self.others))
        self.connections.forget()

    def wait_longer(self, role: Resigned) -> None:
        """Stay resigned: there is no epoch to go on to."""
        role.election_deadline = self._election_deadline()

    def vote(self, candidate: ReplicaKey) -> None:
        """Keep a vote for another replica, and wait anew for the outcome."""
        role = self.role
        if not isinstance(role, Unattached | Prospective) or role.voted or candidate == self.key:
            raise ValueError(f"a vote for {candidate} from {role}")
        role.voted = candidate
        role.election_deadline = self._election_deadline()
        self._save()

    def _enter(self, role: Role) -> None:
        self.role = role
        self._save()
        self.connections.forget()

    def _save(self) -> None:
        election = Election(self.epoch, self.leader_id, self.voted)
        voter_ids = tuple(voter.id for voter in self.voters)
        form = policy_of(self.config).election_form(self.control.kraft_version.last)
        self.effects.append(SaveElection(election, form, voter_ids))

    # -- doing ---------------------------------------------------------------------------------

    def append(self, batch: Batch) -> None:
        """Put a batch at the end of the log, and take in what its control records say.

        `KraftwireError` where they cannot be read; then it is not appended.
        """
        header = batch.header
        self.control.apply(batch)
        self.log.append(header.base_offset, header.last_offset, header.partition_leader_epoch)
        self.effects.append(Append(batch))
        self.has_news = True

    def truncate(self, offset: int) -> None:
        """Remove the log from an offset on, and what its control records said."""
        self.log.truncate(offset)
        self.control.truncate(offset)
        self.effects.append(Truncate(offset))

    def install(self, snapshot: OffsetAndEpoch, size: int, controls: Iterable[Batch]) -> None:
        """Begin the log anew behind a snapshot that is written, with what its batches say.

        `KraftwireError` where they cannot be read; then nothing has changed.
        """
        self.control.load(snapshot, controls)
        self.log.install(snapshot, size)
        self.effects.append(InstallSnapshot(snapshot))
        self.commit(snapshot.offset)

    def commit(self, end: int) -> None:
        """Note up to where records are committed; what was known before stands."""
        if end > self.committed:
            self.committed = end
            self.effects.append(Committed(end))

    def flush(self) -> None:
        """Have the log made durable."""
        self.effects.append(Flush(self.log.end))

    def send(self, node_id: int, address: Address, asked: object, message: Message) -> None:
        """Ask a node that is ready; `asked` comes back with the response."""
        if len(self.voters.of_id(node_id)) > 1:  # other nodes have no turns, and any number of ids
            self._turns[node_id] += 1
        number = self.connections.send(node_id, self.now, asked, address)
        self.effects.append(Send(number, address, message))

    def address_of(self, listeners: tuple[Listener, ...]) -> Address | None:
        """Where replicas speak to one that listens so; None where that is not known."""
        for name, host, port in listeners:
            if name == self.config.default_listener:
                return Address(host, port)
        return None

    def reach(self, key: ReplicaKey) -> Address | None:
        """Where to ask another voter; None where that is not known, or it cannot be asked now.

        A node speaks for its own directory alone, so that voters of one id take turns at it
        (KIP-856): one of them is on a disk that is lost, and never answers.
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
        """The state that a replica goes on in after a start."""
        epoch, leader_id, voted = election
        if epoch < self.log.last_epoch:  # its file is older than its log: it may have voted since
            return Unattached(self.log.last_epoch, self._deadline_to_stand())
        if leader_id == self.key.id:
            return Resigned(epoch, self._election_deadline(), (), set(self.others))
        # Where somebody leads the epoch the candidacy is lost, and the log may have records of it.
        is_mine = leader_id is None and voted is not None and voted.means(self.key)
        if is_mine and self.may_stand:
            return Candidate(epoch, self._election_deadline(), Tally(self.voters, self.key))
        listeners = self.listeners_of(leader_id)
        if leader_id is not None and listeners:
            return self._follower(epoch, leader_id, listeners, voted)
        return Unattached(epoch, self._deadline_to_stand(), leader_id, voted)

    def _follower(
        self,
        epoch: int,
        leader_id: int,
        listeners: tuple[Listener, ...],
        voted: ReplicaKey | None,
    ) -> Follower:
        timeout_ms, spread_ms = self.config.fetch_timeout_ms, self.config.fetch_spread_ms
        extra_ms = self.chance.randrange(spread_ms) if spread_ms else 0
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
        """Where the voter set says that a replica listens."""
        voters = () if replica_id is None else self.voters.of_id(replica_id)
        return voters[-1].listeners if voters else ()

    # -- waiting -------------------------------------------------------------------------------

    def _election_deadline(self) -> int:
        least = self.config.election_timeout_ms
        return self.now + least + (self.chance.randrange(least) if least else 0)

    def _deadline_to_stand(self) -> int | None:
        return self._election_deadline() if self.may_stand else None

    def _deadline_unattached(self) -> int | None:
        """A lost candidacy does not wait anew, or whoever loses first would never be heard."""
        role = self.role
        if not self.may_stand:
            return None
        if isinstance(role, Candidate | Unattached | Resigned) and role.election_deadline:
            return role.election_deadline
        if isinstance(role, Prospective) and not role.tally.is_lost:
            return role.election_deadline
        return self._election_deadline()
