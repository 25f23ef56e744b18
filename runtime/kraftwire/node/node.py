"""A node: a replica with disk, network, clock and state machine in one asyncio loop.

    node = Node(config_of, store, machine)
    await node.start()
    end = await node.propose([b"a record"])
    await node.close()

The node writes to the disk in the loop itself: it may not announce anything before it is durable,
so it has little else to do meanwhile. If the disk or the state machine fails, the node stops, and
`ended` has the exception.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from kraftwire.net.descriptors import check_limit
from kraftwire.net.limits import Limits
from kraftwire.net.log_rate import LogRate
from kraftwire.net.security import PLAINTEXT, ClientSecurity
from kraftwire.net.server import Call, Endpoint, Server
from kraftwire.node.driver import Driver, Handlers
from kraftwire.node.known_peers import KnownPeers
from kraftwire.node.peers import Peers
from kraftwire.node.proposals import NotCommitted, Proposals
from kraftwire.node.refusals import Refusals
from kraftwire.node.state_machine import Applier, StateMachine
from kraftwire.raft.core.effects import (
    Committed,
    Disconnect,
    InstallSnapshot,
    Leading,
    ProposalOutcome,
    RefusedClaim,
    Reply,
    Send,
    Stopped,
    StoppedLeading,
    UpgradeOutcome,
)
from kraftwire.raft.core.inputs import Input, Request, RequestLost, ShutDown, SnapshotTaken, Tick
from kraftwire.raft.core.roles import Role
from kraftwire.raft.core.snapshots import begin_snapshot
from kraftwire.raft.metadata_log.store import Recovered, Store
from kraftwire.raft.self_description.api_versions import APIS
from kraftwire.raft.self_description.metrics import metrics_of
from kraftwire.raft.state.config import Config

_log = logging.getLogger("kraftwire.node")
_STOPPED = "the node has stopped"


class NodeSettings(NamedTuple):
    """Settings of a node, besides the config of its replica."""

    endpoints: tuple[Endpoint, ...] = ()
    """Its listeners; an observer needs none."""
    limits: Limits = Limits()
    security: ClientSecurity = PLAINTEXT
    """For its connections to other nodes."""
    client_id: str = "kraftwire"
    principals: frozenset[str] | None = None
    """Who may change the voters; None for everybody."""
    snapshot_bytes: int = 20 << 20
    """The node takes a snapshot when the log has grown by this much since the last one."""
    snapshot_interval_ms: int = 3_600_000
    """It also takes one after this time if the log has grown at all; 0 disables that."""
    passes_controls: bool = False
    """Whether the state machine gets control batches too."""


class Node:
    """Runs a replica; call `start` first, and `close` in the end."""

    def __init__(
        self,
        config_of: Callable[[Mapping[str, int]], Config],
        store: Store,
        machine: StateMachine,
        settings: NodeSettings = NodeSettings(),  # noqa: B008  # immutable
    ) -> None:
        """`config_of` returns the replica's config, given the ports of the listeners."""
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
        self._role_rate = LogRate(_log)
        self._refusals = Refusals(settings.principals)
        self._server = Server(
            settings.endpoints,
            APIS,
            self._handle,
            settings.limits,
            lambda call: self._step(RequestLost(call)),
            lambda host: self._known is not None and self._known.is_host_known(host),
        )

    # -- for the owner -------------------------------------------------------------------------

    async def start(self) -> None:
        """Recover the store, listen and start; raise `KraftwireError` or `OSError` on failure."""
        check_limit()
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.ended.add_done_callback(lambda ended: ended.exception())  # the owner may not await it
        recovered = self._store.recover()
        await self._server.start()
        self.config = self._config_of(self._server.ports)
        self._build(recovered)
        latest = recovered.log.latest_snapshot
        if latest is not None:
            self._applier.load(latest)
        self._committed = self._driver.replica.core.committed
        self._guard(self._driver.start)

    def _build(self, recovered: Recovered) -> None:
        config, settings = self.config, self._settings
        self._proposals = Proposals(config.max_batch_bytes)
        self._applier = Applier(
            self._store,
            self.machine,
            controls=settings.passes_controls,
            max_batch_bytes=config.max_batch_bytes,
        )
        known = KnownPeers(config.bootstrap, lambda: self._driver.replica.core.voters)
        self._peers = Peers(
            settings.security,
            settings.client_id,
            config.request_timeout_ms,
            self._step,
            known,
            settings.limits,
            max_batch_bytes=config.max_batch_bytes,
        )
        handlers = self._handlers()
        self._driver = Driver(config, self._store, recovered, handlers, self._clock.now)
        self._known = known

    async def close(self) -> None:
        """Resign as leader, stop, and close all connections."""
        if not self.ended.done():
            self._step(ShutDown())
            with suppress(Exception):
                await asyncio.shield(self.ended)
        for handle in (self._timer, self._applying, self._proposing):
            if handle is not None:
                handle.cancel()
        await self._server.close()
        await self._peers.close()

    async def propose(self, values: Sequence[bytes]) -> int:
        """Commit records and return the offset after the last; raise `NotCommitted` otherwise.

        The state machine of this node has applied them when this returns.
        """
        if self._leads is None:
            raise NotCommitted(f"node {self.config.key.id} does not lead", is_lost=True)
        done = self._proposals.add(values)
        if self._proposing is None:
            self._proposing = self._loop.call_soon(self._guard, self._propose)
        end = await done
        await self.applied(end)
        return end

    async def applied(self, offset: int) -> None:
        """Wait until the state machine has all records before an offset."""
        if self._applier.applied < offset and self.ended.done():
            raise NotCommitted(_STOPPED, is_lost=False)
        await self._applier.wait_for(offset)

    @property
    def leads(self) -> int | None:
        """The epoch in which this node leads and takes proposals; None if it does not."""
        return self._leads

    @property
    def leader_id(self) -> int | None:
        """The id of the leader that accepts proposals; None if this node knows of none.

        A node names itself only while it accepts proposals: not after it has resigned, nor before
        all voters are named (KIP-856). To other replicas it is still the leader of its epoch.
        """
        leader = self._driver.replica.core.leader_id
        return None if leader == self.config.key.id and self._leads is None else leader

    @property
    def ports(self) -> dict[str, int]:
        """The port of each listener."""
        return self._server.ports

    @property
    def committed(self) -> int:
        """The offset after the last record that this node knows to be committed."""
        return self._committed

    @property
    def applied_to(self) -> int:
        """The offset after the last record that the state machine has."""
        return self._applier.applied

    def metrics(self) -> dict[str, int | str]:
        """Return Kafka's raft metrics of the replica."""
        return metrics_of(self._driver.replica.core)

    # -- inputs of the replica -----------------------------------------------------------------

    def _handle(self, call: Call) -> None:
        error = self._refusals.check(call)
        if error is not None:
            call.answer(error)
        else:
            self._step(Request(call, call.message, call.version, call.listener))

    def _step(self, what: Input) -> None:
        self._guard(lambda: self._driver.step(what))

    def _guard(self, work: Callable[[], object]) -> None:
        """Call `work` and set the timer again; an exception ends the node."""
        if self.ended.done():
            return
        try:
            work()
            self._report()
            self._set_timer()
        except Exception as error:  # noqa: BLE001  # a failed disk, or a bug: stop
            _log.error("stopped", extra={"why": str(error) or type(error).__name__})
            self._end(error)

    def _report(self) -> None:
        core = self._driver.replica.core
        if core.role is not self._role:
            self._role = core.role
            if self._role_rate.allows():
                extra = {"role": type(core.role).__name__, "epoch": core.role.epoch}
                _log.info("is now", extra=extra)
        if core.refused is not None:
            self._refusals.log_batches(core.leader_id, core.refused)
            core.refused = None

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = self._driver.deadline()
        if deadline is not None and not self.ended.done():
            wait = max(deadline - self._clock.now(), 0) / 1000
            self._timer = self._loop.call_later(wait, self._step, Tick())

    def _end(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        self._leads = None
        self._proposals.give_up(_STOPPED)
        self._applier.fail_waiters(NotCommitted(_STOPPED, is_lost=False))
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)

    # -- effects of the replica ----------------------------------------------------------------

    def _handlers(self) -> Handlers:
        return {
            Send: self._peers.send,
            Reply: lambda effect: _call_of(effect).answer(effect.message, effect.version),
            Disconnect: lambda effect: _call_of(effect).disconnect(),
            Committed: self._commit,
            InstallSnapshot: self._install,
            Leading: self._lead,
            StoppedLeading: self._stop_leading,
            ProposalOutcome: lambda effect: self._proposals.settle(effect.token, effect.end),
            UpgradeOutcome: lambda effect: None,
            RefusedClaim: self._refusals.log_claim,
            Stopped: lambda effect: self._end(None),
        }

    def _commit(self, effect: Committed) -> None:
        self._committed = effect.high_watermark
        self._apply_soon()

    def _install(self, effect: InstallSnapshot) -> None:
        self._applier.load(effect.snapshot)
        self._apply_soon()

    def _lead(self, effect: Leading) -> None:
        self._leads = effect.epoch

    def _stop_leading(self, effect: StoppedLeading) -> None:
        self._leads = None
        self._refuse_proposals()

    def _refuse_proposals(self) -> None:
        self._proposals.refuse(f"node {self.config.key.id} no longer leads")

    # -- work that waits for its turn in the loop ------------------------------------------------

    def _apply_soon(self) -> None:
        if self._applying is None:
            self._applying = self._loop.call_soon(self._guard, self._apply)

    def _apply(self) -> None:
        self._applying = None
        if self._applier.apply_some(self._committed):
            self._apply_soon()
        self._take_snapshot_if_due()

    def _take_snapshot_if_due(self) -> None:
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
        self._driver.step(SnapshotTaken(snapshot, len(content)))

    def _propose(self) -> None:
        self._proposing = None
        while self._leads is not None:
            batch = self._proposals.next_batch()
            if batch is None:
                return
            self._driver.step(batch)
        self._refuse_proposals()


class _Clock:
    """Ms since 1970; never goes back, even if the computer's clock does."""

    def __init__(self) -> None:
        self._begin = time.time() - time.monotonic()

    def now(self) -> int:
        return int((self._begin + time.monotonic()) * 1000)


def _call_of(effect: Reply | Disconnect) -> Call:
    assert isinstance(effect.token, Call), "requests come as calls"
    return effect.token
