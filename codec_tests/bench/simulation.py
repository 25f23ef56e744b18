"""How many events the simulator takes a second, with codecs and without.

The same seeds in turns, in one process and in one for each core; the best of the rounds counts,
since others may use the machine too. Kafka's own simulation of its raft module takes 64,000
events a second where this ran first, without loss, reordering, faults of disks or other voters.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from kraftwire.simulation.run import simulate

SEEDS = range(40)
ROUNDS = 3


def events(seed: int, *, codecs: bool) -> int:
    """Run a seed; how many events that was."""
    return simulate(seed, codecs=codecs).events


def rate(jobs: int, *, codecs: bool) -> float:
    """Events a second over all seeds."""
    one = partial(events, codecs=codecs)
    began = time.perf_counter()
    if jobs == 1:
        total = sum(map(one, SEEDS))
    else:
        with ProcessPoolExecutor(jobs) as pool:
            total = sum(pool.map(one, SEEDS))
    return total / (time.perf_counter() - began)


def main() -> int:
    """Print the table."""
    cores = os.cpu_count() or 1
    kinds = [(jobs, codecs) for codecs in (False, True) for jobs in (1, cores)]
    best = dict.fromkeys(kinds, 0.0)
    for _ in range(ROUNDS):
        for jobs, codecs in kinds:
            best[jobs, codecs] = max(best[jobs, codecs], rate(jobs, codecs=codecs))
    print(f"{'codecs':8}{'processes':>10}{'events/s':>12}{'target':>10}")
    for (jobs, codecs), found in best.items():
        target = 10_000 if codecs else 50_000
        print(f"{'on' if codecs else 'off':8}{jobs:>10}{found:>12,.0f}{target:>10,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
