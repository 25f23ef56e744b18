"""Writes and prints the DataFrames of scripts."""

from __future__ import annotations

import json
from typing import Any

import click
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from kraftwire.console.output import PiecewiseTable, print_json, wants_json
from kraftwire.printing import printable


def write_table(frame: DataFrame, out: str, format_: str, *, overwrite: bool = False) -> None:
    """Write a table to a directory; raise if that exists, unless it is to be overwritten."""
    mode = "overwrite" if overwrite else "errorifexists"
    frame.coalesce(1).write.format(format_).mode(mode).save(out)


def print_frame(frame: DataFrame, output: str | None) -> None:
    """Print rows as they arrive: a table on a terminal, otherwise JSON Lines."""
    columns = [F.col(column) for column in frame.columns]
    lines = frame.select(F.to_json(F.struct(*columns), {"ignoreNullFields": "false"}))
    table = None if wants_json(output) else PiecewiseTable(frame.columns)
    for row in lines.toLocalIterator():
        obj: dict[str, Any] = json.loads(row[0])
        if table is None:
            print_json(obj)
        else:
            table.add([_cell(obj.get(name)) for name in frame.columns])
    if table is not None:
        table.flush()


def _cell(value: Any) -> object:
    """Return a value for a table; lists and structs are JSON without quotes."""
    if isinstance(value, list | dict):
        return json.dumps(value).replace('"', "")
    return value


def report_corrupt(rows: DataFrame, column: str) -> int:
    """Print on standard error what could not be read, and return the number of problems."""
    corrupt = rows.where(F.col(column).isNotNull()).select(F.col(column).alias("c"))
    found = corrupt.select("c.file", "c.position", "c.reason").distinct().collect()
    for row in sorted(found):
        click.echo(printable(f"{row.file}, byte {row.position}: {row.reason}"), err=True)
    return len(found)
