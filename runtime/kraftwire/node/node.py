"""A node: a replica with disk, network, clock and state machine, in one asyncio loop.

    node = Node(config_of, store, machine)
    await node.start()
    end = await node.propose([b"a record"])
    await node.close()

The disk is written in the loop: nothing may be said before it is durable, and so there is little
else to do meanwhile. Where it fails, or the state machine does, the node stops, and `ended` tells
why: what it would say from then on could not be relied on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from kraftwire.net.descriptors import check_limit
from kraftwire.net.limits import Limits
from kraftwire.net.log_rate import LogRate, report_left_out
from kraftwire.net.security import PLAINTEXT, ClientSecurity
from kraftwire.net.server import Call, Endpoint, Server
from kraftwire.node.access import is_allowed, refusal
from kraftwire.node.driver import Driver
from kraftwire.node.known_peers import KnownPeers
from kraftwire.node.machine import Applier, StateMachine
from kraftwire.node.peers import Peers
from kraftwire.node.proposals import NotCommitted, Proposals
from kraftwire.printing import shortened
from kraftwire.raft.core.effects import (
    Committed,
    Disconnect,
    InstallSnapshot,
    Leading,
    Refused,
    Reply,
    Send,
    Settled,
    Stopped,
    StoppedLeading,
    Upgraded,
)
from kraftwire.raft.core.inputs import Input, Request, RequestLost, ShutDown, SnapshotTaken, Tick
from kraftwire.raft.core.listeners import announced_problem
from kraftwire.raft.core.roles import Role
from kraftwire.raft.core.snapshots import begin_snapshot
from kraftwire.raft.metadata_log.store import Store
from kraftwire.raft.self_description.api_versions import APIS
from kraftwire.raft.self_description.metrics import metrics_of
from kraftwire.raft.state.config import Config

_log = logging.getLogger("kraftwire.node")
_STOPPED = "the node has stopped"
_MOST_REASON = 500
"""Characters of a reason in a log line: one about a limit says how to raise it."""


class Settings(NamedTuple):
    """What a node is told beside what its replica is."""

    endpoints: tuple[Endpoint, ...] = ()
    """Where it listens; an observer may do without."""
    limits: Limits = Limits()
    security: ClientSecurity = PLAINTEXT
    """How it connects to other nodes."""
    client_id: str = "kraftwire"
    principals: frozenset[str] | None = None
    """Who may change the voters; None for everybody."""
    snapshot_bytes: int = 20 << 20
    """A snapshot is taken when so much was added to the log since the last."""
    snapshot_interval_ms: int = 3_600_000
    """Or when it was so long ago, and anything was added; 0 for no such limit."""
    hands_on_controls: bool = False
    """Whether the state machine is handed control batches too."""


class Node:
    """See the module."""

    def __init__(
        self,
        config_of: Callable[[Mapping[str, int]], Config],
        store: Store,
        machine: StateMachine,
        settings: Settings = Settings(),  # noqa: B008  # nobody changes it
    ) -> None:
        """`config_of` makes what the replica is told, out of the ports of its listeners."""
        self.machine = machine
        self._config_of = config_of
        self._settings = settings
        self._clock = _Clock()
        self._store = store
        self._role: Role | None = None
        self._leads: int | None = None
        self._committed = 0
        self._snapshot_at = self._clock.now() + settings.snapshot_interval_ms
        self._timer: asyncio.TimerHandle | None = None
        self._applying: asyncio.Handle | None = None
        self._proposing: asyncio.Handle | None = None
        self._known: KnownPeers | None = None
        self._rate, self._role_rate = LogRate(report_left_out(_log)), LogRate(report_left_out(_log))
        self._server = Server(
            settings.endpoints,
            APIS,
            self._handle,
            settings.limits,
            self._lose,
            lambda host: self._known is not None and self._known.is_host_known(host),
        )
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._claim_rate = LogRate(_report_claims)

    # -- for those who run it ------------------------------------------------------------------

    async def start(self) -> None:
        """Open the store, listen, begin; raise `KraftwireError` or `OSError` if that fails."""
        check_limit()
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.ended.add_done_callback(lambda ended: ended.exception())  # if nobody else looks
        recovered = self._store.recover()
        await self._server.start()
        self.config = config = self._config_of(self._server.ports)
        self._proposals = Proposals(config.max_batch_bytes)
        self._applier = Applier(
            self._store,
            self.machine,
            controls=self._settings.hands_on_controls,
            max_batch_bytes=config.max_batch_bytes,
        )
        known = KnownPeers(config.bootstrap, lambda: self._driver.replica.core.voters)
        self._peers = Peers(
            self._settings.security,
            self._settings.client_id,
            config.request_timeout_ms,
            self._take,
            known,
            self._settings.limits,
            max_batch_bytes=config.max_batch_bytes,
        )
        self._driver = Driver(config, self._store, recovered, self, self._clock.now)
        self._known = known
        latest = recovered.log.latest_snapshot
        if latest is not None:
            self._applier.load(latest)
        self._committed = self._driver.replica.core.committed
        self._guarded(self._driver.start)

    async def close(self) -> None:
        """Hand over the leadership, stop, and let go of disk and network."""
        if not self.ended.done():
            self._take(ShutDown())
            with suppress(Exception):
                await asyncio.shield(self.ended)
        for handle in (self._timer, self._applying, self._proposing):
            if handle is not None:
                handle.cancel()
        await self._server.close()
        await self._peers.close()

    async def propose(self, values: Sequence[bytes]) -> int:
        """Have records committed; the offset behind the last. `NotCommitted` where they are not.

        The state machine of this node has applied them by then.
        """
        if self._leads is None:
            raise NotCommitted(f"node {self.config.key.id} does not lead", is_lost=True)
        done = self._proposals.add(values)
        self._propose_soon()
        end = await done
        await self.applied(end)
        return end

    async def applied(self, offset: int) -> None:
        """Wait until the state machine has all records before an offset."""
        if self._applier.applied < offset and self.ended.done():
            raise NotCommitted(_STOPPED, is_lost=False)
        if self._applier.applied < offset:
            waits = self._loop.create_future()
            self._waiting.append((offset, waits))
            await waits

    @property
    def leads(self) -> int | None:
        """The epoch in which this node leads, and takes proposals; None where it does not."""
        return self._leads

    @property
    def leader_id(self) -> int | None:
        """Return the id of the leader that takes proposals; None if this node knows of none.

        A node names itself only while it takes proposals: not once it has resigned, and not before
        all voters are named (KIP-856). To other replicas it is still the leader of its epoch.
        """
        leader = self._driver.replica.core.leader_id
        return None if leader == self.config.key.id and self._leads is None else leader

    @property
    def ports(self) -> dict[str, int]:
        """On which port each listener listens."""
        return self._server.ports

    @property
    def committed(self) -> int:
        """The offset behind what this node knows to be committed."""
        return self._committed

    @property
    def applied_to(self) -> int:
        """The offset behind what the state machine has."""
        return self._applier.applied

    def metrics(self) -> dict[str, int | str]:
        """What the replica tells of itself in numbers."""
        return metrics_of(self._driver.replica.core)

    # -- what happens --------------------------------------------------------------------------

    def _handle(self, call: Call) -> None:
        """A request has come."""
        if not is_allowed(call, self._settings.principals):
            if self._rate.allows(("refused", call.principal)):
                who = None if call.principal is None else shortened(call.principal)
                extra = {"what": type(call.message).__name__, "who": who}
                _log.warning("refused", extra=extra)
            call.answer(refusal(call))
            return
        problem = announced_problem(call.message)
        if problem is not None and self._rate.allows(("announced", call.peer.rpartition(":")[0])):
            extra = {"what": type(call.message).__name__, "who": call.peer, "why": problem}
            _log.warning("refused", extra=extra)
        self._take(Request(call, call.message, call.version, call.listener))

    def _lose(self, call: Call) -> None:
        """Forget a request whose client has gone before it was answered."""
        self._take(RequestLost(call))

    def _take(self, what: Input) -> None:
        self._guarded(lambda: self._driver.take(what))

    def _guarded(self, work: Callable[[], object]) -> None:
        """Do something, and look at the clock behind it; what fails ends the node."""
        if self.ended.done():
            return
        try:
            work()
            self._look()
        except Exception as error:  # noqa: BLE001  # of the disk, or a bug: it must not go on
            _log.error("stopped", extra={"why": str(error) or type(error).__name__})
            self._end(error)

    def _look(self) -> None:
        role = self._driver.replica.core.role
        if role is not self._role:
            self._role = role
            if self._role_rate.allows():
                extra = {"role": type(role).__name__, "epoch": role.epoch}
                _log.info("is now", extra=extra)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._report_refused()
        deadline = self._driver.deadline()
        if deadline is not None and not self.ended.done():
            wait = max(deadline - self._clock.now(), 0) / 1000
            self._timer = self._loop.call_later(wait, self._take, Tick())

    def _report_refused(self) -> None:
        """Log why the leader's batches were refused."""
        core = self._driver.replica.core
        if core.refused is not None and self._claim_rate.allows(("batches", core.leader_id)):
            extra = {"leader": core.leader_id, "why": shortened(core.refused, _MOST_REASON)}
            _log.warning("refused batches", extra=extra)
        core.refused = None

    def _end(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        self._leads = None
        self._proposals.give_up(_STOPPED)
        for _, waits in self._waiting:
            if not waits.done():
                waits.set_exception(NotCommitted(_STOPPED, is_lost=False))
        self._waiting.clear()
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)

    # -- what is committed ---------------------------------------------------------------------

    def _apply_soon(self) -> None:
        if self._applying is None:
            self._applying = self._loop.call_soon(self._guarded, self._apply)

    def _apply(self) -> None:
        self._applying = None
        if self._applier.apply_some(self._committed):
            self._apply_soon()
        applied = self._applier.applied
        for offset, waits in self._waiting:
            if offset <= applied and not waits.done():
                waits.set_result(None)
        self._waiting = [one for one in self._waiting if one[0] > applied]
        self._take_snapshot_when_due()

    def _take_snapshot_when_due(self) -> None:
        applier, now = self._applier, self._clock.now()
        interval = self._settings.snapshot_interval_ms
        is_late = interval > 0 and now >= self._snapshot_at and applier.bytes_since_snapshot > 0
        if not is_late and applier.bytes_since_snapshot < self._settings.snapshot_bytes:
            return
        self._snapshot_at = now + interval
        replica = self._driver.replica
        snapshot = replica.snapshot_id(applier.applied)
        values = None if snapshot is None else self.machine.snapshot()
        if snapshot is None or values is None:
            return
        writer = begin_snapshot(replica.core, snapshot, applier.last_timestamp)
        writer.append_values(values, now)
        content = writer.finish(now)
        self._store.write_snapshot(snapshot, 0, content)
        self._store.finish_snapshot(snapshot)
        applier.bytes_since_snapshot = 0
        _log.info("took a snapshot", extra={"offset": snapshot.offset, "bytes": len(content)})
        self._driver.take(SnapshotTaken(snapshot, len(content)))

    # -- what is proposed ----------------------------------------------------------------------

    def _propose_soon(self) -> None:
        if self._proposing is None:
            self._proposing = self._loop.call_soon(self._guarded, self._propose)

    def _propose(self) -> None:
        self._proposing = None
        while self._leads is not None:
            batch = self._proposals.next_batch()
            if batch is None:
                return
            self._driver.take(batch)
        self._proposals.refuse(f"node {self.config.key.id} does not lead any more")

    # -- what the driver hands on --------------------------------------------------------------

    def send(self, effect: Send) -> None:
        """See `Outside`."""
        self._peers.send(effect)

    def reply(self, effect: Reply) -> None:
        """See `Outside`."""
        _call_of(effect).answer(effect.message, effect.version)

    def disconnect(self, effect: Disconnect) -> None:
        """See `Outside`."""
        _call_of(effect).disconnect()

    def committed_to(self, effect: Committed | InstallSnapshot) -> None:
        """See `Outside`."""
        if isinstance(effect, InstallSnapshot):
            self._applier.load(effect.snapshot)
        else:
            self._committed = effect.high_watermark
        self._apply_soon()

    def told(self, effect: Leading | StoppedLeading | Settled | Upgraded | Stopped) -> None:
        """See `Outside`."""
        match effect:
            case Leading():
                self._leads = effect.epoch
            case StoppedLeading():
                self._leads = None
                self._proposals.refuse(f"node {self.config.key.id} does not lead any more")
            case Settled():
                batch: Any = effect.token
                self._proposals.settle(batch, effect.end)
            case Stopped():
                self._end(None)

    def refused(self, effect: Refused) -> None:
        """See `Outside`."""
        peer = effect.peer
        who = peer.peer if isinstance(peer, Call) else str(peer)
        if self._claim_rate.allows(who.rpartition(":")[0]):  # clients have many ports
            extra = {"who": shortened(who), "why": shortened(effect.reason)}
            _log.warning("refused what cannot be", extra=extra)


def _report_claims(count: int) -> None:
    _log.warning("refused more that cannot be", extra={"count": count})


class _Clock:
    """Ms since 1970 that go on evenly, whatever is done to the computer's clock meanwhile."""

    def __init__(self) -> None:
        self._begin = time.time() - time.monotonic()

    def now(self) -> int:
        """Now."""
        return int((self._begin + time.monotonic()) * 1000)


def _call_of(effect: Reply | Disconnect) -> Call:
    assert isinstance(effect.token, Call), "requests come as calls"
    return effect.token
