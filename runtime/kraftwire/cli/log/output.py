"""The outputs of `log dump`: JSON Lines, tables printed in pieces, or a Parquet file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kraftwire.cli.log.record_format import RecordContent, RecordFormat, batch_json, timestamp_type
from kraftwire.console.failures import CouldNotDoIt
from kraftwire.console.output import PiecewiseTable, print_json
from kraftwire.console.times import format_time
from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.header import BatchHeader
from kraftwire.log.batches.record import HEADER_KEY_ERRORS, Record
from kraftwire.log.directories.partition import LogFile

_ROWS_AT_ONCE = 1000
"""How many records are written to Parquet at a time."""


class DumpOutput:
    """Gets everything that `log dump` reads; each output prints the kinds that it can."""

    def record(self, file: LogFile, batch: Batch, record: Record, content: RecordContent) -> None:
        """Print a record."""

    def batch(self, file: LogFile, header: BatchHeader, crc_valid: bool | None) -> None:
        """Print a batch; `crc_valid` is None if the CRC was not checked."""

    def entry(self, obj: dict[str, Any]) -> None:
        """Print an entry of another file, such as an index."""

    def close(self) -> None:
        """Print what is still buffered."""

    def give_up(self) -> None:
        """End after a failure, without a file that looks complete."""


@contextmanager
def closing(output: DumpOutput) -> Iterator[None]:
    """Close an output at the end, or give it up if the dump fails."""
    try:
        yield
    except BaseException:
        output.give_up()
        raise
    output.close()


class JsonOutput(DumpOutput):
    """A line of JSON for each row."""

    def __init__(self, record_format: RecordFormat) -> None:
        self._format = record_format

    def record(self, file: LogFile, batch: Batch, record: Record, content: RecordContent) -> None:
        print_json(self._format.record_json(file, batch, record, content))

    def batch(self, file: LogFile, header: BatchHeader, crc_valid: bool | None) -> None:
        print_json(batch_json(file, header, crc_valid))

    def entry(self, obj: dict[str, Any]) -> None:
        print_json(obj)


class TableOutput(DumpOutput):
    """Tables: rows with the same columns together, a new table when the columns change."""

    _RECORD = ("partition", "offset", "time", "type", "key", "value", "headers")
    _BATCH = (
        *("partition", "position", "bytes", "offsets", "records", "largest time", "codec"),
        *("leader epoch", "producer", "sequences", "flags"),
    )

    def __init__(self, record_format: RecordFormat) -> None:
        self._format = record_format
        self._columns: tuple[str, ...] = ()
        self._table = PiecewiseTable(())

    def record(self, file: LogFile, batch: Batch, record: Record, content: RecordContent) -> None:
        obj = self._format.record_json(file, batch, record, content)
        place = f"{obj['topic']}-{obj['partition']}" if "topic" in obj else obj["file"]
        time = format_time(record.timestamp) if batch.header.magic else None
        name = content.typed.name if content.typed is not None else None
        headers = ", ".join(
            key if value is None else f"{key}={value}" for key, value in obj["headers"]
        )
        cells = _cell(obj["key"]), _cell(obj["value"]), headers
        self._add(self._RECORD, (place, record.offset, time, name, *cells))

    def batch(self, file: LogFile, header: BatchHeader, crc_valid: bool | None) -> None:
        obj = batch_json(file, header, crc_valid)
        flags = [name for name in ("transactional", "control") if obj[name]]
        if header.delete_horizon is not None:
            flags.append(f"delete horizon {format_time(header.delete_horizon)}")
        producer = sequences = None
        if header.producer_id >= 0:
            producer = f"{header.producer_id}/{header.producer_epoch}"
        if header.base_sequence >= 0:
            sequences = f"{header.base_sequence}-{header.last_sequence}"
        self._add(
            self._BATCH,
            (
                f"{obj['topic']}-{obj['partition']}" if file.partition else obj["file"],
                header.position,
                header.size,
                f"{header.base_offset}-{header.last_offset}",
                obj["count"],
                format_time(header.max_timestamp),
                header.codec_label,
                header.partition_leader_epoch,
                producer,
                sequences,
                ", ".join(flags),
            ),
        )

    def entry(self, obj: dict[str, Any]) -> None:
        self._add(tuple(obj), tuple(map(_cell, obj.values())))

    def close(self) -> None:
        self._table.flush()

    def give_up(self) -> None:
        """Print the rows so far: they are correct."""
        self.close()

    def _add(self, columns: tuple[str, ...], row: tuple[object, ...]) -> None:
        if columns != self._columns:
            self._table.flush()
            self._columns = columns
            self._table = PiecewiseTable(columns)
        self._table.add(row)


def _cell(value: object) -> object:
    """Return a cell: messages as their JSON, the rest as it is."""
    if isinstance(value, dict):
        value = value.get("message", value)
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, bool):
        return "yes" if value else None
    return value


class ParquetOutput(DumpOutput):
    """A Parquet file of records, with the columns of Spark's Kafka source and a few more.

    Typed records have their JSON in the columns `key_json` and `value_json`, beside the
    bytes, which are null if secrets are to be left out. Batches and entries of other files
    are not written.
    """

    def __init__(self, path: Path, record_format: RecordFormat) -> None:
        import pyarrow
        import pyarrow.parquet

        self._arrow = pyarrow
        self._format = record_format
        header = pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())])
        self._schema = pyarrow.schema(
            [
                ("key", pyarrow.binary()),
                ("value", pyarrow.binary()),
                ("topic", pyarrow.string()),
                ("partition", pyarrow.int32()),
                ("offset", pyarrow.int64()),
                ("timestamp", pyarrow.timestamp("ms", "UTC")),
                ("timestampType", pyarrow.string()),
                ("headers", pyarrow.list_(header)),
                ("leaderEpoch", pyarrow.int32()),
                ("producerId", pyarrow.int64()),
                ("producerEpoch", pyarrow.int16()),
                ("sequence", pyarrow.int32()),
                ("transactional", pyarrow.bool_()),
                ("control", pyarrow.string()),
                ("key_json", pyarrow.string()),
                ("value_json", pyarrow.string()),
            ]
        )
        self._path, self._part = path, path.with_name(path.name + ".part")
        try:
            self._writer = pyarrow.parquet.ParquetWriter(
                self._part, self._schema, compression="zstd"
            )
        except UnicodeEncodeError:
            raise CouldNotDoIt(f"{path}: pyarrow writes only names that are UTF-8") from None
        self._rows: list[dict[str, Any]] = []

    def record(self, file: LogFile, batch: Batch, record: Record, content: RecordContent) -> None:
        row = self._format.record_json(file, batch, record, content)
        hidden = self._format.hides_bytes(content)
        for part, raw in (("key", record.key), ("value", record.value)):
            row[f"{part}_json"] = json.dumps(row[part]) if isinstance(row[part], dict) else None
            row[part] = None if hidden else raw
        row["headers"] = [
            {
                "key": key.encode(errors=HEADER_KEY_ERRORS).decode(errors="replace"),
                "value": None if hidden else value,
            }
            for key, value in record.headers
        ]
        row["timestamp"] = record.timestamp if batch.header.magic else None
        row["timestampType"] = timestamp_type(batch.header)
        self._rows.append(row)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()
        self._part.replace(self._path)

    def give_up(self) -> None:
        """Remove the file: with half the records it looks like any other."""
        self._writer.close()
        self._part.unlink(missing_ok=True)

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        if not rows:
            return
        try:
            table = self._arrow.Table.from_pylist(rows, self._schema)
        except (OverflowError, ValueError) as error:
            place = f"offsets {rows[0]['offset']} to {rows[-1]['offset']}"
            raise CouldNotDoIt(f"{place} do not fit into Parquet: {error}") from None
        self._writer.write_table(table)
