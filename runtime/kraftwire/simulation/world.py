"""Nodes and what lies between them: one step at a time, and the rules checked behind each."""

from __future__ import annotations

from collections.abc import Callable

from kraftwire.raft.core.inputs import (
    Flushed,
    Input,
    Propose,
    Request,
    Resign,
    ShutDown,
    SnapshotTaken,
    Tick,
    UpgradeKRaftVersion,
)
from kraftwire.raft.core.messages import (
    add_raft_voter_request,
    remove_raft_voter_request,
)
from kraftwire.raft.core.snapshots import begin_snapshot
from kraftwire.raft.state.config import Membership
from kraftwire.raft.state.voters import Voter
from kraftwire.simulation.executor import Executor, Watcher
from kraftwire.simulation.ledger import Broken, Ledger
from kraftwire.simulation.network import CLIENT, STRANGER, Network, Token, through_codecs
from kraftwire.simulation.node import Node
from kraftwire.simulation.scenario import CLUSTER, LISTENER, Scenario
from kraftwire.simulation.steps import Action, Step
from kraftwire.simulation.stranger import draw_request
from kraftwire_messages.kafka import NoOpRecord
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message

_STATE = NoOpRecord()
"""What snapshots have of the state machine; only how much of it matters here."""


class World:
    """All of a run."""

    def __init__(self, scenario: Scenario, watcher: Watcher, *, codecs: bool = True) -> None:
        """`codecs` has every message encoded and decoded on its way."""
        self.scenario = scenario
        self.watcher = watcher
        self.codecs = codecs
        self.now = 0
        self.events = 0
        """Inputs that were handed to nodes, and faults."""
        self.nodes = {number: Node(number, scenario) for number in scenario.nodes}
        self.network = Network()
        self.ledger = Ledger(self.nodes)
        self.executor = Executor(self.nodes, self.network, self.ledger, watcher)
        self.handed: Message | None = None
        """The message that the last step was about."""
        self._proposed = 0
        self._take: dict[Action, Callable[[Step], bool]] = {
            Action.DELIVER: self._deliver,
            Action.REPEAT: self._deliver,
            Action.LOSE: self._lose,
            Action.TICK: lambda step: self._hand(step, Tick()),
            Action.FLUSHED: self._confirm,
            Action.PROPOSE: self._propose,
            Action.ADD: self._add,
            Action.REMOVE: self._remove,
            Action.UPGRADE: self._upgrade,
            Action.RESIGN: lambda step: self._hand(step, Resign()),
            Action.SHUT_DOWN: lambda step: self._hand(step, ShutDown()),
            Action.MOVE: self._move,
            Action.SNAPSHOT: self._snapshot,
            Action.STRANGER: self._visit,
            Action.CRASH: self._crash,
            Action.START: self._start,
            Action.FAIL: self._fail,
            Action.CUT: lambda step: self.network.cut(step.other, step.node),
            Action.MEND: lambda step: self.network.mend(step.other, step.node),
            Action.RESET: self._reset,
            Action.WIPE: self._wipe,
            Action.FLIP: self._flip,
        }

    def take(self, step: Step) -> bool:
        """Do a step; whether there was something to do. `Broken` where a rule does not hold."""
        self.now = max(self.now, step.at)
        self.handed = None
        done = self._take[step.action](step)
        self.events += done
        return done

    # -- steps ---------------------------------------------------------------------------------

    def _deliver(self, step: Step) -> bool:
        keep = step.action is Action.REPEAT
        parcel = self.network.take(step.other, step.node, step.place, keep=keep)
        if parcel is None:
            return False
        node = self.nodes[step.node]
        if keep:
            self.watcher.sent(parcel)
        if node.replica is None:
            self.handed = parcel.message
            if parcel.is_request:
                self.executor.refuse(parcel)
            return True
        if not self.executor.read(parcel):
            parcel.message = None
        if parcel.message is not None:
            parcel.message = self._sent(parcel.message, parcel.version)
        self.handed = parcel.message
        what = parcel.input_for(node.life)
        if not parcel.is_request and parcel.life == node.life:
            node.waiting.pop(parcel.number, None)
        return True if what is None else self._hand(step, what)

    def _sent(self, message: Message, version: int) -> Message:
        """Return what a receiver decodes."""
        if not self.codecs:
            return message
        try:
            return through_codecs(message, version)
        except KraftwireError as error:
            raise Broken("messages survive their codecs", str(error)) from None

    def _lose(self, step: Step) -> bool:
        return self.network.take(step.other, step.node, step.place) is not None

    def _confirm(self, step: Step) -> bool:
        node = self.nodes[step.node]
        if node.replica is None or not node.unconfirmed:
            return False
        return self._hand(step, Flushed(node.unconfirmed.pop(0)))

    def _propose(self, step: Step) -> bool:
        self._proposed += 1
        values = [b"%d.%d" % (self._proposed, number) for number in range(step.place)]
        return self._hand(step, Propose(self._proposed, values))

    def _add(self, step: Step) -> bool:
        other = self.nodes[step.other]
        if other.replica is None:
            return False
        is_shipped = self.scenario.membership is Membership.SHIPPED
        # Under KIP-856 the configuration says where voters listen.
        voter = Voter(other.config.key, other.config.listeners if is_shipped else ())
        request = add_raft_voter_request(CLUSTER, voter, timeout_ms=0, ack_when_committed=True)
        return self._ask(step, request)

    def _remove(self, step: Step) -> bool:
        replica = self.nodes[step.node].replica
        voters = [] if replica is None else [voter.key for voter in replica.core.voters]
        if step.place >= len(voters):
            return False
        return self._ask(step, remove_raft_voter_request(CLUSTER, voters[step.place]))

    def _ask(self, step: Step, message: Message) -> bool:
        """Hand a node what a client asks for."""
        self.handed = message
        newest = message.VALID_VERSIONS[-1]
        token = Token(CLIENT, 0, self.events, message)
        return self._hand(step, Request(token, message, newest, LISTENER))

    def _visit(self, step: Step) -> bool:
        """Hand a node what a stranger asks, and check how far that takes its epoch."""
        replica = self.nodes[step.node].replica
        if replica is None:
            return False
        before = replica.core.epoch
        message = draw_request(step.place, replica.core, self.scenario.nodes)
        version = message.VALID_VERSIONS[-1]
        self.handed = message = self._sent(message, version)
        self.ledger.asked_by_stranger(message)
        token = Token(STRANGER, 0, self.events, message)
        self._hand(step, Request(token, message, version, LISTENER))
        self.ledger.look_at_jump(message, before, replica.core.epoch)
        return True

    def _upgrade(self, step: Step) -> bool:
        replica = self.nodes[step.node].replica
        if replica is None:
            return False
        return self._hand(step, UpgradeKRaftVersion(self.events, replica.core.epoch, 1))

    def _move(self, step: Step) -> bool:
        node = self.nodes[step.node]
        if node.replica is not None or node.has_moved:
            return False
        node.move()
        return True

    def _snapshot(self, step: Step) -> bool:
        """The state machine of a node takes a snapshot of what it knows to be committed."""
        node = self.nodes[step.node]
        if node.replica is None:
            return False
        snapshot = node.replica.snapshot_id(node.replica.core.committed)
        if snapshot is None:
            return False
        writer = begin_snapshot(node.replica.core, snapshot, self.now)
        writer.append([(_STATE, 0)] * step.place, self.now)
        content = writer.finish(self.now)
        node.store.write_snapshot(snapshot, 0, content)
        if step.crash == 0:
            self.executor.stop(node)
            return True
        node.store.finish_snapshot(snapshot)
        return self._hand(step, SnapshotTaken(snapshot, len(content)))

    def _crash(self, step: Step) -> bool:
        node = self.nodes[step.node]
        if node.replica is None:
            return False
        self.ledger.reopen(node)
        self.executor.stop(node)
        return True

    def _start(self, step: Step) -> bool:
        node = self.nodes[step.node]
        if node.replica is not None:
            return False
        try:
            effects = node.start(self.now)
        except KraftwireError as error:
            if not node.is_damaged:
                raise Broken("disks read back", f"node {node.number}: {error}") from None
            return False
        if node.is_damaged:
            raise Broken("damage is noticed", f"node {node.number} starts")
        self.executor.do(node, effects, step.crash)
        return True

    def _fail(self, step: Step) -> bool:
        node = self.nodes[step.node]
        if node.replica is None or node.fails_flush:
            return False
        node.fails_flush = True
        return True

    def _reset(self, step: Step) -> bool:
        one, two = self.nodes[step.node], self.nodes[step.other]
        for sender, receiver in ((one, two), (two, one)):
            self.network.clear(sender.number, receiver.number)
        for sender, receiver in ((one, two), (two, one)):
            for number in [key for key, to in sender.waiting.items() if to == receiver.number]:
                del sender.waiting[number]
                self.executor.fail(receiver.number, sender.number, number, sender.life)
        return True

    def _wipe(self, step: Step) -> bool:
        node = self.nodes[step.node]
        if node.replica is not None:
            self.executor.stop(node)
        node.wipe()
        return True

    def _flip(self, step: Step) -> bool:
        node = self.nodes[step.node]
        if node.is_damaged or not node.flip(step.place):
            return False
        node.is_damaged = True
        return True

    # -- nodes ---------------------------------------------------------------------------------

    def _hand(self, step: Step, what: Input) -> bool:
        node = self.nodes[step.node]
        if node.replica is None:
            return False
        self.executor.do(node, node.step(self.now, what), step.crash)
        return True
