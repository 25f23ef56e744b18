"""Two minutes of kill -9, SIGSTOP and partitions under load; `python -m chaos.run` for longer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chaos.run import run

pytestmark = pytest.mark.interop

SECONDS = 100
"""The first election, the healing and the comparison take the rest."""


def test_every_acknowledged_record_is_on_every_node_in_order_and_once(tmp_path: Path) -> None:
    outcome = asyncio.run(run(tmp_path, SECONDS, seed=1))
    assert outcome["problems"] == []
    acknowledged = outcome["acknowledged"]
    assert isinstance(acknowledged, int)
    assert acknowledged > 1000, outcome
