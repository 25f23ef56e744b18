"""Uuids as the text that Kafka prints."""

from __future__ import annotations

import random
from uuid import UUID

import pyarrow as pa
import pytest

from kraftwire.columns import uuid_strings
from kraftwire_messages.kafka import TopicRecord

from codec_tests.columns.engines import ENGINES, engine


def printed(raw: bytes | None) -> str | None:
    """The text in a message's JSON form, which is held against Java elsewhere."""
    if raw is None:
        return None
    return str(TopicRecord(topic_id=UUID(bytes=raw)).to_json(0, style="java")["topicId"])


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 1000])
def test_uuids_are_printed_as_kafka_prints_them(name: str, count: int) -> None:
    chance = random.Random(count)
    raw = [
        chance.choice([None, chance.randbytes(16), bytes(16), b"\xff" * 16]) for _ in range(count)
    ]
    with engine(name):
        found = uuid_strings(pa.array(raw, pa.binary(16)))
    found.validate(full=True)
    assert found.to_pylist() == [printed(one) for one in raw]


@pytest.mark.parametrize("name", ENGINES)
def test_a_slice_of_a_column_is_printed(name: str) -> None:
    raw = [bytes([at]) * 16 if at % 3 else None for at in range(20)]
    with engine(name):
        found = uuid_strings(pa.array(raw, pa.binary(16))[5:12])
    assert found.to_pylist() == [printed(one) for one in raw[5:12]]
