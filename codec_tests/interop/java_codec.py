"""Asks Kafka's own message classes, all in one run of `java/src/CodecOracle.java`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from codec_tests.interop.kafka_tools import run_oracle


class RefusedByKafka(Exception):
    """Kafka's classes raised this message."""


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to do: `payload` is JSON to `encode`, or hexadecimal bytes to `decode`."""

    action: str
    name: str
    version: int
    payload: str

    def __str__(self) -> str:
        return f"{self.action}\t{self.name}\t{self.version}\t{self.payload}"


def encode_task(name: str, version: int, value: object) -> Task:
    """Return the task that encodes a message, given in Kafka's JSON form."""
    return Task("encode", name, version, json.dumps(value))


def decode_task(name: str, version: int, data: bytes) -> Task:
    """Return the task that decodes a message and encodes it again."""
    return Task("decode", name, version, data.hex())


def ask(tasks: Iterable[Task]) -> list[str]:
    """Return the answer to each task, for `encoded` and `decoded`."""
    return run_oracle("CodecOracle", [str(task) for task in tasks], heap="1g")


def encoded(answer: str) -> bytes:
    """Return the bytes that Kafka encoded."""
    (text,) = _parts(answer)
    return bytes.fromhex(text)


def decoded(answer: str) -> tuple[Any, bytes]:
    """Return the JSON form of what Kafka decoded, and the bytes it encoded from that."""
    text, again = _parts(answer)
    return json.loads(text), bytes.fromhex(again)


def _parts(answer: str) -> list[str]:
    outcome, *parts = answer.split("\t")
    if outcome != "ok":
        raise RefusedByKafka(parts[0])
    return parts
