"""Files that change between the planning of a read and its tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.split import LostError

from codec_tests.spark.growing import GrowingLog
from codec_tests.spark.reads import planned, table_of

CHANGED = "compacted or cut while the query ran"


def rolled(tmp_path: Path) -> GrowingLog:
    """A log of two segments with records in both."""
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2, 2, 2, size=100)
    log.roll()
    log.append(2, 2, size=100)
    return log


@pytest.mark.parametrize("options", [{}, {"startingOffsets": 2}, {"maxSplitBytes": 100}])
def test_a_compacted_segment_is_an_error(tmp_path: Path, options: dict[str, Any]) -> None:
    log = rolled(tmp_path)
    reading, tasks = planned(tmp_path, columns=["offset"], **options)
    path = log.segment(0)
    data = path.read_bytes()
    path.write_bytes(data[len(data) // 3 :])
    with pytest.raises(KraftwireError, match=CHANGED) as found:
        table_of(reading, tasks)
    assert str(path) in str(found.value)


def test_batches_that_moved_after_planning_are_an_error(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2, 2, 2, size=100)
    reading, tasks = planned(tmp_path, columns=["offset"], startingOffsets=2)
    path = log.segment(0)
    first = path.stat().st_size // 3
    # It was rolled, compacted, and is longer now: the size alone does not tell.
    path.write_bytes(path.read_bytes()[first - 1 :] + bytes(first))
    with pytest.raises(KraftwireError, match=CHANGED):
        table_of(reading, tasks)


def test_a_deleted_segment_is_an_error(tmp_path: Path) -> None:
    log = rolled(tmp_path)
    reading, tasks = planned(tmp_path, columns=["offset"])
    log.retire()
    with pytest.raises(LostError, match="deleted while the query ran"):
        table_of(reading, tasks)


def test_a_segment_marked_for_deletion_is_still_read(tmp_path: Path) -> None:
    log = rolled(tmp_path)
    reading, tasks = planned(tmp_path, columns=["offset"])
    log.retire(keep_file=True)
    assert table_of(reading, tasks).column("offset").to_pylist() == list(range(10))


def test_records_appended_after_planning_are_not_read(tmp_path: Path) -> None:
    log = rolled(tmp_path)
    reading, tasks = planned(tmp_path, columns=["offset"])
    log.append(3)
    log.roll()
    log.append(3)
    assert table_of(reading, tasks).column("offset").to_pylist() == list(range(10))


def test_a_truncated_log_is_an_error(tmp_path: Path) -> None:
    log = rolled(tmp_path)
    reading, tasks = planned(tmp_path, columns=["offset"])
    log.cut(10)
    with pytest.raises(KraftwireError, match=CHANGED):
        table_of(reading, tasks)
