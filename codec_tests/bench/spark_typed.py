"""Typed reads of a metadata log with the record kinds of a busy cluster.

The steps show what a record costs Spark (`offset` alone), and what more struct columns cost, most
of which are null in most rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from uuid import UUID

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from kraftwire.log import Record
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.writers.segment_writer import SegmentWriter
from kraftwire_messages.kafka import (
    BrokerRegistrationChangeRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)
from kraftwire_wire.message import Message
from kraftwire_wire.records import encode_metadata_record

from codec_tests.bench.logs import take_turns
from codec_tests.bench.spark_actions import report, segments, to_nothing

RECORDS = 2_000_000
_KINDS = 2000
_CHANGE = "PartitionChangeRecord struct<partition_id: int, topic_id: string, leader: int>"


def bench_typed(spark: SparkSession, directory: Path, rounds: int) -> None:
    """Measure reads of more and more columns."""
    path = directory / "typed"
    size = make_metadata(path)
    whole = segments(spark, path, decode="metadata").schema
    kinds = {type(one).__name__ for one in _messages()} & set(whole.names)
    schemas = {
        "offset alone": "offset bigint",
        "type alone": "type string",
        "three fields of one kind": _CHANGE,
        "one kind": _ddl(whole, {"PartitionChangeRecord"}),
        f"the {len(kinds)} kinds there are": _ddl(whole, kinds),
        "all columns, 27 kinds": None,
    }
    calls: dict[str, Callable[[], object]] = {
        f"count(), {name}": partial(_count, spark, path, schema) for name, schema in schemas.items()
    }
    calls["noop, all columns, 27 kinds"] = lambda: to_nothing(
        segments(spark, path, decode="metadata")
    )
    report("typed metadata", size, RECORDS, take_turns(calls, rounds))


def _count(spark: SparkSession, path: Path, schema: str | None) -> int:
    return segments(spark, path, schema, "metadata").count()


def _ddl(schema: StructType, names: Collection[str]) -> str:
    fields = [f"{one.name} {one.dataType.simpleString()}" for one in schema if one.name in names]
    return ", ".join(fields)


def make_metadata(directory: Path) -> int:
    """Write a metadata log with the most frequent record kinds; return its size."""
    values = metadata_values()
    place = directory / "__cluster_metadata-0"
    place.mkdir(parents=True)
    with SegmentWriter(place, 0) as writer:
        for first in range(0, RECORDS, 100):
            records = [
                Record(at, 1_700_000_000_000, None, values[at % len(values)], ())
                for at in range(first, first + 100)
            ]
            writer.append(encode_batch(records, BatchSettings()))
        return writer.size


def metadata_values() -> list[bytes]:
    """Return record values: mostly changes of partitions, then partitions and topics."""
    return [
        encode_metadata_record(message, type(message).VALID_VERSIONS[-1]) for message in _messages()
    ]


def _messages() -> list[Message]:
    rng = random.Random(3)
    return [_message(rng, number) for number in range(_KINDS)]


def _message(rng: random.Random, number: int) -> Message:
    topic = UUID(int=rng.getrandbits(128))
    kind, partition = number % 10, number % 50
    if kind < 4:
        return PartitionChangeRecord(
            partition_id=partition, topic_id=topic, leader=rng.randrange(5), isr=[1, 2, 3]
        )
    if kind < 7:
        return PartitionRecord(
            partition_id=partition,
            topic_id=topic,
            replicas=[1, 2, 3],
            isr=[1, 2, 3],
            leader=1,
            directories=[topic] * 3,
        )
    if kind == 7:
        return TopicRecord(name=f"topic-{number}", topic_id=topic)
    if kind == 8:
        return BrokerRegistrationChangeRecord(broker_id=number % 9, broker_epoch=number)
    return NoOpRecord()
