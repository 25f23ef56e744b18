"""Executors that are processes of their own read what a session within one process reads."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from codec_tests.installs.hosts import run
from codec_tests.spark_session import spark_environment
from codec_tests.stored_files import BROKER

pytestmark = pytest.mark.xdist_group("spark")

SCRIPT = Path(__file__).with_name("cluster_counts.py")
_SECONDS = 200


def linked_spark(home: Path) -> Path:
    """Spark as it is installed, with room for the folders of executors."""
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        if entry.name != "work":
            (home / entry.name).symlink_to(entry)
    return home


@pytest.mark.slow
def test_executors_count_what_a_local_session_counts(spark: SparkSession, tmp_path: Path) -> None:
    home = linked_spark(tmp_path / "spark")
    environment = {**os.environ, **spark_environment(), "SPARK_HOME": str(home)}
    # The gateway of the session that runs here is not to be used by another.
    environment.pop("PYSPARK_GATEWAY_PORT", None)
    command = [sys.executable, str(SCRIPT), str(BROKER)]
    printed = run(command, environment, _SECONDS, tmp_path, SCRIPT.name)
    (line,) = [line for line in printed.splitlines() if line.startswith("[[")]
    counts: Counter[tuple[str, int]] = Counter()
    folders = set()
    for topic, partition, folder, count in json.loads(line):
        counts[topic, partition] += count
        folders.add(Path(folder))
    frame = spark.read.format("kraftwire").load(str(BROKER))
    local = frame.groupBy("topic", "partition").count().collect()
    assert counts == {(topic, partition): count for topic, partition, count in local}
    assert len(folders) == 2
    assert {folder.parents[1] for folder in folders} == {home / "work"}
