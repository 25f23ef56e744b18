"""Nodes over loopback: they elect, commit, take over, catch up, and stop where they must."""

from __future__ import annotations

import asyncio
import errno

import pytest

from kraftwire.log.batches.batch import Batch
from kraftwire.net.client import Connection
from kraftwire.node.key_value import KeyValues, put
from kraftwire.node.proposals import NotCommitted
from kraftwire.raft.core.messages import fetch_request
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_wire.errors import KraftwireError

from codec_tests.node.clusters import cluster, keys_of, run, until


def test_a_sole_voter_commits() -> None:
    async def scene() -> None:
        async with cluster(1) as one:
            node = await one.leader()
            end = await node.propose([put("a", "1")])
            assert (end, keys_of(node)) == (node.committed, {"a": "1"})

    run(scene())


@pytest.mark.slow
def test_what_a_leader_commits_every_node_applies() -> None:
    async def scene() -> None:
        async with cluster(3) as three:
            leader = await three.leader()
            await asyncio.gather(
                *(leader.propose([put(f"key {number}", str(number))]) for number in range(200))
            )
            nodes = three.nodes.values()
            await until(lambda: all(len(keys_of(node)) == 200 for node in nodes))
            assert len({tuple(keys_of(node).items()) for node in three.nodes.values()}) == 1

    run(scene())


@pytest.mark.slow
def test_only_a_leader_takes_proposals() -> None:
    async def scene() -> None:
        async with cluster(3) as three:
            leader = await three.leader()
            other = next(node for node in three.nodes.values() if node is not leader)
            with pytest.raises(NotCommitted, match="does not lead") as found:
                await other.propose([put("a", "1")])
            assert found.value.is_lost

    run(scene())


@pytest.mark.slow
def test_a_leader_that_stops_is_followed_by_another_and_comes_back() -> None:
    async def scene() -> None:
        async with cluster(3) as three:
            first = await three.leader()
            await first.propose([put("a", "1")])
            number = first.config.key.id
            await three.stop(number)
            second = await three.leader()
            await second.propose([put("b", "2")])
            again = await three.start(number)
            await until(lambda: keys_of(again) == {"a": "1", "b": "2"})

    run(scene())


@pytest.mark.slow
def test_a_node_that_was_away_for_long_begins_with_a_snapshot() -> None:
    async def scene() -> None:
        async with cluster(3) as three:
            await three.stop(3)
            leader = await three.leader()
            for other in (1, 2):
                three.nodes[other]._settings = leader._settings._replace(snapshot_bytes=1000)
            for number in range(30):
                await leader.propose([put("key", "x" * 100 + str(number))])
            store = three.stores[leader.config.key.id]
            assert isinstance(store, MemoryStore)
            assert store.snapshots
            again = await three.start(3, MemoryStore(three.voters))
            await until(lambda: keys_of(again) == keys_of(leader))
            mine = three.stores[3]
            assert isinstance(mine, MemoryStore)
            assert mine.snapshots.keys() <= store.snapshots.keys()
            assert mine.snapshots

    run(scene())


def test_a_fetch_that_waits_goes_with_its_client() -> None:
    async def scene() -> None:
        async with cluster(1) as one:
            node = await one.leader()
            await until(lambda: node.committed > 0)
            core = node._driver.replica.core
            assert isinstance(core.role, Leader)
            parked = core.role.purgatory
            for _ in range(5):
                request = fetch_request(
                    "a cluster",
                    ReplicaKey(9),
                    core.epoch,
                    OffsetAndEpoch(core.log.end, core.log.last_epoch),
                    1 << 62,
                    max_wait_ms=2**31 - 1,
                    max_bytes=1000,
                )
                connection = await Connection.open(*one.addresses[1])
                asked = asyncio.ensure_future(connection.ask(request))
                await until(lambda: len(parked) == 1)
                await connection.close()
                with pytest.raises(ConnectionError):
                    await asked
                await until(lambda: len(parked) == 0)

    run(scene())


def test_a_disk_that_fails_stops_the_node_and_says_why() -> None:
    class Full(MemoryStore):
        def flush(self) -> None:
            if len(self.log) > 1000:
                raise OSError(errno.ENOSPC, "No space left on device", "00000.log")
            super().flush()

    async def scene() -> None:
        async with cluster(1) as one:
            await one.stop(1)
            node = await one.start(1, Full(one.voters))
            await until(lambda: node.leads is not None)
            with pytest.raises(NotCommitted) as found:
                await node.propose([b'["put", "a", "' + b"x" * 1000 + b'"]'])
            assert not found.value.is_lost
            with pytest.raises(OSError, match="No space left"):
                await node.ended

    run(scene())


def test_a_state_machine_that_fails_stops_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: KeyValues, __: Batch) -> None:
        raise KraftwireError("it cannot go on")

    async def scene() -> None:
        async with cluster(1) as one:
            node = await one.leader()
            monkeypatch.setattr(KeyValues, "apply", fail)
            with pytest.raises(NotCommitted):
                await node.propose([put("a", "1")])
            with pytest.raises(KraftwireError, match="it cannot go on"):
                await node.ended

    run(scene())


def test_a_record_that_the_example_cannot_read_is_skipped_now_and_after_a_start() -> None:
    async def scene() -> None:
        async with cluster(1) as one:
            node = await one.leader()
            await node.propose([put("a", "1"), b"no change of a key", put("b", "2")])
            assert keys_of(node) == {"a": "1", "b": "2"}
            await one.stop(1)
            again = await one.start(1)
            await until(lambda: again.leads is not None)
            await again.propose([put("c", "3")])
            assert keys_of(again) == {"a": "1", "b": "2", "c": "3"}
            assert isinstance(again.machine, KeyValues)
            assert again.machine.skipped == 1

    run(scene())
