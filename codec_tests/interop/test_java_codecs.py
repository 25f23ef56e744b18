"""Every message at every version against the classes that Kafka generates from its own specs.

One run of Java answers all tasks of this module. Bytes and JSON must be equal in both
directions; Kafka's JSON has no records and no unknown tagged fields, so what is read from
it is compared without these.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Any

import pytest

from kraftwire_messages.kafka import registry
from kraftwire_wire.message import Message

from extremes import EDGES, extreme_message
from interop.java_codec import RefusedByKafka, ask, decode_task, decoded, encode_task, encoded
from strategies import random_message, same

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("java")]

RANDOM_VALUES = 8
MESSAGES = 279
MESSAGE_VERSIONS = 755
WITHOUT_JSON = {"SubscriptionInfoData"}
"""Kafka Streams generates no JSON form."""
NOT_FINITE = re.compile("'(NaN|-?Infinity)'")
"""Kafka writes these numbers as texts, and then cannot read them."""


@dataclass
class Case:
    """A value, and what Kafka makes of its bytes and of its JSON form."""

    value: Message
    version: int
    read: str
    written: str


def values(cls: type[Message], version: int) -> list[Message]:
    """What is tried of a version: the default, the edges, and random values."""
    rng = random.Random(f"java {cls.__name__} {version}")
    edges = [extreme_message(cls, version, edge) for edge in EDGES]
    return [cls(), *edges, *(random_message(cls, version, rng) for _ in range(RANDOM_VALUES))]


@pytest.fixture(scope="module")
def cases() -> dict[str, list[Case]]:
    """The cases of each message."""
    made = [
        (name, version, value)
        for name in registry
        for version in registry.message(name).VALID_VERSIONS
        for value in values(registry.message(name), version)
    ]
    reads = [decode_task(name, version, value.encode(version)) for name, version, value in made]
    writes = [
        encode_task(name, version, value.to_json(version, style="java"))
        for name, version, value in made
    ]
    answers = ask([*reads, *writes])
    assert len(answers) == len(reads) + len(writes)
    found: dict[str, list[Case]] = {name: [] for name in registry}
    for (name, version, value), read, written in zip(
        made, answers[: len(made)], answers[len(made) :], strict=True
    ):
        found[name].append(Case(value, version, read, written))
    return found


def test_nothing_is_left_out(cases: dict[str, list[Case]]) -> None:
    versions = {(name, case.version) for name, found in cases.items() for case in found}
    assert (len(cases), len(versions)) == (MESSAGES, MESSAGE_VERSIONS)
    total = sum(map(len, cases.values()))
    assert total == MESSAGE_VERSIONS * (1 + len(EDGES) + RANDOM_VALUES)


@pytest.mark.parametrize("name", list(registry))
def test_kafka_reads_and_writes_our_bytes(name: str, cases: dict[str, list[Case]]) -> None:
    for case in cases[name]:
        data = case.value.encode(case.version)
        json, again = decoded(case.read)
        assert again == data, (case.version, data.hex())
        if name not in WITHOUT_JSON:
            expected = case.value.to_json(case.version, style="java")
            assert same(json, expected), (case.version, data.hex())


@pytest.mark.parametrize("name", [name for name in registry if name not in WITHOUT_JSON])
def test_kafka_and_we_read_the_same_out_of_json(name: str, cases: dict[str, list[Case]]) -> None:
    cls: Any = registry.message(name)
    for case in cases[name]:
        ours = cls.from_json(case.value.to_json(case.version, style="java"), case.version)
        json, _ = decoded(case.read)
        if NOT_FINITE.search(repr(json)):
            with pytest.raises(RefusedByKafka, match="expected a floating point type"):
                encoded(case.written)
        else:
            assert encoded(case.written) == ours.encode(case.version), case.version
        assert same(cls.from_json(json, case.version), ours), case.version
