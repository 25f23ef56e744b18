"""Starting Spark for a script, telling how far it is, and ending in one line where it fails.

A script runs under `spark-submit`, whose session it takes, or as a program of Python's, where
it makes one on this machine. The exit codes are those of the command line: 0 done, 1
something was wrong with the data, 2 could not do it, 130 interrupted.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import click
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kraftwire.cli.failures import CouldNotDoIt, reporting_failures
from kraftwire.cli.log_options import progress

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""What `spark-submit` tells a script by."""

_ERROR = re.compile(r"^(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Batch|Version|Exception): (.+)$", re.M)
"""How Python ends a traceback, be it within one of the JVM's."""

_SECONDS = 10.0
_POLL = 0.25


@contextmanager
def failing_in_one_line() -> Iterator[None]:
    """Turn errors into a line on standard error and an exit code, those of Spark too."""
    with reporting_failures():
        try:
            yield
        except (PySparkException, Py4JError) as error:
            raise CouldNotDoIt(reason_of(error)) from None


def reason_of(error: Exception) -> str:
    """Why Spark has failed, without its stack traces."""
    text = str(error)
    found = _ERROR.findall(text)
    return found[-1] if found else text.strip().partition("\n")[0]


@contextmanager
def spark_session(name: str) -> Iterator[SparkSession]:
    """The session of a script, stopped when it ends."""
    builder = SparkSession.builder.appName(name)
    if _SUBMITTED not in os.environ:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.config("spark.log.level", "ERROR")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        # The usual 200 are for clusters.
        builder = builder.config("spark.sql.shuffle.partitions", str(os.cpu_count() or 1))
    # In a thread of its own Spark starts without pyspark's handler of interrupts, which calls the
    # JVM in the middle of other calls; and the JVM is not left behind by one that comes early.
    with ThreadPoolExecutor(1) as starter:
        spark = starter.submit(builder.getOrCreate).result()
    logging.getLogger().addFilter(_is_no_interrupt)
    try:
        yield spark
    except KeyboardInterrupt:
        spark.sparkContext.setLogLevel("OFF")  # else each task that is cut off has a traceback
        raise
    finally:
        spark.stop()


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Whether a line of the log is not py4j's about an interrupt, which has a traceback."""
    return not str(record.msg).startswith("KeyboardInterrupt while sending")


@contextmanager
def telling(total: int, label: str, done: Callable[[], int]) -> Iterator[None]:
    """Tell on standard error how many bytes of `total` are `done`, while something else runs.

    A terminal gets a bar, anything else a line every ten seconds.
    """
    over = threading.Event()
    on_terminal = sys.stderr is not None and sys.stderr.isatty()

    def tell(advance: Callable[[int], None]) -> None:
        told, line_at = 0, time.monotonic() + _SECONDS
        while not over.wait(_POLL):
            now = done()
            advance(now - told)
            told = now
            if not on_terminal and time.monotonic() >= line_at:
                line_at += _SECONDS
                click.echo(f"{label}: {now / 1e6:.1f} of {total / 1e6:.1f} MB", err=True)

    with progress(total, label) as advance:
        thread = threading.Thread(target=tell, args=(advance,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
