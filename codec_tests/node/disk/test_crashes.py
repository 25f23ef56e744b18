"""kill -9 at any point: whatever was acknowledged is there, and the log goes on."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from kraftwire.raft.metadata_log.memory_store import MemoryStore

from codec_tests.node.disk.crashing import steps_of
from codec_tests.node.disk.disks import Seen, batch_at, opened, seen
from codec_tests.node.disk.model import Model

STEPS = 400
SECONDS = 60


def run_and_kill(directory: Path, seed: int, kill_after: int) -> int:
    """Let a process take steps, and kill it after so many; how many it was done with."""
    code = (
        "from codec_tests.node.disk.crashing import run; "
        f"run({str(directory)!r}, {seed}, {STEPS})"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        done = len(process.stdout.read(kill_after))
        process.kill()
        done += len(process.stdout.read())
        process.wait(SECONDS)
    return done


def remembered(seed: int, steps: int) -> Seen:
    """What a store in memory has after so many steps."""
    memory = MemoryStore()
    memory.recover()
    model = Model(memory)
    for step in steps_of(seed, STEPS)[:steps]:
        model.step(*step)
    copy = memory.copy()
    return seen(copy, copy.recover())


def is_between(found: Seen, before: Seen, after: Seen) -> bool:
    """Whether a step was done, or not, or a truncation in part."""
    is_longer = found.log.startswith(after.log) and before.log.startswith(found.log)
    return found in (before, after) or (is_longer and found.snapshots == before.snapshots)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_store_whose_process_was_killed_has_all_that_was_acknowledged(
    tmp_path: Path, seed: int
) -> None:
    done = run_and_kill(tmp_path, seed, random.Random(seed).randrange(1, STEPS))
    assert done > 0
    with opened(tmp_path) as (store, recovered):
        found = seen(store, recovered)
        assert is_between(found, remembered(seed, done), remembered(seed, done + 1))
        store.append(batch_at(found.end, epoch=1000))
    with opened(tmp_path) as (_, recovered):
        assert recovered.log.end == found.end + 1
