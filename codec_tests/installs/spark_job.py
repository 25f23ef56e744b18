"""Reads segments with Spark and prints the results as one line of JSON.

`shipping.py` compares these lines. This runs with the Python of an environment and the master that
it is started with. It imports only the standard library, pyspark, and what was shipped.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pyspark
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.types import StringType

ERROR = "kraftwire_wire.errors.KraftwireError: "
_TASKS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stored", type=Path, help="codec_tests/stored, with its full path")
    parser.add_argument("--remote", help="what to connect to, with Spark Connect")
    parser.add_argument("--zip", help="a zip of Python to hand to the session")
    parser.add_argument("--register", action="store_true", help="do not leave that to Spark")
    asked = parser.parse_args()
    builder = SparkSession.builder.config("spark.ui.enabled", "false")
    session = (builder.remote(asked.remote) if asked.remote else builder).getOrCreate()
    try:
        if asked.zip and asked.remote:
            sys.path.insert(0, asked.zip)
            session.addArtifacts(asked.zip, pyfile=True)
        elif asked.zip:
            session.sparkContext.addPyFile(asked.zip)
        if asked.zip or asked.register:
            from pyspark_kraftwire import KraftwireSource

            session.dataSource.register(KraftwireSource)
        count = session.read.format("kraftwire").load(str(asked.stored / "broker")).count()
        worker = udf(of_worker, StringType(), useArrow=False)  # which would ask for pandas
        workers = session.range(0, _TASKS, 1, _TASKS).select(worker("id"))
        found = {
            "pyspark": pyspark.__version__,
            "workers": sorted({row[0] for row in workers.collect()}),
            "count": count,
            "printed": printed(session, asked.stored),
        }
    finally:
        session.stop()
    sys.stdout.write(json.dumps(found) + "\n")


def of_worker(_: int) -> str:
    """Return a worker's engine, where it imports kraftwire from, and its Python."""
    import kraftwire
    from kraftwire.columns import engine

    name = "python" if engine.NATIVE is None else "native"
    return f"{name} {kraftwire.__file__} {sys.executable}"


def printed(session: SparkSession, stored: Path) -> dict[str, str]:
    """Return rows, a table, typed records and damage reports, which are the same everywhere."""
    frame = session.read.format("kraftwire").load(str(stored / "broker"))
    rows = sorted(repr(plain(row)) for row in frame.collect())
    controller = str(stored / "controller")
    typed = session.read.format("kraftwire").option("decode", "metadata").load(controller)
    topics = typed.where("type = 'TopicRecord'").select("offset", "version", "TopicRecord.name")
    with damaged(stored / "broker" / "tea-0") as directory:
        said = {mode: outcome(session, mode, directory) for mode in ("FAILFAST", "PERMISSIVE")}
    return {
        "rows": f"{len(rows)} {hashlib.sha256(repr(rows).encode()).hexdigest()}",
        "typed": repr([tuple(row) for row in topics.orderBy("offset").collect()]),
        "show": shown(frame.orderBy("topic", "partition", "offset")),
        **said,
    }


def plain(row: Any) -> list[Any]:
    """Return a row with bytes instead of the bytearrays of pyspark 4.0."""
    return [bytes(value) if isinstance(value, bytearray) else value for value in row]


def shown(frame: Any) -> str:
    """Return what `show` prints."""
    output = io.StringIO()
    with redirect_stdout(output):
        frame.show(3)
    return output.getvalue()


@contextmanager
def damaged(partition: Path) -> Iterator[Path]:
    """Copy a partition's directory and change a byte of its last batch."""
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / partition.name
        shutil.copytree(partition, copy)
        segment = max(copy.glob("*.log"))
        data = bytearray(segment.read_bytes())
        data[-1] ^= 0xFF
        segment.write_bytes(data)
        yield copy


def outcome(session: SparkSession, mode: str, directory: Path) -> str:
    """Return the number of rows and the damage, or the error."""
    frame = session.read.format("kraftwire").option("mode", mode).load(str(directory))
    try:
        rows = frame.collect()
    except (PySparkException, Py4JJavaError) as error:
        lines = [line for line in str(error).splitlines() if line.startswith(ERROR)]
        return lines[0].replace(str(directory), "") if lines else f"another error: {error}"
    reasons = [row._corrupt_record.reason for row in rows if row._corrupt_record]
    return f"{len(rows)} rows, of damage: {reasons}"


if __name__ == "__main__":
    main()
