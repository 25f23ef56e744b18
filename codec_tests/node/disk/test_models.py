"""A store on disk beside one in memory: the same steps leave the same, opened at any time."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftwire.raft.metadata_log.memory_store import MemoryStore

from codec_tests.node.disk.disks import batch_at, opened, read_all, seen, seen_in_copy
from codec_tests.node.disk.model import KINDS, Model

STEPS = st.lists(st.tuples(st.sampled_from([*KINDS, "reopen"]), st.integers(0, 9)), max_size=40)


@pytest.mark.slow
@settings(max_examples=40)
@given(STEPS)
def test_a_disk_opens_with_what_memory_holds(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        memory = MemoryStore()
        memory.recover()
        with opened(base / "disk") as (disk, _):
            model = Model(memory, disk)
            for kind, number in steps:
                model.step(kind, number)
                if kind == "reopen":
                    disk.close()
                    disk.recover()
                log = model.log
                assert read_all(disk, log.start, log.end) == bytes(memory.log)
                held = memory.copy()
                found = seen_in_copy(base / "disk", base / "copy")
                assert found == seen(held, held.recover())
                assert (found.start, found.end, found.epochs) == (log.start, log.end, log.epochs)
                assert found.snapshots == log.snapshots


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.data())
def test_reads_are_whole_batches_and_at_least_one(sizes: list[int], data: st.DataObject) -> None:
    batches = [batch_at(sum(sizes[:at]), size) for at, size in enumerate(sizes)]
    memory = MemoryStore()
    with tempfile.TemporaryDirectory() as temporary, opened(Path(temporary)) as (disk, _):
        for batch in batches:
            memory.append(batch)
            disk.append(batch)
        offset = data.draw(st.integers(0, sum(sizes) - 1))
        max_bytes = data.draw(st.integers(0, 1000))
        found, expected = disk.read(offset, max_bytes), memory.read(offset, max_bytes)
        first = next(one for one in batches if one.header.last_offset >= offset)
        assert found.startswith(first.data)
        assert expected.startswith(found)
        ends = {sum(len(one.data) for one in batches[:count]) for count in range(len(batches) + 1)}
        assert sum(len(one.data) for one in batches[: batches.index(first)]) + len(found) in ends
