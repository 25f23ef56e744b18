"""Starts Spark for a script, prints progress, and reports a failure in one line.

A script runs under `spark-submit` and uses its session, or as a Python program and starts Spark
on this machine. The exit codes are those of the command line: 0 done, 1
something was wrong with the data, 2 could not do it, 130 interrupted.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import TypeVar

import click
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kraftwire.console.failures import CouldNotDoIt, reporting_failures
from kraftwire.console.progress import progress

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by `spark-submit` for the scripts that it runs."""

_ERROR = re.compile(r"^(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Batch|Version|Exception): (.+)$", re.M)
"""The last line of a Python traceback, also within a stack trace of the JVM."""

Result = TypeVar("Result")

_SECONDS = 10.0
_POLL = 0.25


@contextmanager
def failing_in_one_line() -> Iterator[None]:
    """Turn errors, also those of Spark, into a line on standard error and an exit code."""
    with reporting_failures():
        try:
            yield
        except (PySparkException, Py4JError) as error:
            raise CouldNotDoIt(reason_of(error)) from None


def reason_of(error: Exception) -> str:
    """Return why Spark has failed, without its stack traces."""
    text = str(error)
    found = _ERROR.findall(text)
    return found[-1] if found else text.strip().partition("\n")[0]


def on_spark(name: str, work: Callable[[SparkSession], Result]) -> Result:
    """Start Spark, return what `work` returns for the session, and stop Spark.

    A separate thread starts Spark and runs `work`. So an interrupt never hits a call to the JVM,
    and if it arrives while Spark starts, no JVM is left running.
    """
    started: Future[SparkSession] = Future()
    finished: Future[Result] = Future()
    interrupted = threading.Event()

    def begin() -> Result:
        spark = started.result()
        if interrupted.is_set():  # a job that begins while Spark stops may never end
            raise KeyboardInterrupt
        return work(spark)

    def run() -> None:
        if hasattr(signal, "pthread_sigmask"):
            # pyspark forks to start the JVM; without the mask an interrupt could hit that child
            # before it has its signal handlers.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        _settle(started, lambda: _start(name))
        _settle(finished, begin)

    threading.Thread(target=run, daemon=True).start()
    try:
        return finished.result()
    except KeyboardInterrupt:
        interrupted.set()
        started.result().sparkContext.setLogLevel(
            "OFF"
        )  # or each cancelled task prints a traceback
        raise
    finally:
        if started.exception() is None:
            _stop(started.result())
            wait([finished], _SECONDS)


def _settle(future: Future[Result], work: Callable[[], Result]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001  # raised by result()
        future.set_exception(error)


def _start(name: str) -> SparkSession:
    builder = SparkSession.builder.appName(name)
    if _SUBMITTED not in os.environ:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.config("spark.log.level", "ERROR")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        # The default of 200 is for clusters.
        builder = builder.config("spark.sql.shuffle.partitions", str(os.cpu_count() or 1))
    return builder.getOrCreate()


def _stop(spark: SparkSession) -> None:
    """Stop Spark, without the traceback that pyspark's accumulator server may print.

    It prints one if the JVM closes the connection first, which loses nothing.
    """
    server = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda request, client_address: None
    spark.stop()


@contextmanager
def reporting_progress(total: int, label: str, done: Callable[[], int]) -> Iterator[None]:
    """Show on standard error how many bytes of `total` are `done`, while the block runs.

    A terminal gets a progress bar, anything else a line every ten seconds.
    """
    over = threading.Event()
    on_terminal = sys.stderr is not None and sys.stderr.isatty()

    def report(advance: Callable[[int], None]) -> None:
        reported, line_at = 0, time.monotonic() + _SECONDS
        while not over.wait(_POLL):
            now = done()
            advance(now - reported)
            reported = now
            if not on_terminal and time.monotonic() >= line_at:
                line_at += _SECONDS
                click.echo(f"{label}: {now / 1e6:.1f} of {total / 1e6:.1f} MB", err=True)

    with progress(total, label) as advance:
        thread = threading.Thread(target=report, args=(advance,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
