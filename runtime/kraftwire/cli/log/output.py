"""Where `log dump` prints: JSON Lines, tables piece by piece, or a Parquet file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from kraftwire.cli.log.forms import Forms, Found, batch_json, timestamp_type
from kraftwire.console.failures import CouldNotDoIt
from kraftwire.console.output import PiecewiseTable, print_json
from kraftwire.console.times import format_time
from kraftwire.log.batch import Batch
from kraftwire.log.directory import LogFile
from kraftwire.log.header import BatchHeader
from kraftwire.log.record import HEADER_KEY_ERRORS, Record

_ROWS_AT_ONCE = 1000
"""How many records are put into Parquet at a time."""


class Output(Protocol):
    """What the dump hands its rows to."""

    def record(self, file: LogFile, batch: Batch, record: Record, found: Found) -> None:
        """One record."""
        ...

    def batch(self, file: LogFile, header: BatchHeader, valid: bool | None) -> None:
        """One batch; `valid` says whether its CRC matches, None that it was not looked at."""
        ...

    def row(self, row: dict[str, Any]) -> None:
        """An entry of another file, as a JSON object."""
        ...

    def close(self) -> None:
        """Print what is still held back."""
        ...

    def give_up(self) -> None:
        """Leave nothing behind that looks whole."""
        ...


@contextmanager
def finished(output: Output) -> Iterator[None]:
    """Close an output where all went well, and give it up elsewhere."""
    try:
        yield
    except BaseException:
        output.give_up()
        raise
    output.close()


class JsonOutput:
    """A line of JSON for each row."""

    def __init__(self, forms: Forms) -> None:
        """`forms` says how records are written."""
        self._forms = forms

    def record(self, file: LogFile, batch: Batch, record: Record, found: Found) -> None:
        """See `Output.record`."""
        print_json(self._forms.record(file, batch, record, found))

    def batch(self, file: LogFile, header: BatchHeader, valid: bool | None) -> None:
        """See `Output.batch`."""
        print_json(batch_json(file, header, valid))

    def row(self, row: dict[str, Any]) -> None:
        """See `Output.row`."""
        print_json(row)

    def close(self) -> None:
        """Nothing is held back."""

    def give_up(self) -> None:
        """What was printed is whole lines."""


class TableOutput:
    """Tables: rows of the same columns together, a new table where the columns change."""

    _RECORD = ("partition", "offset", "time", "type", "key", "value", "headers")
    _TYPED = ("key", "value")
    _BATCH = ("partition", "position", "bytes", "offsets", "records", "largest time", "codec")
    _MORE = ("leader epoch", "producer", "sequences", "flags")

    def __init__(self, forms: Forms) -> None:
        """`forms` says how records are written."""
        self._forms = forms
        self._columns: tuple[str, ...] = ()
        self._table = PiecewiseTable(())

    def record(self, file: LogFile, batch: Batch, record: Record, found: Found) -> None:
        """See `Output.record`."""
        obj = self._forms.record(file, batch, record, found)
        where = f"{obj['topic']}-{obj['partition']}" if "topic" in obj else obj["file"]
        cells = [_cell(obj[part]) for part in self._TYPED]
        time = format_time(record.timestamp) if batch.header.magic else None
        name = found.typed.name if found.typed is not None else None
        headers = ", ".join(
            key if value is None else f"{key}={value}" for key, value in obj["headers"]
        )
        self._add(self._RECORD, (where, record.offset, time, name, *cells, headers))

    def batch(self, file: LogFile, header: BatchHeader, valid: bool | None) -> None:
        """See `Output.batch`."""
        obj = batch_json(file, header, valid)
        where = f"{obj['topic']}-{obj['partition']}" if file.partition else obj["file"]
        flags = [name for name in ("transactional", "control") if obj[name]]
        if header.delete_horizon is not None:
            flags.append(f"delete horizon {format_time(header.delete_horizon)}")
        producer = sequences = None
        if header.producer_id >= 0:
            producer = f"{header.producer_id}/{header.producer_epoch}"
        if header.base_sequence >= 0:
            sequences = f"{header.base_sequence}-{header.last_sequence}"
        self._add(
            self._BATCH + self._MORE,
            (
                where,
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

    def row(self, row: dict[str, Any]) -> None:
        """See `Output.row`."""
        self._add(tuple(row), tuple(map(_cell, row.values())))

    def close(self) -> None:
        """See `Output.close`."""
        self._table.flush()

    def give_up(self) -> None:
        """The rows that were read are true: print them."""
        self.close()

    def _add(self, columns: tuple[str, ...], row: tuple[object, ...]) -> None:
        if columns != self._columns:
            self._table.flush()
            self._columns = columns
            self._table = PiecewiseTable(columns)
        self._table.add(row)


def _cell(value: object) -> object:
    """A value in a cell: messages as their JSON, the rest as it is."""
    if isinstance(value, dict):
        value = value.get("message", value)
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, bool):
        return "yes" if value else None
    return value


class ParquetOutput:
    """A Parquet file of records, with the columns of Spark's Kafka source and a few more.

    Typed records have their JSON in the columns `key_json` and `value_json`, beside the
    bytes, which are null there when secrets are to be left out.
    """

    def __init__(self, path: Path, forms: Forms) -> None:
        """The file is written anew."""
        import pyarrow
        import pyarrow.parquet

        self._arrow = pyarrow
        self._forms = forms
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

    def record(self, file: LogFile, batch: Batch, record: Record, found: Found) -> None:
        """See `Output.record`."""
        row = self._forms.record(file, batch, record, found)
        hidden = self._forms.hides_bytes(found)
        for part, raw in (("key", record.key), ("value", record.value)):
            content = row[part]
            row[f"{part}_json"] = json.dumps(content) if isinstance(content, dict) else None
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

    def batch(self, file: LogFile, header: BatchHeader, valid: bool | None) -> None:
        """There is no place for batches in the file."""

    def row(self, row: dict[str, Any]) -> None:
        """There is no place for entries of other files."""

    def close(self) -> None:
        """See `Output.close`."""
        self._flush()
        self._writer.close()
        self._part.replace(self._path)

    def give_up(self) -> None:
        """Remove what was written: a Parquet file of half the records looks like any other."""
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
            raise CouldNotDoIt(f"{place} hold what does not fit into Parquet: {error}") from None
        self._writer.write_table(table)
