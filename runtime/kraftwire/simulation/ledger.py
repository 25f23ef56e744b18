"""What must hold of a cluster at every step, and who has said what, to check it against.

The rules are those of Raft (Ongaro, figure 3.2), of KIP-595 and KIP-853, and what a real
controller does not survive to be told. What is broken is told by the name of its rule: a run
that is shortened has to break the same one.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import Any

from kraftwire.log.batches.batch import Batch
from kraftwire.raft.core.messages import partition_of
from kraftwire.raft.core.roles import Leader, Resigned
from kraftwire.raft.metadata_log.log_state import BOOTSTRAP, OffsetAndEpoch
from kraftwire.raft.state.bounds import MAX_EPOCH, MAX_JUMP
from kraftwire.raft.state.config import Membership
from kraftwire.raft.state.election_state import Election, decode_election
from kraftwire.raft.state.majorities import majorities_overlap
from kraftwire.raft.state.voters import NO_DIRECTORY, ReplicaKey
from kraftwire.simulation.network import STRANGER, Token
from kraftwire.simulation.node import Node, epoch_before
from kraftwire_messages.kafka import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    VoteRequest,
    VoteResponse,
)
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode

_NOBODY = -1


class Broken(Exception):
    """A rule does not hold: its name, and what was seen."""

    def __init__(self, rule: str, seen: str) -> None:
        super().__init__(f"{rule}: {seen}")
        self.rule = rule


class Ledger:
    """What all nodes of a run have said and done."""

    def __init__(self, nodes: dict[int, Node]) -> None:
        self._nodes = nodes
        self.leaders: dict[int, int] = {}
        """Who leads each epoch."""
        self._led: dict[int, ReplicaKey] = {}
        """The replica that has led each epoch, with its disk."""
        self.votes: dict[tuple[ReplicaKey, int], ReplicaKey] = {}
        self.batches: dict[tuple[int, int], tuple[bytes, OffsetAndEpoch]] = {}
        """By epoch and base offset: the bytes of a batch, and what it stands behind."""
        self.committed: list[OffsetAndEpoch] = []
        """Where each batch ends that is known to be committed, and its epoch."""
        self._claimed: set[int] = set()
        """Epochs of which a stranger has named a leader: what nodes say of them may be wrong."""
        self._epochs: dict[ReplicaKey, int] = {}
        self._high: dict[int, int] = {}
        self._roles: dict[int, object] = {}

    @property
    def end(self) -> OffsetAndEpoch:
        """Up to where records are committed, and the epoch of the last."""
        return self.committed[-1] if self.committed else BOOTSTRAP

    # -- after every event ---------------------------------------------------------------------

    def look(self, node: Node) -> None:
        """Check a node that has done all that an input asked for."""
        assert node.replica is not None, "it runs"
        core = node.replica.core
        number = node.number
        role = core.role
        if role is self._roles.get(number) and core.committed == self._high[number]:
            return
        if core.epoch < self._epochs.get(node.config.key, 0):
            raise Broken("epochs never fall", f"node {number} is in epoch {core.epoch} again")
        if core.epoch > MAX_EPOCH:
            raise Broken("epochs stay below their end", f"node {number} is in epoch {core.epoch}")
        if core.committed < self._high.get(number, 0):
            seen = f"node {number} knows less to be committed: up to {core.committed}"
            raise Broken("the high watermark never falls", seen)
        if isinstance(role, Leader) and role is not self._roles.get(number):
            self._look_at_leader(node, role)
        self._epochs[node.config.key] = core.epoch
        self._high[number] = core.committed
        self._roles[number] = role

    def _look_at_leader(self, node: Node, leader: Leader) -> None:
        self._note_leader(leader.epoch, node.number)
        self._led[leader.epoch] = node.config.key
        epoch = node.epoch_before(self.end.offset)
        if epoch != self.end.epoch:
            seen = f"node {node.number} leads epoch {leader.epoch} without {self.end}"
            raise Broken("leaders have all that is committed", seen)

    def forget(self, node: Node) -> None:
        """A node has stopped: it learns anew what is committed."""
        self._high.pop(node.number, None)
        self._roles.pop(node.number, None)

    def _note_leader(self, epoch: int, leader: int) -> None:
        if self.leaders.setdefault(epoch, leader) != leader:
            seen = f"{leader} and {self.leaders[epoch]} in epoch {epoch}"
            raise Broken("an epoch has one leader", seen)

    def _note_told(self, epoch: int, leader: int) -> None:
        """A node says who leads an epoch; it may have that from a stranger."""
        if leader != _NOBODY and epoch not in self._claimed:
            self._note_leader(epoch, leader)

    # -- strangers -----------------------------------------------------------------------------

    def asked_by_stranger(self, message: Message) -> None:
        """A stranger sends a request, which may name a leader."""
        if isinstance(message, BeginQuorumEpochRequest | EndQuorumEpochRequest):
            self._claimed.add(partition_of(message).leader_epoch)

    def look_at_jump(self, message: Message, before: int, after: int) -> None:
        """Check how far a stranger has raised an epoch; a timeout can raise it by one too."""
        is_pre_vote = isinstance(message, VoteRequest) and partition_of(message).pre_vote
        if is_pre_vote and after > before + 1:
            raise Broken("a pre-vote changes no epoch", f"from {before} to {after}")
        if after > before + MAX_JUMP + 1:
            raise Broken("strangers raise epochs by little", f"from {before} to {after}")

    # -- disks ---------------------------------------------------------------------------------

    def appended(self, node: Node, batch: Batch) -> None:
        """A node's disk has got a batch: the same as everybody's there, behind the same."""
        header = batch.header
        place = (header.partition_leader_epoch, header.base_offset)
        mine = (batch.data, node.end)
        if self.batches.setdefault(place, mine) != mine:
            seen = f"node {node.number} has another batch of epoch {place[0]} at {place[1]}"
            raise Broken("logs match", seen)
        if node.end.offset != header.base_offset:
            seen = f"node {node.number} has a batch at {header.base_offset} behind {node.end}"
            raise Broken("logs have no gaps", seen)
        if node.scenario.membership is Membership.KIP_856 and not header.is_control:
            self._look_at_names(node, header.base_offset)

    def _look_at_names(self, node: Node, offset: int) -> None:
        """Records of the state machine come behind those that name the voters (KIP-856)."""
        assert node.replica is not None, "it runs"
        voters = node.replica.core.control.voters.before(offset)
        if any(voter.key.directory_id == NO_DIRECTORY for voter in voters):
            seen = f"node {node.number} has a record at {offset}, with {voters}"
            raise Broken("voters are named before records", seen)

    def changed_voters(self, node: Node) -> None:
        """A node's log has got control records: of voters, or not."""
        assert node.replica is not None, "it runs"
        core = node.replica.core
        sets = [(one.offset, one.value.keys) for one in core.control.voters.entries]
        changes = [
            (offset, one, two)
            for (_, one), (offset, two) in pairwise(sets)
            if _with_directories(one, two) != two
        ]
        for offset, before, after in changes:
            if not _can_follow(before, after):
                seen = f"node {node.number} at {offset}: {sorted(before)}, then {sorted(after)}"
                raise Broken("adjacent voter sets overlap", seen)
        pending = [offset for offset, _, _ in changes if offset >= self.end.offset]
        if isinstance(core.role, Leader) and len(pending) > 1:
            seen = f"node {node.number} leads with those at {pending}"
            raise Broken("one voter change at a time", seen)

    def truncated(self, node: Node, offset: int) -> None:
        """A node's disk has lost its log from an offset on."""
        if offset < self._high.get(node.number, 0):
            seen = f"node {node.number} has truncated to {offset}"
            raise Broken("what is committed is not truncated", seen)

    def committed_to(self, node: Node, end: int) -> None:
        """A node knows records to be committed: the same as everybody."""
        mine = node.epoch_before(end)
        assert node.replica is not None, "it runs"
        # A leader that was removed resigns in the step in which it commits that.
        if isinstance(node.replica.core.role, Leader | Resigned):
            self._look_at_disks(node, end)
        if end > self.end.offset:
            place = bisect_left(node.held, OffsetAndEpoch(self.end.offset + 1, 0))
            if node.epoch_before(self.end.offset) != self.end.epoch:
                seen = f"node {node.number} commits up to {end}, without {self.end}"
                raise Broken("what is committed stays", seen)
            self.committed += [held for held in node.held[place:] if held.offset <= end]
        known = epoch_before(self.committed, end)
        if known is None or known != mine:
            seen = f"node {node.number} has epoch {mine} before {end}, others have {known}"
            raise Broken("what is committed stays", seen)

    def _look_at_disks(self, leader: Node, end: int) -> None:
        """What a leader commits is on the disks of a majority; on a lost one it may have been."""
        assert leader.replica is not None, "it runs"
        epoch, missing = leader.epoch_before(end), []
        voters = leader.replica.core.voters
        for voter in voters:
            node = self._nodes[voter.id]
            is_there = voter.key.means(node.config.key) and not node.is_damaged
            if is_there and node.epoch_before(end) != epoch:
                missing.append(voter.id)
        if len(voters) - len(missing) < voters.majority:
            seen = f"node {leader.number} commits up to {end}, which {missing} do not have"
            raise Broken("a majority has what is committed", seen)

    def installed(self, node: Node, snapshot: OffsetAndEpoch) -> None:
        """A node's disk has got the snapshot of another: one of what is committed."""
        known = epoch_before(self.committed, snapshot.offset)
        if known != snapshot.epoch:
            seen = f"node {node.number} installs {snapshot}, others have epoch {known} there"
            raise Broken("snapshots have what is committed", seen)

    def stored(self, node: Node, batch: Batch) -> None:
        """A node's disk has a batch at its end; what is before it was looked at when it came."""
        if not node.store.log.endswith(batch.data):
            raise Broken("disks read back", f"node {node.number} has not {batch.header}")

    def saved(self, node: Node, election: Election) -> None:
        """A node's disk has got a vote, and must have that."""
        kept = decode_election(node.store.election or b"")
        if kept[:2] != election[:2] or (kept.voted is None) != (election.voted is None):
            raise Broken("disks read back", f"node {node.number}: {kept} for {election}")
        if self._led.get(election.epoch) == node.config.key and election.leader_id != node.number:
            raise Broken("leaders remember that they led", f"node {node.number}: {election}")

    def reopen(self, node: Node) -> None:
        """A disk must read back as what its replica knows; not one that is damaged."""
        node.is_unread = False
        if node.is_damaged:
            return
        assert node.replica is not None, "it runs"
        core, found = node.replica.core, node.store.copy().recover()
        mine = (core.log.start, core.log.end, core.log.epochs, core.log.snapshots)
        theirs = (found.log.start, found.log.end, found.log.epochs, found.log.snapshots)
        if mine != theirs:
            raise Broken("disks read back", f"node {node.number}: {theirs} for {mine}")
        election = found.election
        if election is None or election[:2] != (core.epoch, core.leader_id):
            raise Broken("disks read back", f"node {node.number}: {election} for {core.role}")
        for name in ("voters", "kraft_version"):
            known = getattr(core.control, name).entries
            read = getattr(found.control, name).entries
            if [one.value for one in known] != [one.value for one in read]:
                seen = f"node {node.number}: {name} {read} for {known}"
                raise Broken("control records replay", seen)

    # -- messages ------------------------------------------------------------------------------

    def asked(self, node: Node, message: Message) -> None:
        """A node sends a request."""
        if isinstance(message, FetchRequest):
            if node.store.unflushed:
                seen = f"node {node.number} fetches at {node.end}, with bytes that are not flushed"
                raise Broken("what is acknowledged is durable", seen)
        elif isinstance(message, BeginQuorumEpochRequest | EndQuorumEpochRequest):
            partition = partition_of(message)
            self._note_leader(partition.leader_epoch, partition.leader_id)
            if isinstance(message, BeginQuorumEpochRequest) and not message.leader_endpoints:
                raise Broken("leaders say where they listen", f"node {node.number}")

    def replied(self, node: Node, token: Token, message: Any) -> None:
        """A node answers a request."""
        error = getattr(message, "error_code", ErrorCode.NONE)
        partition = partition_of(message) if type(message) in _ABOUT_A_PARTITION else None
        if token.node == STRANGER:  # it may be told any error, but not two votes
            if isinstance(message, VoteResponse) and partition is not None:
                self._voted(node, token, partition)
            return
        inner = ErrorCode.NONE if partition is None else partition.error_code
        # The document of KIP-856 wants INVALID_REQUEST where a controller does not survive it.
        is_shipped = node.scenario.membership is Membership.SHIPPED
        is_fatal = is_shipped and inner == ErrorCode.INVALID_REQUEST
        if is_fatal or error == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            seen = f"node {node.number} answers {type(message).__name__} with {error}, {inner}"
            raise Broken("no error that ends a controller", seen)
        if partition is None:
            return
        if isinstance(message, FetchResponse):
            self._fetched(node, token, partition)
        elif isinstance(message, VoteResponse):
            self._voted(node, token, partition)
        elif isinstance(message, FetchSnapshotResponse):
            self._fetched_snapshot(node, token, partition)

    def _fetched(self, node: Node, token: Token, partition: FetchResponse.PartitionData) -> None:
        told = partition.current_leader
        if told is not None:
            self._note_told(told.leader_epoch, told.leader_id)
        asked = partition_of(token.asked)
        if partition.error_code or asked is None or asked.high_watermark > (1 << 62):
            return
        end = partition.diverging_epoch
        if end is not None and end.epoch >= 0 and end.end_offset < asked.high_watermark:
            seen = f"node {node.number} tells {token.node}, which has {asked.high_watermark}: {end}"
            raise Broken("no divergence below the high watermark", seen)
        if 0 <= partition.high_watermark < asked.high_watermark:
            seen = f"node {node.number} tells {token.node} {partition.high_watermark}"
            raise Broken("no high watermark below a follower's", seen)

    def _voted(self, node: Node, token: Token, partition: VoteResponse.PartitionData) -> None:
        self._note_told(partition.leader_epoch, partition.leader_id)
        asked: VoteRequest.PartitionData | None = partition_of(token.asked)
        if asked is None or asked.pre_vote or not partition.vote_granted:
            return
        candidate = ReplicaKey(asked.replica_id, asked.replica_directory_id)
        mine = node.config.key
        other = self.votes.setdefault((mine, asked.replica_epoch), candidate)
        kept = decode_election(node.store.election or b"")
        is_kept = kept.voted is not None and kept.voted.means(candidate)
        # A stranger may name an id without a directory. Under kraft.version 0 the disk keeps the id
        # alone, so after a restart the vote is for any directory of it.
        is_same_on_disk = is_kept and kept.voted is not None and kept.voted.means(other)
        if not other.means(candidate) and not is_same_on_disk:
            seen = f"node {mine.id} in epoch {asked.replica_epoch}: {candidate} and {other}"
            raise Broken("one vote in an epoch", seen)
        if kept.epoch != asked.replica_epoch or not is_kept:
            raise Broken("votes are durable before replies", f"node {mine.id} keeps {kept}")

    def _fetched_snapshot(
        self, node: Node, token: Token, partition: FetchSnapshotResponse.PartitionSnapshot
    ) -> None:
        asked: FetchSnapshotRequest.PartitionSnapshot | None = partition_of(token.asked)
        if asked is None or partition.error_code:
            return
        is_same = (asked.snapshot_id.end_offset, asked.snapshot_id.epoch) == (
            partition.snapshot_id.end_offset,
            partition.snapshot_id.epoch,
        )
        if not is_same or asked.position != partition.position:
            seen = f"node {node.number} answers {asked} with {partition}"
            raise Broken("snapshots are those that were asked for", seen)


_ABOUT_A_PARTITION = frozenset({FetchResponse, VoteResponse, FetchSnapshotResponse})


def _can_follow(before: frozenset[ReplicaKey], after: frozenset[ReplicaKey]) -> bool:
    """Whether a voter set may follow another."""
    return majorities_overlap(_with_directories(before, after), after)


def _with_directories(
    before: frozenset[ReplicaKey], after: frozenset[ReplicaKey]
) -> frozenset[ReplicaKey]:
    """A voter set with the directories that another knows of the same voters."""
    known = {key: [one for one in after if key.means(one)] for key in before}
    return frozenset(found[0] if found else key for key, found in known.items())
