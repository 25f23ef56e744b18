"""librdkafka clients with the settings that all tests use, and calls that wait for results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer

SECONDS = 30
QUIET: dict[str, Any] = {"log_level": 0}
"""Without warnings, for example about coordinators that are still loading."""


def producer_of(bootstrap: str, **settings: Any) -> Producer:
    """Return a producer; in settings an underscore stands for a dot."""
    return Producer(QUIET | {"bootstrap.servers": bootstrap} | _dotted(settings))


def consumer_of(bootstrap: str, group: str, **settings: Any) -> Consumer:
    """Return a consumer that starts at the beginning and commits explicitly."""
    common = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    return Consumer(QUIET | common | _dotted(settings))


def _dotted(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): value for name, value in settings.items()}


def flush(producer: Producer) -> None:
    """Wait until every record is delivered."""
    assert producer.flush(SECONDS) == 0


def finish(futures: Mapping[Any, Future[Any]]) -> None:
    """Wait for the futures of an admin client; raise the first error."""
    for future in futures.values():
        future.result(SECONDS)


def read(consumer: Consumer, count: int) -> list[Message]:
    """Return the next messages of a consumer."""
    messages: list[Message] = []

    def poll() -> bool:
        message = consumer.poll(0.1)
        if message is not None and message.error() is not None:
            raise KafkaException(message.error())
        messages.extend([] if message is None else [message])
        return len(messages) >= count

    wait_until(poll, f"{count} messages")
    return messages


def wait_until(is_done: Callable[[], bool], what: str) -> None:
    """Call until the result is true; fail after a while."""
    end = time.monotonic() + SECONDS
    while not is_done():
        assert time.monotonic() < end, f"not within {SECONDS} seconds: {what}"
