"""Replicas that lose, repeat and reorder what they say, and crash, and what they commit.

Each run is made of a seed. Effects are done in their order; a crash may come between any two.
"""

from __future__ import annotations

import pytest

from kraftwire.raft.core.roles import Leader

from codec_tests.raft.quorums import Quorum


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(12))
def test_no_epoch_has_two_leaders_and_quiet_ones_have_one(seed: int, size: int) -> None:
    quorum = Quorum(seed, size)
    for _ in range(1500):
        quorum.event()
    quorum.calm()
    before = max(quorum.leaders, default=0)
    for _ in range(4000):
        quorum.event()
        led = max(quorum.leaders, default=0)
        if led > before or any(
            node.replica is not None and isinstance(node.replica.core.role, Leader)
            for node in quorum.nodes.values()
        ):
            return
    raise AssertionError("nobody was elected")


def test_who_was_away_catches_up_by_a_snapshot() -> None:
    quorum = Quorum(2, 3)
    quorum.faults = False
    for _ in range(2000):
        quorum.event()
    quorum.crash(3)
    quorum.away = 3
    for _ in range(3000):
        quorum.event()
    assert not quorum.installed
    quorum.away = None
    start = max(node.store.copy().recover().log.start for node in quorum.nodes.values())
    assert start > quorum.checked[3]
    for _ in range(2000):
        quorum.event()
    found = quorum.nodes[3].replica
    assert found is not None
    assert quorum.installed
    assert found.core.committed > start
