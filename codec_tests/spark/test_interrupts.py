"""Ctrl-C in a script: exit code 130, no traceback, and no JVM that stays behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from codec_tests.spark.reads import batch, write_segments
from codec_tests.spark.scripts import SECONDS, start_script, wait_for_files

pytestmark = pytest.mark.xdist_group("spark")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "count"), [("export.json", 1), ("*.parquet.json", 3)], ids=["starting", "writing"]
)
def test_an_interrupted_export_ends_quietly(tmp_path: Path, pattern: str, count: int) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    write_segments(data / "many-0", [batch(at, 20) for at in range(0, 3000, 20)], interval=1)
    options = ("--option", "maxSplitBytes=1k")
    process = start_script("decode_segments", data, "--out", out, *options)
    try:
        wait_for_files(process, out, pattern, count)
        os.killpg(process.pid, signal.SIGINT)
        # A JVM that is left behind has the same streams, and this never ends.
        output, told = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    assert (process.returncode, output) == (130, "")
    assert "Traceback" not in told
    assert "Exception" not in told
    assert " ERROR " not in told
