"""Other ways to read segments with Spark, for `bench.spark` to compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from aiokafka.record.memory_records import MemoryRecords
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kraftwire.columns import decode_batches

SCHEMA = "key binary, value binary, offset bigint"


class AiokafkaSource(DataSource):
    """Tuples from aiokafka's records (its reader is Cython), with one task per file."""

    @classmethod
    def name(cls) -> str:
        return "aiokafka"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: Any) -> DataSourceReader:
        return _AiokafkaReader(self.options["path"])


class _AiokafkaReader(DataSourceReader):
    def __init__(self, directory: str) -> None:
        self._directory = directory

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(str(path)) for path in sorted(Path(self._directory).rglob("*.log"))]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        records = MemoryRecords(Path(partition.value).read_bytes())
        while records.has_next():
            batch = records.next_batch()
            assert batch.validate_crc()
            for record in batch:
                yield record.key, record.value, record.offset


def decode_files(files: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Decode the records of whole files, for `mapInArrow` after `binaryFile`."""
    for batch in files:
        for content in batch.column("content"):
            yield from decode_batches(content.as_py(), ["key", "value", "offset"])
