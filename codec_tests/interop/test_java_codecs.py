"""Every message at every version against the classes that Kafka generates from its own specs.

One run of Java answers all tasks of this module. Bytes and JSON must be equal in both
directions; Kafka's JSON has no records and no unknown tagged fields, so what is read from
it is compared without these.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from typing import Any

import pytest

from kraftwire_messages.kafka import registry
from kraftwire_wire.message import Message, Struct

from codec_tests.extremes import EDGES, extreme_message
from codec_tests.interop.java_codec import (
    RefusedByKafka,
    ask,
    decode_task,
    decoded,
    encode_task,
    encoded,
)
from codec_tests.oracle import report_oracle_count
from codec_tests.strategies import MAX_TAG, random_message

# The first run on a machine waits for Maven to fetch Kafka.
pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("java"), pytest.mark.timeout(1000)]

RANDOM_VALUES = 8
MESSAGES = 279
MESSAGE_VERSIONS = 755
FLEXIBLE_MESSAGE_VERSIONS = 445
UNKNOWN_TAGS = (0, 5, 127, 128, 20_000, MAX_TAG)
WITHOUT_JSON = {"SubscriptionInfoData"}
"""Kafka Streams generates no JSON code."""
NOT_FINITE = re.compile("'(NaN|-?Infinity)'")
"""Kafka writes these numbers as strings, which it cannot read."""
WITH_FLOATS = {"AlterClientQuotasRequest", "ClientQuotaRecord", "DescribeClientQuotasResponse"}


@dataclass
class Case:
    """A value, and what Kafka returned for its bytes and its JSON form."""

    value: Message
    version: int
    read: str
    written: str

    def java_json(self) -> dict[str, Any]:
        """Return our JSON form in Kafka's style."""
        return self.value.to_json(self.version, style="java")

    def is_not_finite(self) -> bool:
        """Whether a number is NaN or infinite."""
        return NOT_FINITE.search(repr(self.java_json())) is not None


def values(cls: type[Message], version: int) -> list[Message]:
    """Return the tested values of a version: default, edges, random values, unknown tags."""
    rng = random.Random(f"java {cls.__name__} {version}")
    edges = [extreme_message(cls, version, edge) for edge in EDGES]
    drawn = [random_message(cls, version, rng) for _ in range(RANDOM_VALUES)]
    tagged = extreme_message(cls, version, "full")
    found = [cls(), *edges, *drawn]
    return [*found, tagged] if add_unknown_tags(tagged, version) else found


def add_unknown_tags(value: Any, version: int) -> int:
    """Add unknown tagged fields to all structs that can have them; return their number."""
    if isinstance(value, list):
        return sum(add_unknown_tags(item, version) for item in value)
    if not isinstance(value, Struct):
        return 0
    struct: Any = value
    fields = struct.LAYOUT.fields
    count = sum(add_unknown_tags(getattr(struct, field.name), version) for field in fields)
    if version not in struct.LAYOUT.flexible:
        return count
    known = {field.tag for field in fields}
    struct.unknown_tagged_fields = [
        (tag, b"\x00tea%d" % tag) for tag in UNKNOWN_TAGS if tag not in known
    ]
    return count + 1


@pytest.fixture(scope="module")
def cases() -> dict[str, list[Case]]:
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
    of_each = 1 + len(EDGES) + RANDOM_VALUES
    assert total == MESSAGE_VERSIONS * of_each + FLEXIBLE_MESSAGE_VERSIONS
    odd = [name for name, found in cases.items() for case in found if case.is_not_finite()]
    assert set(odd) == WITH_FLOATS
    report_oracle_count(
        f"Kafka's own classes, {len(versions)} versions of {len(cases)} messages",
        total,
        len(odd) + sum(len(cases[name]) for name in WITHOUT_JSON),
    )


@pytest.mark.parametrize("name", list(registry))
def test_kafka_reads_and_writes_our_bytes(name: str, cases: dict[str, list[Case]]) -> None:
    for case in cases[name]:
        data = case.value.encode(case.version)
        json_form, again = decoded(case.read)
        assert again == data, (case.version, data.hex())
        if name not in WITHOUT_JSON:
            # As text: true is not 1 there, nor 0.0 -0.0, and the order of keys counts.
            expected = json.dumps(case.java_json())
            assert json.dumps(json_form) == expected, (case.version, data.hex())


@pytest.mark.parametrize("name", [name for name in registry if name not in WITHOUT_JSON])
def test_kafka_and_we_read_the_same_out_of_json(name: str, cases: dict[str, list[Case]]) -> None:
    cls: Any = registry.message(name)
    for case in cases[name]:
        expected = cls.from_json(case.java_json(), case.version).encode(case.version)
        json_form, _ = decoded(case.read)
        if case.is_not_finite():
            with pytest.raises(RefusedByKafka, match="expected a floating point type"):
                encoded(case.written)
        else:
            assert encoded(case.written) == expected, case.version
        assert cls.from_json(json_form, case.version).encode(case.version) == expected, case.version
