"""Import time and memory of one message and of all messages, compared with other libraries.

Each measurement is a new interpreter; they take turns, and the table shows the minima. Memory is
the growth of resident pages. Run it with `make bench`.
"""

from __future__ import annotations

import subprocess
import sys

ROUNDS = 7

_MEASURE = """
import sys, time
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
before, start = resident(), time.perf_counter()
{code}
print(time.perf_counter() - start, resident() - before)
"""

_KIO_ALL = """
import importlib, pkgutil, kio.schema
for module in pkgutil.walk_packages(kio.schema.__path__, "kio.schema."):
    importlib.import_module(module.name)
"""

CASES = {
    ("the package", "kraftwire"): "import kraftwire_messages.kafka",
    ("one message", "kraftwire"): "from kraftwire_messages.kafka import MetadataResponse",
    ("one message", "kio"): (
        "from kio.schema.metadata.v13.response import MetadataResponse\n"
        "from kio.serial import entity_reader, entity_writer"
    ),
    ("one message", "kafka-python"): "from kafka.protocol.metadata import MetadataResponse",
    ("all messages", "kraftwire"): (
        "from kraftwire_messages.kafka import registry\n[registry.message(n) for n in registry]"
    ),
    ("all messages", "kio"): _KIO_ALL,
    ("all messages", "kafka-python"): (
        "import kafka.protocol.admin, kafka.protocol.consumer\n"
        "import kafka.protocol.metadata, kafka.protocol.producer"
    ),
}


def _run(code: str) -> tuple[float, int]:
    """Return seconds and bytes of an import in a new interpreter."""
    command = [sys.executable, "-c", _MEASURE.format(code=code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    seconds, grown = done.stdout.split()
    return float(seconds), int(grown)


def main() -> int:
    best = {case: (float("inf"), sys.maxsize) for case in CASES}
    for _ in range(ROUNDS):
        for case, code in CASES.items():
            seconds, grown = _run(code)
            best[case] = (min(best[case][0], seconds), min(best[case][1], grown))
    print(f"\n{'import of':14}{'library':14}{'ms':>8}{'MiB':>8}")
    for (what, library), (seconds, grown) in best.items():
        print(f"{what:14}{library:14}{seconds * 1e3:8.0f}{grown / 2**20:8.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
