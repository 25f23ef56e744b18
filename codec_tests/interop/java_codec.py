"""Kafka's own message classes, asked in one run of `java/src/CodecOracle.java`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from codec_tests.interop.maven import class_path, joined, tool

_SECONDS = 300


class RefusedByKafka(Exception):
    """Kafka's classes raised; the message says what."""


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
    """Have Kafka write a message that is given in its JSON form."""
    return Task("encode", name, version, json.dumps(value))


def decode_task(name: str, version: int, data: bytes) -> Task:
    """Have Kafka read a message, and write it again."""
    return Task("decode", name, version, data.hex())


def ask(tasks: Iterable[Task]) -> list[str]:
    """The answer to each task, as `encoded` and `decoded` take it."""
    return run_oracle([str(task) for task in tasks])


def run_oracle(lines: Sequence[str]) -> list[str]:
    """What the program prints for lines of input."""
    command = [str(tool("java")), "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command += ["-cp", joined(class_path()), "CodecOracle"]
    text = "".join(line + "\n" for line in lines)
    done = subprocess.run(
        command, input=text.encode(), capture_output=True, timeout=_SECONDS, check=False
    )
    if done.returncode:
        raise RuntimeError(f"CodecOracle failed: {done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout.decode().splitlines()


def encoded(answer: str) -> bytes:
    """The bytes that Kafka wrote."""
    (text,) = _parts(answer)
    return bytes.fromhex(text)


def decoded(answer: str) -> tuple[Any, bytes]:
    """The JSON form of what Kafka read, and the bytes that it wrote again."""
    text, again = _parts(answer)
    return json.loads(text), bytes.fromhex(again)


def _parts(answer: str) -> list[str]:
    outcome, *parts = answer.split("\t")
    if outcome != "ok":
        raise RefusedByKafka(parts[0])
    return parts
