"""Joins a group and exits at once, so that the group keeps its member.

    python vanishing_member.py BROKERS GROUP PROTOCOL TOPIC

A client that closes leaves its groups, and may hang if its brokers are gone.
"""

from __future__ import annotations

import os
import sys
import time

from confluent_kafka import Consumer

SECONDS = 60


def main() -> int:
    """Join and wait for an assignment."""
    brokers, group, protocol, topic = sys.argv[1:]
    settings = {
        "bootstrap.servers": brokers,
        "group.id": group,
        "group.protocol": protocol,
        "enable.auto.commit": False,
        "log_level": 0,
    }
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    end = time.monotonic() + SECONDS
    while not consumer.assignment():
        if time.monotonic() > end:
            return 1
        consumer.poll(0.1)
    return 0


if __name__ == "__main__":
    os._exit(main())
