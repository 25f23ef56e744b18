"""The README's lines for Spark run, and show what they should."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from codec_tests.readme import ROOT, blocks

pytestmark = pytest.mark.xdist_group("spark")


@pytest.mark.slow
def test_the_readmes_spark_block_runs(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    (block,) = [block for block in blocks("python") if "pyspark" in block]
    names: dict[str, Any] = {}
    exec(block, names)
    shown = capsys.readouterr().out
    assert "|              orders|        0|   71|" in shown
    assert "classic-drinkers" in shown
    assert names["frame"].count() == 1477
