"""One Spark session for the tests of this folder; they run on one worker."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

JAVA_HOME = Path(sys.prefix) / "java"
"""What `make setup` makes where there is no Java."""
ROOTS = [Path(__file__).parents[2] / root for root in ("spark_jobs", "runtime", "generated")]


def spark_environment() -> dict[str, str]:
    """What Spark's Python workers need to find this checkout, whatever started the tests."""
    found = {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(map(str, ROOTS)),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    if JAVA_HOME.exists():
        found["JAVA_HOME"] = str(JAVA_HOME)
    return found


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark on two cores of this machine."""
    os.environ.update(spark_environment())
    session = (
        SparkSession.builder.master("local[2]")
        .appName("kraftwire tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
