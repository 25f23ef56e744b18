"""The nodes and the network of a run: `World.apply` takes one step and checks the rules."""

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
from kraftwire.raft.core.messages import add_raft_voter_request, remove_raft_voter_request
from kraftwire.raft.core.snapshots import begin_snapshot
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.config import Membership
from kraftwire.raft.state.voters import Voter
from kraftwire.simulation.executor import Executor, Watcher
from kraftwire.simulation.forged_requests import draw_request
from kraftwire.simulation.ledger import Ledger, RuleViolation
from kraftwire.simulation.network import CLIENT, STRANGER, Network, Token, transcode
from kraftwire.simulation.node import SimulatedNode
from kraftwire.simulation.scenario import CLUSTER, LISTENER, Scenario
from kraftwire.simulation.steps import Action, Step
from kraftwire_messages.kafka import NoOpRecord
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message

_STATE = NoOpRecord()
"""A record of the state machine in a snapshot; only the number of these matters."""


class World:
    """A cluster in the middle of a run."""

    def __init__(self, scenario: Scenario, watcher: Watcher, *, codecs: bool = True) -> None:
        """With `codecs`, every message is encoded and decoded on delivery."""
        self.scenario = scenario
        self.watcher = watcher
        self.codecs = codecs
        self.now = 0
        self.events = 0
        """The number of steps that were possible."""
        self.nodes = {number: SimulatedNode(number, scenario) for number in scenario.nodes}
        self.network = Network()
        self.ledger = Ledger(self.nodes)
        self.executor = Executor(self.nodes, self.network, self.ledger, watcher)
        self.last_message: Message | None = None
        """The message that the last step delivered."""
        self._proposals = 0
        self._handlers: dict[Action, Callable[[Step, SimulatedNode], bool]] = {
            Action.DELIVER: self._deliver,
            Action.REPEAT: self._deliver,
            Action.LOSE: self._lose,
            Action.MOVE: self._move,
            Action.START: self._start,
            Action.CUT: lambda step, _: self.network.cut(step.other, step.node),
            Action.MEND: lambda step, _: self.network.mend(step.other, step.node),
            Action.RESET: self._reset,
            Action.WIPE: self._wipe,
            Action.FLIP: self._flip,
        }
        self._running_handlers: dict[Action, Callable[[Step, SimulatedNode, Replica], bool]] = {
            Action.TICK: lambda step, node, _: self._pass(step, node, Tick()),
            Action.FLUSHED: self._confirm_flush,
            Action.PROPOSE: self._propose,
            Action.ADD: self._add_voter,
            Action.REMOVE: self._remove_voter,
            Action.UPGRADE: self._upgrade,
            Action.RESIGN: lambda step, node, _: self._pass(step, node, Resign()),
            Action.SHUT_DOWN: lambda step, node, _: self._pass(step, node, ShutDown()),
            Action.SNAPSHOT: self._take_snapshot,
            Action.STRANGER: self._send_forged_request,
            Action.CRASH: self._crash,
            Action.FAIL: self._fail_next_flush,
        }

    def apply(self, step: Step) -> bool:
        """Take a step, and return whether it was possible; raise `RuleViolation` for a broken rule.

        Steps that need a running node are not possible for a stopped one.
        """
        self.now = max(self.now, step.at)
        self.last_message = None
        node = self.nodes[step.node]
        handler = self._handlers.get(step.action)
        if handler is not None:
            done = handler(step, node)
        elif node.replica is None:
            done = False
        else:
            done = self._running_handlers[step.action](step, node, node.replica)
        self.events += done
        return done

    # -- messages ------------------------------------------------------------------------------

    def _deliver(self, step: Step, node: SimulatedNode) -> bool:
        keep = step.action is Action.REPEAT
        parcel = self.network.take(step.other, step.node, step.value, keep=keep)
        if parcel is None:
            return False
        if keep:
            self.watcher.on_send(parcel)
        if node.replica is None:
            self.last_message = parcel.message
            if parcel.is_request:
                self.executor.refuse(parcel)
            return True
        self.executor.read_content(parcel)
        if parcel.message is not None:
            parcel.message = self._transcode(parcel.message, parcel.version)
        self.last_message = parcel.message
        event = parcel.input_for(node.incarnation)
        if not parcel.is_request and parcel.token.incarnation == node.incarnation:
            node.pending.pop(parcel.token.number, None)
        return event is None or self._pass(step, node, event)

    def _transcode(self, message: Message, version: int) -> Message:
        if not self.codecs:
            return message
        try:
            return transcode(message, version)
        except KraftwireError as error:
            raise RuleViolation("messages survive their codecs", str(error)) from None

    def _lose(self, step: Step, node: SimulatedNode) -> bool:
        return self.network.take(step.other, step.node, step.value) is not None

    def _reset(self, step: Step, node: SimulatedNode) -> bool:
        other = self.nodes[step.other]
        directions = ((node, other), (other, node))
        for sender, receiver in directions:
            self.network.clear(sender.number, receiver.number)
        for sender, receiver in directions:
            requests = [one for one in sender.pending.values() if one.receiver == receiver.number]
            for request in requests:
                del sender.pending[request.token.number]
                self.executor.refuse(request)
        return True

    # -- requests of clients -------------------------------------------------------------------

    def _propose(self, step: Step, node: SimulatedNode, replica: Replica) -> bool:
        self._proposals += 1
        values = [b"%d.%d" % (self._proposals, number) for number in range(step.value)]
        return self._pass(step, node, Propose(self._proposals, values))

    def _add_voter(self, step: Step, node: SimulatedNode, replica: Replica) -> bool:
        other = self.nodes[step.other]
        if other.replica is None:
            return False
        is_shipped = self.scenario.membership is Membership.SHIPPED
        # Under KIP-856 the configuration has the listeners of voters.
        voter = Voter(other.config.key, other.config.listeners if is_shipped else ())
        request = add_raft_voter_request(CLUSTER, voter, timeout_ms=0, ack_when_committed=True)
        return self._request(step, node, request)

    def _remove_voter(self, step: Step, node: SimulatedNode, replica: Replica) -> bool:
        voters = replica.core.voters.voters
        if step.value >= len(voters):
            return False
        request = remove_raft_voter_request(CLUSTER, voters[step.value].key)
        return self._request(step, node, request)

    def _request(
        self, step: Step, node: SimulatedNode, message: Message, sender: int = CLIENT
    ) -> bool:
        self.last_message = message
        newest = message.VALID_VERSIONS[-1]
        token = Token(sender, 0, self.events, message)
        return self._pass(step, node, Request(token, message, newest, LISTENER))

    def _send_forged_request(self, step: Step, node: SimulatedNode, replica: Replica) -> bool:
        """Send a forged request, and check how far it raises the node's epoch."""
        epoch = replica.core.epoch
        message = draw_request(step.value, replica.core, self.scenario.nodes)
        message = self._transcode(message, message.VALID_VERSIONS[-1])
        self.ledger.note_forged_request(message)
        self._request(step, node, message, STRANGER)
        self.ledger.check_jump(message, epoch, replica.core.epoch)
        return True

    def _upgrade(self, step: Step, node: SimulatedNode, replica: Replica) -> bool:
        return self._pass(step, node, UpgradeKRaftVersion(self.events, replica.core.epoch, 1))

    # -- nodes ---------------------------------------------------------------------------------

    def _pass(self, step: Step, node: SimulatedNode, event: Input) -> bool:
        """Pass an input to a running node and carry out the effects."""
        self.executor.execute(node, node.step(self.now, event), step.crash)
        return True

    def _start(self, step: Step, node: SimulatedNode) -> bool:
        if node.replica is not None:
            return False
        try:
            effects = node.start(self.now)
        except KraftwireError as error:
            if not node.is_damaged:
                detail = f"node {node.number}: {error}"
                raise RuleViolation("disks read back", detail) from None
            return False
        if node.is_damaged:
            raise RuleViolation("damage is noticed", f"node {node.number} starts")
        self.executor.execute(node, effects, step.crash)
        return True

    def _crash(self, step: Step, node: SimulatedNode, replica: Replica) -> bool:
        self.ledger.check_disk(node)
        self.executor.stop(node)
        return True

    def _move(self, step: Step, node: SimulatedNode) -> bool:
        if node.replica is not None or node.has_moved:
            return False
        node.move()
        return True

    # -- disks ---------------------------------------------------------------------------------

    def _confirm_flush(self, step: Step, node: SimulatedNode, replica: Replica) -> bool:
        return bool(node.unconfirmed) and self._pass(step, node, Flushed(node.unconfirmed.pop(0)))

    def _fail_next_flush(self, step: Step, node: SimulatedNode, replica: Replica) -> bool:
        if node.fails_flush:
            return False
        node.fails_flush = True
        return True

    def _take_snapshot(self, step: Step, node: SimulatedNode, replica: Replica) -> bool:
        """Take a snapshot of the records that the node knows to be committed."""
        snapshot = replica.snapshot_id(replica.core.committed)
        if snapshot is None:
            return False
        writer = begin_snapshot(replica.core, snapshot, self.now)
        writer.append([(_STATE, 0)] * step.value, self.now)
        content = writer.finish(self.now)
        node.store.write_snapshot(snapshot, 0, content)
        if step.crash == 0:
            self.executor.stop(node)
            return True
        node.store.finish_snapshot(snapshot)
        return self._pass(step, node, SnapshotTaken(snapshot, len(content)))

    def _wipe(self, step: Step, node: SimulatedNode) -> bool:
        if node.replica is not None:
            self.executor.stop(node)
        node.wipe()
        return True

    def _flip(self, step: Step, node: SimulatedNode) -> bool:
        if node.is_damaged or not node.flip(step.value):
            return False
        node.is_damaged = True
        return True
