"""Segments of magic 0 and 1, written by Kafka's own classes and read by its dump tool and us."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kraftwire.log import find_files, read_batches

from interop.java_dump import java_dump, our_lines, their_lines
from interop.maven import class_path, joined, tool

pytestmark = pytest.mark.interop

_SECONDS = 60


def test_kafka_and_we_read_the_formats_of_before_0_11_alike(tmp_path: Path) -> None:
    command = [str(tool("java")), "-cp", joined(class_path()), "LegacyLogs", str(tmp_path)]
    subprocess.run(command, check=True, timeout=_SECONDS)
    files = [file for path in sorted(tmp_path.iterdir()) for file in find_files([path])]
    assert len(files) == 8
    theirs = java_dump([file.path for file in files], "--print-data-log")
    compared = 0
    for file in files:
        with file.open() as source:
            ours = list(our_lines(read_batches(source), None))
        assert ours == list(their_lines(theirs[file.path])), file.path
        compared += len(ours)
    assert compared > 8 * 21
