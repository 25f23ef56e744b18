"""Times decoding and encoding, compared with other libraries on the same bytes in one run.

All libraries take turns on each payload, with garbage collection off, so that noise affects all.
The table shows our minimum and median, and the ratio of each peer's minimum to ours. Run it with
`make bench`; `--json` prints a line per measurement.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from codec_tests.bench import peers
from codec_tests.bench.payloads import Payload, payloads

ROUNDS = 25
SECONDS_PER_TURN = 0.004
PEERS: dict[str, Callable[..., peers.Actions | None]] = {
    "kio": peers.kio,
    "kafka-python": peers.kafka_python,
    "msgspec": peers.msgspec_pack,
}
OURS = "kraftwire"


class Measurement(NamedTuple):
    """Seconds of one action on one payload, for each library that takes part."""

    payload: str
    version: int
    size: int
    action: str
    minimum: dict[str, float]
    median: dict[str, float]


def measure() -> Iterator[Measurement]:
    for payload in payloads():
        for version in payload.versions:
            yield from _measure_payload(payload, version)


def _measure_payload(payload: Payload, version: int) -> Iterator[Measurement]:
    libraries = {OURS: peers.kraftwire(payload.message, version)}
    for name, make in PEERS.items():
        actions = make(payload.message, version)
        if actions is not None:
            libraries[name] = actions
    size = len(payload.message.encode(version))
    for action in peers.Actions._fields:
        calls = {name: getattr(actions, action) for name, actions in libraries.items()}
        times = _take_turns(calls)
        yield Measurement(
            payload.name,
            version,
            size,
            action,
            {name: min(taken) for name, taken in times.items()},
            {name: statistics.median(taken) for name, taken in times.items()},
        )


def _take_turns(calls: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Return the seconds of one call, for every round and library."""
    repeats = {name: max(1, int(SECONDS_PER_TURN / _once(call, 3))) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    gc.disable()
    try:
        for _ in range(ROUNDS):
            for name, call in calls.items():
                times[name].append(_once(call, repeats[name]))
            gc.collect()
    finally:
        gc.enable()
    return times


def _once(call: Callable[[], object], repeats: int) -> float:
    """Return the mean seconds of `repeats` calls."""
    loop = range(repeats)
    start = time.perf_counter()
    for _ in loop:
        call()
    return (time.perf_counter() - start) / repeats


def _versions() -> dict[str, str]:
    names = (OURS, *PEERS)
    return {"python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in names
    }


def _print_table(rows: Iterator[Measurement]) -> None:
    print(", ".join(f"{name} {version}" for name, version in _versions().items()))
    print(
        "us: ours, the best of all rounds and their median; others: how many times ours they take,"
    )
    print("best to best\n")
    print(f"{'payload':28}{'v':>3}{'bytes':>8} {'':7}{'us':>9}{'median':>9}", end="")
    print("".join(f"{name:>14}" for name in PEERS))
    for row in rows:
        ours = row.minimum[OURS]
        ratios = [row.minimum[name] / ours if name in row.minimum else None for name in PEERS]
        print(f"{row.payload:28}{row.version:3}{row.size:8} {row.action:7}", end="")
        print(f"{ours * 1e6:9.1f}{row.median[OURS] * 1e6:9.1f}", end="")
        print("".join(f"{ratio:14.2f}" if ratio else f"{'-':>14}" for ratio in ratios))


def _print_json(rows: Iterator[Measurement]) -> None:
    for row in rows:
        line: dict[str, Any] = row._asdict() | {"versions": _versions()}
        print(json.dumps(line), flush=True)


def main() -> int:
    (_print_json if sys.argv[1:] == ["--json"] else _print_table)(measure())
    return 0


if __name__ == "__main__":
    sys.exit(main())
