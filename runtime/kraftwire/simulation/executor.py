"""Carries out the effects that replicas return, in order, until all are done or the node crashes.

The executor reports later consequences (messages in flight, flushes to confirm, deadlines) to a
watcher, which decides when they happen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kraftwire.raft.core.effects import (
    Append,
    Clean,
    Committed,
    Disconnect,
    Effect,
    Flush,
    InstallSnapshot,
    Leading,
    LogSlice,
    ProposalOutcome,
    RefusedClaim,
    Reply,
    SaveElection,
    Send,
    Stopped,
    StoppedLeading,
    Truncate,
    UpgradeOutcome,
    WriteSnapshot,
)
from kraftwire.raft.core.messages import partition_of
from kraftwire.simulation.ledger import Ledger
from kraftwire.simulation.network import Network, Parcel, Token
from kraftwire.simulation.node import SimulatedNode
from kraftwire.simulation.scenario import node_at
from kraftwire.simulation.steps import NEVER
from kraftwire_messages.kafka import VoteRequest

_FIRST_WITH_PRE_VOTE = 2
_FOR_THE_STATE_MACHINE = (Leading, StoppedLeading, ProposalOutcome, UpgradeOutcome, RefusedClaim)
"""Effects that are ignored, since the state machine of a run only proposes."""


class Watcher(Protocol):
    """Decides what happens next."""

    def on_send(self, parcel: Parcel) -> None:
        """A parcel is in flight."""

    def on_flush(self, node: SimulatedNode) -> None:
        """A node's disk has flushed, but its replica has not received `Flushed` yet."""

    def on_change(self, node: SimulatedNode) -> None:
        """A node has carried out all effects of an input, or it has started or stopped."""


class Executor:
    """Carries out the effects of all nodes of a run."""

    def __init__(
        self, nodes: dict[int, SimulatedNode], network: Network, ledger: Ledger, watcher: Watcher
    ) -> None:
        self._nodes = nodes
        self._network = network
        self._ledger = ledger
        self._watcher = watcher
        self.is_quiet = False
        """Whether this is the quiet period, in which old addresses of nodes work again."""
        self._handlers: dict[type[Any], Callable[[SimulatedNode, Any], None]] = {
            SaveElection: self._save_election,
            Append: self._append,
            Flush: self._flush,
            Truncate: self._truncate,
            WriteSnapshot: self._write_snapshot,
            InstallSnapshot: self._install_snapshot,
            Clean: self._clean,
            Send: self._send,
            Reply: self._reply,
            Committed: self._commit,
            Disconnect: self._disconnect,
            Stopped: lambda node, _: self.stop(node),
            **dict.fromkeys(_FOR_THE_STATE_MACHINE, lambda node, effect: None),
        }

    def execute(self, node: SimulatedNode, effects: list[Effect], crash: int) -> None:
        """Carry out effects; the node crashes after `crash` of them unless that is `NEVER`."""
        handlers = self._handlers
        for done, effect in enumerate(effects):
            if done == crash or (node.fails_flush and type(effect) is Flush):
                self.stop(node)
                return
            handlers[type(effect)](node, effect)
        if node.replica is None:  # it has shut down
            return
        if crash != NEVER:
            self.stop(node)
            return
        self._ledger.check_node(node)
        if node.needs_reopen:
            self._ledger.check_disk(node)
        self._watcher.on_change(node)

    def stop(self, node: SimulatedNode) -> None:
        """Crash a node, which loses all or a part of its unflushed data."""
        node.crash()
        self._ledger.forget(node)
        self._watcher.on_change(node)

    # -- disk ----------------------------------------------------------------------------------

    def _save_election(self, node: SimulatedNode, effect: SaveElection) -> None:
        node.store.save_election(effect.election, effect.kraft_version, effect.voter_ids)
        self._ledger.check_election(node, effect.election)

    def _append(self, node: SimulatedNode, effect: Append) -> None:
        batch = effect.batch
        self._ledger.check_append(node, batch)
        node.store.append(batch)
        self._ledger.check_stored(node, batch)
        node.note_append(batch)
        if batch.header.is_control:
            node.needs_reopen = True
            self._ledger.check_voters(node)

    def _flush(self, node: SimulatedNode, effect: Flush) -> None:
        node.store.flush()
        node.unconfirmed.append(effect.end)
        self._watcher.on_flush(node)

    def _truncate(self, node: SimulatedNode, effect: Truncate) -> None:
        self._ledger.check_truncation(node, effect.offset)
        node.store.truncate(effect.offset)
        node.needs_reopen = True
        node.note_truncation(effect.offset)

    def _write_snapshot(self, node: SimulatedNode, effect: WriteSnapshot) -> None:
        node.store.write_snapshot(effect.snapshot, effect.position, effect.data)

    def _install_snapshot(self, node: SimulatedNode, effect: InstallSnapshot) -> None:
        node.store.finish_snapshot(effect.snapshot)
        self._ledger.check_installed(node, effect.snapshot)
        node.store.install(effect.snapshot)
        node.needs_reopen = True
        node.batch_ends.clear()
        node.note_log_start(effect.snapshot)

    def _clean(self, node: SimulatedNode, effect: Clean) -> None:
        node.store.clean(effect.snapshot)
        node.needs_reopen = True
        node.note_log_start(effect.snapshot)

    def _commit(self, node: SimulatedNode, effect: Committed) -> None:
        self._ledger.check_commit(node, effect.high_watermark)

    # -- messages ------------------------------------------------------------------------------

    def _send(self, node: SimulatedNode, effect: Send) -> None:
        message = effect.message
        self._ledger.check_request(node, message)
        number, moves = node_at(effect.address)
        token = Token(node.number, node.incarnation, effect.number, message)
        receiver = self._nodes.get(number)
        if receiver is None:  # a stranger has announced this address
            self._fail(number, token)
            return
        kind = type(message)
        version = min(node.newest_version(kind), receiver.newest_version(kind))
        parcel = Parcel(node.number, number, token, version, message, is_request=True)
        node.pending[effect.number] = parcel
        # Address 0 is the configured one, which always works. In the quiet period all do:
        # otherwise a cluster whose voters have all moved at the same time never recovers.
        is_reachable = moves in (0, receiver.moves) or self.is_quiet
        if (
            isinstance(message, VoteRequest)
            and version < _FIRST_WITH_PRE_VOTE
            and any(one.pre_vote for topic in message.topics for one in topic.partitions)
        ):
            self.refuse(parcel, is_unsupported=True)
        elif is_reachable:
            self._post(parcel)
        else:
            self.refuse(parcel)

    def _reply(self, node: SimulatedNode, effect: Reply) -> None:
        token = _token_of(effect)
        self._ledger.check_reply(node, token, effect.message)
        if token.is_of_node:
            version, content = effect.version, effect.content
            self._post(Parcel(node.number, token.node, token, version, effect.message, content))

    def _disconnect(self, node: SimulatedNode, effect: Disconnect) -> None:
        """Fail this request; closing a real connection would fail others, too."""
        token = _token_of(effect)
        if token.is_of_node:
            self._fail(node.number, token)

    def read_content(self, parcel: Parcel) -> None:
        """Read the content of a response when it is delivered, which is as late as a socket may.

        If the sender has stopped or has removed the snapshot, the request fails instead.
        """
        content = parcel.content
        if content is None or parcel.message is None:
            return
        node = self._nodes[parcel.sender]
        partition = partition_of(parcel.message)
        if node.replica is None:
            parcel.message = None
        elif isinstance(content, LogSlice):
            has_offset = node.log_start.offset <= content.offset < node.log_end.offset
            data = node.store.read(content.offset, content.max_bytes) if has_offset else b""
            partition.records = data
        elif content.snapshot in node.store.snapshots:
            partition.unaligned_records = node.store.read_snapshot(*content)
        else:
            parcel.message = None

    def refuse(self, request: Parcel, *, is_unsupported: bool = False) -> None:
        self._fail(request.receiver, request.token, is_unsupported=is_unsupported)

    def _fail(self, receiver: int, token: Token, *, is_unsupported: bool = False) -> None:
        self._post(Parcel(receiver, token.node, token, 0, None, is_unsupported=is_unsupported))

    def _post(self, parcel: Parcel) -> None:
        if self._network.send(parcel):
            self._watcher.on_send(parcel)


def _token_of(effect: Reply | Disconnect) -> Token:
    token = effect.token
    assert isinstance(token, Token), "every request of a run has a Token"
    return token
