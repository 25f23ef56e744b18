"""Records the cassettes and snapshots of `codec_tests/examples` from a real Kafka.

    python -m codec_tests.interop.record_examples

Every test gets its own Kafka, because each creates its topics.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from codec_tests.interop.kafka_server import kafka_cluster
from codec_tests.interop.replay_programs import warm_up

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
TESTS = (
    "test_confluent_kafka.py::test_orders_come_back[classic]",
    "test_confluent_kafka.py::test_orders_come_back[consumer]",
    "test_aiokafka.py",
    "test_message_snapshot.py",
)


def main() -> int:
    """Run each test in record mode; return the exit code of the last one that failed."""
    code = 0
    for test in TESTS:
        with kafka_cluster() as cluster:
            warm_up(cluster.bootstrap)
            command = [sys.executable, "-m", "pytest", "-q", "--kafka-record"]
            command += ["--kafka-snapshot-update", "--kafka-bootstrap", cluster.bootstrap]
            code = subprocess.run([*command, str(EXAMPLES / test)], check=False).returncode or code
    return code


if __name__ == "__main__":
    sys.exit(main())
