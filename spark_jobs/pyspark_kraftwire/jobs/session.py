"""Starting Spark for a script, telling how far it is, and ending in one line where it fails.

A script runs under `spark-submit`, whose session it takes, or as a program of Python's, where
it makes one on this machine. The exit codes are those of the command line: 0 done, 1
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
"""What `spark-submit` tells a script by."""

_ERROR = re.compile(r"^(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Batch|Version|Exception): (.+)$", re.M)
"""How Python ends a traceback, be it within one of the JVM's."""

Result = TypeVar("Result")

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


def on_spark(name: str, work: Callable[[SparkSession], Result]) -> Result:
    """What `work` makes of the session of a script, which is stopped then.

    Both run in a thread of their own, so that an interrupt never comes in the middle of a call
    to the JVM; and where it comes while Spark starts, no JVM is left behind.
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
            # Python's child is between its fork and its handlers when pyspark starts the JVM.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        _settle(started, lambda: _start(name))
        _settle(finished, begin)

    threading.Thread(target=run, daemon=True).start()
    try:
        return finished.result()
    except KeyboardInterrupt:
        interrupted.set()
        started.result().sparkContext.setLogLevel("OFF")  # else each task cut off has a traceback
        raise
    finally:
        if started.exception() is None:
            _stop(started.result())
            wait([finished], _SECONDS)


def _settle(future: Future[Result], work: Callable[[], Result]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001  # raised where it is waited for
        future.set_exception(error)


def _start(name: str) -> SparkSession:
    builder = SparkSession.builder.appName(name)
    if _SUBMITTED not in os.environ:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.config("spark.log.level", "ERROR")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        # The usual 200 are for clusters.
        builder = builder.config("spark.sql.shuffle.partitions", str(os.cpu_count() or 1))
    return builder.getOrCreate()


def _stop(spark: SparkSession) -> None:
    """Stop Spark, without the traceback that pyspark's server of accumulators may print.

    It does where the JVM hangs up on it before it is shut down itself; nothing is lost by that.
    """
    server = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda request, client_address: None
    spark.stop()


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
