"""A quorum under load, while its nodes are killed, paused and cut off from one another.

    python -m codec_tests.chaos.run --minutes 30 --seed 7
    python -m codec_tests.chaos.run --minutes 30 --seed 8 --kinds ours,kafka,kafka

Where there are nodes of both kinds, one that was killed may come back as the other kind, on the
directory that it had.
Clients put keys that nobody has put before, and never the same twice. In the end every record
that was acknowledged is in every log, at the offset that was said, and nowhere else; and all logs
are the same. Exit code 0 where that is so; with the logs and events of the nodes below `--keep`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codec_tests.chaos.processes import ALL_OURS, Cluster, Kind, NodeProcess

_CLIENTS = 8
_HEALS_WITHIN_S = 60.0
_SETTINGS = {"metadata.log.max.record.bytes.between.snapshots": "200000"}


@dataclass
class Load:
    """What clients have asked for, and what they were told."""

    acknowledged: dict[str, int] = field(default_factory=dict)
    """Offsets by key."""
    unknown: set[str] = field(default_factory=set)
    is_over: bool = False


async def put_keys(cluster: Cluster, load: Load, client: int) -> None:
    """Put key after key, wherever the leader is."""
    number, place = 0, client
    while not load.is_over:
        node = cluster.nodes[place % len(cluster.nodes)]
        key = f"{client}.{number}"
        try:
            answer = await node.ask(f"put {key} {time.time()}")
        except OSError:
            load.unknown.add(key)
            number, place = number + 1, place + 1
            continue
        if answer.startswith("ok "):
            load.acknowledged[key] = int(answer[3:])
            number += 1
        elif answer.startswith("error not committed") or not answer:
            load.unknown.add(key)
            number, place = number + 1, place + 1
        else:  # it was not taken
            place += 1
            await asyncio.sleep(0.05)


async def strike(cluster: Cluster, chance: random.Random, struck: Counter[str]) -> None:
    """One fault, for a while."""
    leader = await cluster.leader()
    targets = [leader] if leader is not None and chance.random() < 0.5 else cluster.nodes
    node = chance.choice(targets)
    kind = chance.choice([one for one in _FAULTS if one != "swap" or cluster.is_mixed])
    struck[f"{kind} {node.kind} {'leader' if node is leader else 'follower'}"] += 1
    await _FAULTS[kind](cluster, node, chance)
    await asyncio.sleep(chance.uniform(0.3, 4))
    cluster.mend()


async def _kill(cluster: Cluster, node: NodeProcess, chance: random.Random) -> None:
    await asyncio.to_thread(node.kill)


async def _swap(cluster: Cluster, node: NodeProcess, chance: random.Random) -> None:
    await asyncio.to_thread(node.kill)
    node.swap()


async def _pause(cluster: Cluster, node: NodeProcess, chance: random.Random) -> None:
    node.pause()


async def _cut_off(cluster: Cluster, node: NodeProcess, chance: random.Random) -> None:
    for other in cluster.nodes:
        if other is not node:
            other.tap.cut.add(node.number)
            node.tap.cut.add(other.number)


async def _cut_one_way(cluster: Cluster, node: NodeProcess, chance: random.Random) -> None:
    other = chance.choice([one for one in cluster.nodes if one is not node])
    other.tap.cut.add(node.number)


_FAULTS = {
    "kill": _kill,
    "pause": _pause,
    "cut off": _cut_off,
    "cut one way": _cut_one_way,
    "swap": _swap,
}


async def run(
    directory: Path, seconds: float, seed: int, kinds: Sequence[Kind] = ALL_OURS
) -> dict[str, object]:
    """Run, and what came of it; `problems` is empty where all is well."""
    cluster = Cluster(directory, kinds, settings=_SETTINGS)
    load, chance = Load(), random.Random(seed)
    struck: Counter[str] = Counter()
    await cluster.start()
    try:
        await _until(lambda: _has_leader(cluster), "a first leader")
        clients = [asyncio.create_task(put_keys(cluster, load, one)) for one in range(_CLIENTS)]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.sleep(chance.uniform(0.5, 3))
            await strike(cluster, chance, struck)
            ended = [node.number for node in cluster.nodes if node.has_ended()]
            assert not ended, f"these nodes have ended, see their logs: {ended}"
        cluster.mend()
        last = len(load.acknowledged)
        await _until(lambda: _is(len(load.acknowledged) > last + 100), "records after the faults")
        load.is_over = True
        await asyncio.gather(*clients)
        await _until(lambda: _is_everywhere(cluster, load), "every node has the last record")
        lost = [one async for one in lost_keys(cluster, load)]
    finally:
        codes = await cluster.stop()
    problems = lost + find_problems(cluster, load)
    problems += [f"exit codes {codes}"] if any(codes) else []
    return {
        "seconds": seconds,
        "seed": seed,
        "kinds": ",".join(kinds),
        "acknowledged": len(load.acknowledged),
        "unknown": len(load.unknown),
        "faults": dict(sorted(struck.items())),
        "problems": problems[:20],
    }


async def lost_keys(cluster: Cluster, load: Load) -> AsyncIterator[str]:
    """Acknowledged keys that a node does not know."""
    keys = list(load.acknowledged)
    for node in cluster.nodes:
        for key, answer in zip(keys, await node.values(keys), strict=True):
            if not answer.startswith("value "):
                yield f"node {node.number} answers {answer!r} for {key}"


def find_problems(cluster: Cluster, load: Load) -> list[str]:
    """What is not as it was acknowledged, in the logs of stopped nodes.

    What a snapshot has taken the place of in every log cannot be looked at any more.
    """
    logs = {node.number: node.records() for node in cluster.nodes}
    found = []
    everything = {offset: value for log in logs.values() for offset, value in log.items()}
    for number, log in logs.items():
        others = [offset for offset, value in log.items() if everything[offset] != value]
        if others:
            found.append(f"node {number} has other records at {others[:5]}")
    places: dict[str, list[int]] = {}
    for offset, value in everything.items():
        places.setdefault(json.loads(value)[1], []).append(offset)
    starts = {number: min(log, default=0) for number, log in logs.items()}
    first = min(starts.values())
    for key, end in load.acknowledged.items():
        if end <= first:
            continue
        if places.get(key) != [end - 1]:
            found.append(f"{key} was acknowledged at {end - 1}, and is at {places.get(key)}")
        lacking = [n for n, log in logs.items() if starts[n] < end and end - 1 not in log]
        found += [f"node {number} lacks {key} at {end - 1}" for number in lacking]
    return found


async def _has_leader(cluster: Cluster) -> bool:
    return await cluster.leader() is not None


async def _is(what: bool) -> bool:
    return what


async def _is_everywhere(cluster: Cluster, load: Load) -> bool:
    """Whether every node knows the value of the key that was acknowledged last."""
    key = max(load.acknowledged, key=lambda one: load.acknowledged[one])
    try:
        answers = [await node.ask(f"get {key}") for node in cluster.nodes]
    except OSError:
        return False
    return all(answer.startswith("value ") for answer in answers)


async def _until(is_so: Callable[[], Awaitable[bool]], what: str) -> None:
    end = time.monotonic() + _HEALS_WITHIN_S
    while not await is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {_HEALS_WITHIN_S} s: {what}")
        await asyncio.sleep(0.1)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(ALL_OURS), help="ours or kafka, a node each")
    parser.add_argument("--keep", type=Path, help="a new directory for logs and events")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = said.keep or Path(temporary)
        kinds = said.kinds.split(",")
        outcome = asyncio.run(run(directory, said.minutes * 60, said.seed, kinds))
    print(json.dumps(outcome, indent=1))
    return 1 if outcome["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
