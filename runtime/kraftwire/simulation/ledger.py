"""The rules that must hold after every step, and the history of the nodes that they need.

The rules are those of Raft (Ongaro, figure 3.2), KIP-595, KIP-853 and KIP-856. One more is that no
node sends a response at which Kafka's controller exits. The name of a rule is part of a transcript:
a shortened run must break the same rule.
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
from kraftwire.simulation.node import SimulatedNode, epoch_before
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


class RuleViolation(Exception):
    """A rule does not hold."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(f"{rule}: {detail}")
        self.rule = rule


def _violation(rule: str, node: SimulatedNode, detail: str) -> RuleViolation:
    return RuleViolation(rule, f"node {node.number} {detail}")


class Ledger:
    """The history of the nodes of a run; the checks raise `RuleViolation`."""

    def __init__(self, nodes: dict[int, SimulatedNode]) -> None:
        self._nodes = nodes
        self.leaders: dict[int, int] = {}
        """The leader of each epoch."""
        self._leader_keys: dict[int, ReplicaKey] = {}
        """The replica key that led each epoch."""
        self.votes: dict[tuple[ReplicaKey, int], ReplicaKey] = {}
        self.batches: dict[tuple[int, int], tuple[bytes, OffsetAndEpoch]] = {}
        """By epoch and base offset: the bytes of a batch, and the log end before it."""
        self.committed: list[OffsetAndEpoch] = []
        """The end of each batch that is known to be committed."""
        self._forged_epochs: set[int] = set()
        """Epochs with a leader that a stranger has named, so that nodes may report a wrong one."""
        self._epochs: dict[ReplicaKey, int] = {}
        self._high_watermarks: dict[int, int] = {}
        self._roles: dict[int, object] = {}

    @property
    def end(self) -> OffsetAndEpoch:
        """The end of the committed records, and the epoch of the last."""
        return self.committed[-1] if self.committed else BOOTSTRAP

    # -- after every step ----------------------------------------------------------------------

    def check_node(self, node: SimulatedNode) -> None:
        """Check a node that has carried out all effects of an input."""
        core = node.core
        number = node.number
        role = core.role
        if role is self._roles.get(number) and core.committed == self._high_watermarks[number]:
            return
        if core.epoch < self._epochs.get(node.config.key, 0):
            raise _violation("epochs never fall", node, f"is in epoch {core.epoch} again")
        if core.epoch > MAX_EPOCH:
            raise _violation("epochs stay below their end", node, f"is in epoch {core.epoch}")
        if core.committed < self._high_watermarks.get(number, 0):
            detail = f"knows less to be committed: up to {core.committed}"
            raise _violation("the high watermark never falls", node, detail)
        if isinstance(role, Leader) and role is not self._roles.get(number):
            self._check_leader(node, role)
        self._epochs[node.config.key] = core.epoch
        self._high_watermarks[number] = core.committed
        self._roles[number] = role

    def _check_leader(self, node: SimulatedNode, leader: Leader) -> None:
        self._note_leader(leader.epoch, node.number)
        self._leader_keys[leader.epoch] = node.config.key
        epoch = node.epoch_before(self.end.offset)
        if epoch != self.end.epoch:
            detail = f"leads epoch {leader.epoch} without {self.end}"
            raise _violation("leaders have all that is committed", node, detail)

    def forget(self, node: SimulatedNode) -> None:
        """Forget the high watermark and the role of a node that has stopped."""
        self._high_watermarks.pop(node.number, None)
        self._roles.pop(node.number, None)

    def _note_leader(self, epoch: int, leader: int) -> None:
        if self.leaders.setdefault(epoch, leader) != leader:
            detail = f"{leader} and {self.leaders[epoch]} in epoch {epoch}"
            raise RuleViolation("an epoch has one leader", detail)

    def _note_reported_leader(self, epoch: int, leader: int) -> None:
        if leader != _NOBODY and epoch not in self._forged_epochs:
            self._note_leader(epoch, leader)

    # -- strangers -----------------------------------------------------------------------------

    def note_forged_request(self, message: Message) -> None:
        """Record that a stranger names a leader, if its request does."""
        if isinstance(message, BeginQuorumEpochRequest | EndQuorumEpochRequest):
            self._forged_epochs.add(partition_of(message).leader_epoch)

    def check_jump(self, message: Message, before: int, after: int) -> None:
        """Check how far a forged request has raised an epoch; a timeout may add one."""
        is_pre_vote = isinstance(message, VoteRequest) and partition_of(message).pre_vote
        if is_pre_vote and after > before + 1:
            raise RuleViolation("a pre-vote changes no epoch", f"from {before} to {after}")
        if after > before + MAX_JUMP + 1:
            raise RuleViolation("strangers raise epochs by little", f"from {before} to {after}")

    # -- disks ---------------------------------------------------------------------------------

    def check_append(self, node: SimulatedNode, batch: Batch) -> None:
        """Check that a batch follows the log, and is the one that other logs have there."""
        header = batch.header
        key = (header.partition_leader_epoch, header.base_offset)
        entry = (batch.data, node.log_end)
        if self.batches.setdefault(key, entry) != entry:
            raise _violation("logs match", node, f"has another batch of epoch {key[0]} at {key[1]}")
        if node.log_end.offset != header.base_offset:
            detail = f"has a batch at {header.base_offset} after {node.log_end}"
            raise _violation("logs have no gaps", node, detail)
        if node.scenario.membership is Membership.KIP_856 and not header.is_control:
            self._check_voters_are_named(node, header.base_offset)

    def _check_voters_are_named(self, node: SimulatedNode, offset: int) -> None:
        voters = node.core.control.voters.before(offset)
        if any(voter.key.directory_id == NO_DIRECTORY for voter in voters):
            detail = f"has a record at {offset}, with {voters}"
            raise _violation("voters are named before records", node, detail)

    def check_voters(self, node: SimulatedNode) -> None:
        """Check the voter sets in a node's log after a control batch."""
        core = node.core
        sets = [(one.offset, one.value.keys) for one in core.control.voters.entries]
        changes = [
            (offset, one, two)
            for (_, one), (offset, two) in pairwise(sets)
            if _with_directories(one, two) != two
        ]
        for offset, before, after in changes:
            if not majorities_overlap(_with_directories(before, after), after):
                detail = f"at {offset}: {sorted(before)}, then {sorted(after)}"
                raise _violation("adjacent voter sets overlap", node, detail)
        pending = [offset for offset, _, _ in changes if offset >= self.end.offset]
        if isinstance(core.role, Leader) and len(pending) > 1:
            raise _violation("one voter change at a time", node, f"leads with changes at {pending}")

    def check_truncation(self, node: SimulatedNode, offset: int) -> None:
        """Check that a node does not truncate records that it knows to be committed."""
        if offset < self._high_watermarks.get(node.number, 0):
            detail = f"has truncated to {offset}"
            raise _violation("what is committed is not truncated", node, detail)

    def check_commit(self, node: SimulatedNode, end: int) -> None:
        """Check that all nodes commit the same records, and that a majority has a leader's."""
        epoch = node.epoch_before(end)
        # A leader that removed itself resigns in the step that commits the removal.
        if isinstance(node.role, Leader | Resigned):
            self._check_majority(node, end)
        if end > self.end.offset:
            first = bisect_left(node.batch_ends, OffsetAndEpoch(self.end.offset + 1, 0))
            if node.epoch_before(self.end.offset) != self.end.epoch:
                detail = f"commits up to {end}, without {self.end}"
                raise _violation("what is committed stays", node, detail)
            self.committed += [one for one in node.batch_ends[first:] if one.offset <= end]
        known = epoch_before(self.committed, end)
        if known is None or known != epoch:
            detail = f"has epoch {epoch} before {end}, others have {known}"
            raise _violation("what is committed stays", node, detail)

    def _check_majority(self, leader: SimulatedNode, end: int) -> None:
        """Check that a majority has what a leader commits; lost disks count as if they had it."""
        epoch, missing = leader.epoch_before(end), []
        voters = leader.core.voters
        for voter in voters:
            node = self._nodes[voter.id]
            is_intact = voter.key.matches(node.config.key) and not node.is_damaged
            if is_intact and node.epoch_before(end) != epoch:
                missing.append(voter.id)
        if len(voters) - len(missing) < voters.majority:
            detail = f"commits up to {end}, which {missing} do not have"
            raise _violation("a majority has what is committed", leader, detail)

    def check_installed(self, node: SimulatedNode, snapshot: OffsetAndEpoch) -> None:
        """Check that a fetched snapshot ends at a committed batch."""
        known = epoch_before(self.committed, snapshot.offset)
        if known != snapshot.epoch:
            detail = f"installs {snapshot}, others have epoch {known} there"
            raise _violation("snapshots have what is committed", node, detail)

    def check_stored(self, node: SimulatedNode, batch: Batch) -> None:
        """Check that the disk's log ends with a batch; earlier batches were checked before."""
        if not node.store.log.endswith(batch.data):
            raise _violation("disks read back", node, f"lacks {batch.header}")

    def check_election(self, node: SimulatedNode, election: Election) -> None:
        """Check that the disk has the saved election."""
        stored = decode_election(node.store.election or b"")
        if stored[:2] != election[:2] or (stored.voted is None) != (election.voted is None):
            raise _violation("disks read back", node, f"{stored} for {election}")
        if (
            self._leader_keys.get(election.epoch) == node.config.key
            and election.leader_id != node.number
        ):
            raise _violation("leaders remember that they led", node, str(election))

    def check_disk(self, node: SimulatedNode) -> None:
        """Check that an intact disk recovers to the state of its running replica."""
        node.needs_reopen = False
        if node.is_damaged:
            return
        core, recovered = node.core, node.store.copy().recover()
        known, read = (
            (log.start, log.end, log.epochs, log.snapshots) for log in (core.log, recovered.log)
        )
        if known != read:
            raise _violation("disks read back", node, f"{read} for {known}")
        election = recovered.election
        if election is None or election[:2] != (core.epoch, core.leader_id):
            raise _violation("disks read back", node, f"{election} for {core.role}")
        for name in ("voters", "kraft_version"):
            changes, replayed = (
                getattr(control, name).entries for control in (core.control, recovered.control)
            )
            if [one.value for one in changes] != [one.value for one in replayed]:
                raise _violation("control records replay", node, f"{name} {replayed} for {changes}")

    # -- messages ------------------------------------------------------------------------------

    def check_request(self, node: SimulatedNode, message: Message) -> None:
        if isinstance(message, FetchRequest):
            if node.store.unflushed:
                detail = f"fetches at {node.log_end} with unflushed bytes"
                raise _violation("what is acknowledged is durable", node, detail)
        elif isinstance(message, BeginQuorumEpochRequest | EndQuorumEpochRequest):
            partition = partition_of(message)
            self._note_leader(partition.leader_epoch, partition.leader_id)
            if isinstance(message, BeginQuorumEpochRequest) and not message.leader_endpoints:
                raise RuleViolation("leaders say where they listen", f"node {node.number}")

    def check_reply(self, node: SimulatedNode, token: Token, message: Any) -> None:
        error = getattr(message, "error_code", ErrorCode.NONE)
        partition = partition_of(message) if type(message) in _ABOUT_A_PARTITION else None
        if token.node == STRANGER:  # it may get any error, but no second vote
            if isinstance(message, VoteResponse) and partition is not None:
                self._check_vote(node, token, partition)
            return
        inner = ErrorCode.NONE if partition is None else partition.error_code
        # Kafka's controller exits when it gets INVALID_REQUEST; KIP-856 specifies it.
        is_shipped = node.scenario.membership is Membership.SHIPPED
        is_fatal = is_shipped and inner == ErrorCode.INVALID_REQUEST
        if is_fatal or error == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            detail = f"answers {type(message).__name__} with {error}, {inner}"
            raise _violation("no error that ends a controller", node, detail)
        if partition is None:
            return
        if isinstance(message, FetchResponse):
            self._check_fetch(node, token, partition)
        elif isinstance(message, VoteResponse):
            self._check_vote(node, token, partition)
        elif isinstance(message, FetchSnapshotResponse):
            self._check_fetch_snapshot(node, token, partition)

    def _check_fetch(
        self, node: SimulatedNode, token: Token, partition: FetchResponse.PartitionData
    ) -> None:
        leader = partition.current_leader
        if leader is not None:
            self._note_reported_leader(leader.leader_epoch, leader.leader_id)
        asked = partition_of(token.request)
        if partition.error_code or asked is None or asked.high_watermark > (1 << 62):
            return
        end = partition.diverging_epoch
        if end is not None and end.epoch >= 0 and end.end_offset < asked.high_watermark:
            detail = f"to {token.node}, which has {asked.high_watermark}: {end}"
            raise _violation("no divergence below the high watermark", node, detail)
        if 0 <= partition.high_watermark < asked.high_watermark:
            detail = f"to {token.node}: {partition.high_watermark}"
            raise _violation("no high watermark below a follower's", node, detail)

    def _check_vote(
        self, node: SimulatedNode, token: Token, partition: VoteResponse.PartitionData
    ) -> None:
        self._note_reported_leader(partition.leader_epoch, partition.leader_id)
        asked: VoteRequest.PartitionData | None = partition_of(token.request)
        if asked is None or asked.pre_vote or not partition.vote_granted:
            return
        candidate = ReplicaKey(asked.replica_id, asked.replica_directory_id)
        voter = node.config.key
        first = self.votes.setdefault((voter, asked.replica_epoch), candidate)
        stored = decode_election(node.store.election or b"")
        is_stored = stored.voted is not None and stored.voted.matches(candidate)
        # A stranger may send an id without a directory id. Under kraft.version 0 the disk has only
        # the id, so after a restart the vote is for any directory id.
        is_same_on_disk = is_stored and stored.voted is not None and stored.voted.matches(first)
        if not first.matches(candidate) and not is_same_on_disk:
            detail = f"node {voter.id} in epoch {asked.replica_epoch}: {candidate} and {first}"
            raise RuleViolation("one vote in an epoch", detail)
        if stored.epoch != asked.replica_epoch or not is_stored:
            raise RuleViolation(
                "votes are durable before replies", f"node {voter.id} keeps {stored}"
            )

    def _check_fetch_snapshot(
        self, node: SimulatedNode, token: Token, partition: FetchSnapshotResponse.PartitionSnapshot
    ) -> None:
        asked: FetchSnapshotRequest.PartitionSnapshot | None = partition_of(token.request)
        if asked is None or partition.error_code:
            return
        requested, sent = (
            (one.snapshot_id.end_offset, one.snapshot_id.epoch, one.position)
            for one in (asked, partition)
        )
        if requested != sent:
            detail = f"answers {asked} with {partition}"
            raise _violation("snapshots are those that were asked for", node, detail)


_ABOUT_A_PARTITION = frozenset({FetchResponse, VoteResponse, FetchSnapshotResponse})


def _with_directories(
    before: frozenset[ReplicaKey], after: frozenset[ReplicaKey]
) -> frozenset[ReplicaKey]:
    """Return a voter set with the directory ids that another set has for the same voters."""
    known = {key: [one for one in after if key.matches(one)] for key in before}
    return frozenset(found[0] if found else key for key, found in known.items())
