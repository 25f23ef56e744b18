"""A process that takes random steps on a disk, tells of each when it is done, and is killed."""

from __future__ import annotations

import os
import random
from pathlib import Path

from kraftwire.node.disk.replica_disk import DiskStore

from codec_tests.node.disk.disks import PARTITION, SMALL
from codec_tests.node.disk.model import KINDS, Model


def steps_of(seed: int, count: int) -> list[tuple[str, int]]:
    """The steps that a seed stands for."""
    chance = random.Random(seed)
    return [(chance.choice(KINDS), chance.randrange(10)) for _ in range(count)]


def run(directory: str, seed: int, count: int) -> None:
    """Take the steps; a byte on standard output for each that is done."""
    store = DiskStore(Path(directory) / PARTITION, settings=SMALL)
    store.recover()
    model = Model(store)
    for step in steps_of(seed, count):
        model.step(*step)
        os.write(1, b".")
