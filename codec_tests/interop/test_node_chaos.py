"""kill -9, SIGSTOP and partitions under load; `python -m codec_tests.chaos.run` runs longer.

One cluster has only our nodes. In the other, one of ours runs among nodes of Kafka's raft, and a
killed node may restart as the other kind on the same directory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from codec_tests.chaos.processes import ALL_OURS, Kind
from codec_tests.chaos.run import run

pytestmark = pytest.mark.interop

SECONDS = 100
"""The first election, the healing and the comparison take the rest of two minutes."""


@pytest.mark.parametrize("kinds", [ALL_OURS, ("ours", "kafka", "kafka")], ids=["ours", "mixed"])
def test_every_acknowledged_record_is_on_every_node_in_order_and_once(
    kinds: Sequence[Kind], tmp_path: Path
) -> None:
    outcome = asyncio.run(run(tmp_path, SECONDS, seed=1, kinds=kinds))
    assert outcome["problems"] == []
    acknowledged = outcome["acknowledged"]
    assert isinstance(acknowledged, int)
    assert acknowledged > 1000, outcome
