"""Spark on two cores of this machine, for tests and benchmarks: one way to start it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

JAVA_HOME = Path(sys.prefix) / "java"
"""What `make setup` makes where there is no Java."""
ROOTS = [Path(__file__).parents[1] / root for root in ("spark_jobs", "runtime", "generated", ".")]
SHORT_LIVED = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Options of a JVM whose life is too short for good code."""


def spark_environment() -> dict[str, str]:
    """What Spark's Python workers need to find this checkout, whatever started it."""
    found = {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(map(str, ROOTS)),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    if JAVA_HOME.exists():
        found["JAVA_HOME"] = str(JAVA_HOME)
    return found


@contextmanager
def local_spark(name: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session of two cores, stopped when it is left; there is one at a time in a process."""
    with pytest.MonkeyPatch.context() as environment:
        for variable, value in spark_environment().items():
            environment.setenv(variable, value)
        builder = SparkSession.builder.master("local[2]").appName(name)
        usual = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        for setting, value in {**usual, **settings}.items():
            builder = builder.config(setting, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        try:
            yield session
        finally:
            session.stop()
