"""Events per second of the simulator: with and without codecs, interpreted and compiled.

    python -m codec_tests.bench.simulation [DIR]

The same seeds run in one process and in one per core; DIR is a copy from `simulation.compiled`.
The best round counts, because other processes may use the machine. Kafka's own simulation of its
raft module does 64,000 events per second on the machine where this ran first, without loss,
reordering, disk faults or voter changes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product

from kraftwire.simulation.run import simulate

SEEDS = range(24)
ROUNDS = 3
TARGETS = {False: 50_000, True: 10_000}


def events(seed: int, *, codecs: bool) -> int:
    """Run a seed and return its number of events."""
    return simulate(seed, codecs=codecs).events


def rate(jobs: int, *, codecs: bool) -> float:
    """Return events per second over all seeds."""
    one = partial(events, codecs=codecs)
    with ProcessPoolExecutor(jobs) as pool:
        list(pool.map(one, range(jobs)))
        began = time.perf_counter()
        total = sum(pool.map(one, SEEDS))
    return total / (time.perf_counter() - began)


def rate_with(path: str, jobs: int, *, codecs: bool) -> float:
    """Return the rate in another process, with a directory first on its path."""
    code = f"import {__spec__.name} as one; print(one.rate({jobs}, codecs={codecs}))"
    paths = os.pathsep.join((*filter(None, [path]), *sys.path))
    environment = os.environ | {"PYTHONPATH": paths}
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, env=environment)
    return float(json.loads(ended.stdout))


def main(compiled: str | None = None) -> int:
    cores = os.cpu_count() or 1
    paths = ["", *([] if compiled is None else [compiled])]
    kinds = list(product(paths, (False, True), (1, cores)))
    best = dict.fromkeys(kinds, 0.0)
    for _ in range(ROUNDS):
        for path, codecs, jobs in kinds:
            found = rate_with(path, jobs, codecs=codecs)
            best[path, codecs, jobs] = max(best[path, codecs, jobs], found)
    print(f"{'compiled':10}{'codecs':8}{'processes':>10}{'events/s':>12}{'target':>10}")
    for (path, codecs, jobs), found in best.items():
        how = f"{'yes' if path else 'no':10}{'on' if codecs else 'off':8}"
        print(f"{how}{jobs:>10}{found:>12,.0f}{TARGETS[codecs]:>10,}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
