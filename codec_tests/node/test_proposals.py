"""Proposals that wait go into one batch, and each is told where its records are."""

from __future__ import annotations

import asyncio

import pytest

from kraftwire.node.proposals import NotCommitted, Proposals


def test_what_waits_is_one_batch_and_each_has_its_offset() -> None:
    async def run() -> list[int]:
        proposals = Proposals(1 << 20)
        waits = [proposals.add(values) for values in ([b"a"], [b"b", b"c"], [b"d"])]
        batch = proposals.next_batch()
        assert batch is not None
        assert list(batch.values) == [b"a", b"b", b"c", b"d"]
        assert proposals.next_batch() is None
        proposals.settle(batch.token, 14)  # type: ignore[arg-type]
        return await asyncio.gather(*waits)

    assert asyncio.run(run()) == [11, 13, 14]


def test_a_batch_has_a_size() -> None:
    async def run() -> None:
        proposals = Proposals(1000)
        for value in (b"a" * 500, b"b" * 500):
            proposals.add([value])
        batches = [proposals.next_batch(), proposals.next_batch()]
        assert [next(iter(one.values))[:1] for one in batches if one] == [b"a", b"b"]
        with pytest.raises(NotCommitted, match="propose fewer") as found:
            proposals.add([b"c" * 1000])
        assert found.value.is_lost

    asyncio.run(run())


def test_nobody_knows_what_became_of_what_was_in_the_log() -> None:
    async def run() -> None:
        proposals = Proposals(1000)
        wait = proposals.add([b"a"])
        batch = proposals.next_batch()
        assert batch is not None
        proposals.settle(batch.token, None)  # type: ignore[arg-type]
        with pytest.raises(NotCommitted) as found:
            await wait
        assert not found.value.is_lost

    asyncio.run(run())


def test_what_was_never_proposed_is_lost() -> None:
    async def run() -> None:
        proposals = Proposals(1000)
        wait = proposals.add([b"a"])
        proposals.refuse("the node has stopped")
        with pytest.raises(NotCommitted, match="stopped") as found:
            await wait
        assert found.value.is_lost

    asyncio.run(run())


def test_when_a_node_stops_nobody_waits_for_ever() -> None:
    async def run() -> None:
        proposals = Proposals(1000)
        in_log = proposals.add([b"a"])
        proposals.next_batch()
        waiting = proposals.add([b"b"])
        proposals.give_up("the node has stopped")
        found = await asyncio.gather(in_log, waiting, return_exceptions=True)
        assert [one.is_lost for one in found if isinstance(one, NotCommitted)] == [False, True]

    asyncio.run(run())


def test_who_does_not_wait_any_more_is_not_told() -> None:
    async def run() -> None:
        proposals = Proposals(1000)
        wait = proposals.add([b"a"])
        batch = proposals.next_batch()
        wait.cancel()
        assert batch is not None
        proposals.settle(batch.token, 1)  # type: ignore[arg-type]

    asyncio.run(run())
