"""Doing what a replica wants done: each effect to its end, in their order, up to a crash.

What remains to be done then, parcels, flushes to confirm and deadlines, is told to whoever
decides what happens next.
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
    Refused,
    Reply,
    SaveElection,
    Send,
    Settled,
    Stopped,
    StoppedLeading,
    Truncate,
    Upgraded,
    WriteSnapshot,
)
from kraftwire.raft.core.messages import partition_of
from kraftwire.simulation.ledger import Ledger
from kraftwire.simulation.network import Network, Parcel, Token
from kraftwire.simulation.node import Node
from kraftwire.simulation.scenario import node_at
from kraftwire.simulation.steps import NEVER
from kraftwire_messages.kafka import VoteRequest
from kraftwire_wire.message import Message

_FIRST_WITH_PRE_VOTE = 2


class Watcher(Protocol):
    """Who decides what happens next."""

    def sent(self, parcel: Parcel) -> None:
        """A parcel is on its way."""

    def to_confirm(self, node: Node) -> None:
        """A node's disk has flushed, and the replica is to be told."""

    def acted(self, node: Node) -> None:
        """A node has done all that an input asked for, or has started, or stopped."""


class Executor:
    """Does the effects of all nodes of a run."""

    def __init__(
        self, nodes: dict[int, Node], network: Network, ledger: Ledger, watcher: Watcher
    ) -> None:
        self._nodes = nodes
        self._network = network
        self._ledger = ledger
        self._watcher = watcher
        self.is_quiet = False
        """Whether nodes that have moved are found where they were."""
        self._do_of: dict[type[Any], Callable[[Node, Any], None]] = {
            SaveElection: self._save,
            Append: self._append,
            Flush: self._flush,
            Truncate: self._truncate,
            WriteSnapshot: self._write_snapshot,
            InstallSnapshot: self._install,
            Clean: self._clean,
            Send: self._send,
            Reply: self._reply,
            Committed: self._commit,
            Leading: self._note,
            StoppedLeading: self._note,
            Settled: self._note,
            Upgraded: self._note,
            Refused: self._note,
            Disconnect: self._disconnect,
            Stopped: lambda node, _: self.stop(node),
        }

    def do(self, node: Node, effects: list[Effect], crash: int) -> None:
        """Do effects in their order, up to a crash."""
        do_of = self._do_of
        for done, effect in enumerate(effects):
            if done == crash or (node.fails_flush and type(effect) is Flush):
                self.stop(node)
                return
            do_of[type(effect)](node, effect)
        if node.replica is None:  # it has shut down
            return
        if crash != NEVER:
            self.stop(node)
            return
        self._ledger.look(node)
        if node.is_unread:
            self._ledger.reopen(node)
        self._watcher.acted(node)

    def stop(self, node: Node) -> None:
        """Stop a node, with the loss of what it has not flushed."""
        node.crash()
        self._ledger.forget(node)
        self._watcher.acted(node)

    # -- effects -------------------------------------------------------------------------------

    def _save(self, node: Node, effect: SaveElection) -> None:
        node.store.save_election(effect.election, effect.kraft_version, effect.voter_ids)
        self._ledger.saved(node, effect.election)

    def _append(self, node: Node, effect: Append) -> None:
        batch = effect.batch
        self._ledger.appended(node, batch)
        node.store.append(batch)
        self._ledger.stored(node, batch)
        node.hold(batch)
        if batch.header.is_control:
            node.is_unread = True
            self._ledger.changed_voters(node)

    def _flush(self, node: Node, effect: Flush) -> None:
        node.store.flush()
        node.unconfirmed.append(effect.end)
        self._watcher.to_confirm(node)

    def _truncate(self, node: Node, effect: Truncate) -> None:
        self._ledger.truncated(node, effect.offset)
        node.store.truncate(effect.offset)
        node.is_unread = True
        node.cut_off(effect.offset)

    def _write_snapshot(self, node: Node, effect: WriteSnapshot) -> None:
        node.store.write_snapshot(effect.snapshot, effect.position, effect.data)

    def _install(self, node: Node, effect: InstallSnapshot) -> None:
        node.store.finish_snapshot(effect.snapshot)
        self._ledger.installed(node, effect.snapshot)
        node.store.install(effect.snapshot)
        node.is_unread = True
        node.held.clear()
        node.begin_behind(effect.snapshot)

    def _clean(self, node: Node, effect: Clean) -> None:
        node.store.clean(effect.snapshot)
        node.is_unread = True
        node.begin_behind(effect.snapshot)

    def _commit(self, node: Node, effect: Committed) -> None:
        self._ledger.committed_to(node, effect.high_watermark)

    def _note(self, node: Node, effect: Effect) -> None:
        """What is told to the state machine, which here only proposes."""

    def _send(self, node: Node, effect: Send) -> None:
        message = effect.message
        self._ledger.asked(node, message)
        receiver, moves = node_at(effect.address)
        if receiver not in self._nodes:  # a stranger has said that somebody listens there
            self.fail(receiver, node.number, effect.number, node.life)
            return
        kind = type(message)
        version = min(node.newest(kind), self._nodes[receiver].newest(kind))
        node.waiting[effect.number] = receiver
        parcel = Parcel(
            node.number, receiver, effect.number, node.life, version, message, is_request=True
        )
        if kind is VoteRequest and version < _FIRST_WITH_PRE_VOTE and _is_pre_vote(message):
            self.refuse(parcel, is_unsupported=True)
        elif moves != self._nodes[receiver].moves and not self._is_found(moves):
            self.refuse(parcel)
        else:
            self.post(parcel)

    def _is_found(self, moves: int) -> bool:
        """Whether a node is reached where it was: the configured address, and in quiet any.

        Without the latter a cluster whose voters have moved all at once is lost.
        """
        return moves == 0 or self.is_quiet

    def _reply(self, node: Node, effect: Reply) -> None:
        token, message = effect.token, effect.message
        assert isinstance(token, Token), "every request here has one"
        self._ledger.replied(node, token, message)
        if token.is_of_node:
            self.post(
                Parcel(
                    node.number,
                    token.node,
                    token.number,
                    token.life,
                    effect.version,
                    message,
                    effect.content,
                )
            )

    def read(self, parcel: Parcel) -> bool:
        """Read the bytes of a response, as late as a socket may; whether they are there."""
        content = parcel.content
        if content is None or parcel.message is None:
            return True
        node = self._nodes[parcel.sender]
        if node.replica is None:  # the connection has gone with it
            return False
        partition = partition_of(parcel.message)
        if isinstance(content, LogSlice):
            is_there = node.base.offset <= content.offset < node.end.offset
            data = node.store.read(content.offset, content.max_bytes) if is_there else b""
            partition.records = data
        elif content.snapshot not in node.store.snapshots:  # it was cleaned since
            return False
        else:
            partition.unaligned_records = node.store.read_snapshot(*content)
        return True

    def _disconnect(self, node: Node, effect: Disconnect) -> None:
        """Close the connection that a request came over; here that loses this one alone."""
        token = effect.token
        assert isinstance(token, Token), "every request here has one"
        if token.is_of_node:
            self.fail(node.number, token.node, token.number, token.life)

    def refuse(self, parcel: Parcel, *, is_unsupported: bool = False) -> None:
        """Tell who sent a request that there will be no response."""
        self.fail(
            parcel.receiver,
            parcel.sender,
            parcel.number,
            parcel.life,
            is_unsupported=is_unsupported,
        )

    def fail(
        self, asked: int, asking: int, number: int, life: int, *, is_unsupported: bool = False
    ) -> None:
        """Tell a node that there will be no response to one of its requests."""
        self.post(Parcel(asked, asking, number, life, 0, None, is_unsupported=is_unsupported))

    def post(self, parcel: Parcel) -> None:
        """Put a parcel on its way."""
        if self._network.send(parcel):
            self._watcher.sent(parcel)


def _is_pre_vote(message: Message) -> bool:
    assert isinstance(message, VoteRequest), "checked"
    return any(one.pre_vote for topic in message.topics for one in topic.partitions)
