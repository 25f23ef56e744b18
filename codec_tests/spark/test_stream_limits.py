"""What comes into a trigger: limits, and transactions that are decided."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kraftwire_wire.records import ControlType
from pyspark_kraftwire.streaming.limits import BatchSize, Limits

from codec_tests.spark.growing import FollowingStream, GrowingLog, records_of, transactional


class Sizes:
    """A queue of pieces."""

    def __init__(self, *pieces: tuple[int, int]) -> None:
        self.left = [BatchSize(*piece) for piece in pieces]
        self.taken: list[BatchSize] = []

    def peek(self) -> BatchSize | None:
        return self.left[0] if self.left else None

    def take(self) -> None:
        self.taken.append(self.left.pop(0))


def test_partitions_use_what_others_leave() -> None:
    queues = {
        ("a", 0): Sizes(*[(10, 1)] * 3),
        ("a", 1): Sizes(*[(10, 1)] * 50),
        ("b", 0): Sizes(*[(5, 1)] * 50),
    }
    Limits(100, None).share(queues)
    assert [sum(p.size for p in queue.taken) for queue in queues.values()] == [30, 40, 30]


def test_a_limit_smaller_than_a_batch_reads_one_batch_at_a_time() -> None:
    limits = Limits(None, 5)
    queues = {("a", number): Sizes(*[(1, 9)] * 3) for number in range(4)}
    order = []
    for _ in range(12):
        before = {name: len(queue.taken) for name, queue in queues.items()}
        limits.share(queues)
        order += [name[1] for name, queue in queues.items() if len(queue.taken) > before[name]]
    assert order == [0, 1, 2, 3] * 3


@given(
    st.lists(st.lists(st.tuples(st.integers(1, 90), st.integers(0, 9)), max_size=8), max_size=5),
    st.none() | st.integers(1, 120),
    st.none() | st.integers(1, 12),
)
def test_limits_hold_and_no_partition_starves(
    sizes: list[list[tuple[int, int]]], max_bytes: int | None, max_records: int | None
) -> None:
    limits = Limits(max_bytes, max_records)
    queues = {("t", number): Sizes(*pieces) for number, pieces in enumerate(sizes)}
    waited = dict.fromkeys(queues, 0)
    while any(queue.left for queue in queues.values()):
        for queue in queues.values():
            queue.taken = []
        had = {name: bool(queue.left) for name, queue in queues.items()}
        limits.share(queues)
        taken = [piece for queue in queues.values() for piece in queue.taken]
        assert taken
        if len(taken) > 1:
            assert max_bytes is None or sum(piece.size for piece in taken) <= max_bytes
            assert max_records is None or sum(piece.records for piece in taken) <= max_records
        for name, queue in queues.items():
            waited[name] = 0 if queue.taken or not had[name] else waited[name] + 1
            assert waited[name] < len(queues)


def test_both_limits_hold_in_a_stream(tmp_path: Path) -> None:
    logs = [GrowingLog(tmp_path, f"orders-{number}") for number in range(3)]
    for log in logs:
        log.append(*[2] * 6, size=100)
    size = logs[0].active.stat().st_size // 6
    stream = FollowingStream(tmp_path, maxBytesPerTrigger=size * 5, maxRecordsPerTrigger=8)
    first = stream.trigger()
    assert len(first) == 8
    stream = FollowingStream(tmp_path, maxBytesPerTrigger=size * 3, maxRecordsPerTrigger=8)
    assert [row[1] for row in stream.trigger()] == [0, 0, 1, 1, 2, 2]
    assert len(stream.trigger(limited=False)) == 30


def test_a_committed_stream_stops_before_an_open_transaction(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    stream = FollowingStream(tmp_path, isolation="read_committed")
    log.append(1)
    log.write(log.batch(2, transactional(7)))
    log.append(1)
    assert stream.trigger() == log.records[:1]
    log.write(log.batch(1, transactional(8)))
    log.write(log.marker(ControlType.COMMIT, 7))
    end = stream.offer()
    assert end["next"] == {"orders": {"0": 4}}
    first = records_of(stream.table(end))
    assert first == log.records[1:4]
    log.write(log.marker(ControlType.ABORT, 8))
    stream.restart()
    assert records_of(stream.table(end)) == first  # what was decided since changes nothing
    stream.offset = end
    log.append(1)
    assert stream.trigger() == log.records[5:]


def test_an_open_transaction_is_kept_when_older_ones_are_forgotten(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.write(log.batch(1, transactional(7)))
    log.write(log.marker(ControlType.ABORT, 7))
    log.write(log.batch(1, transactional(8)))
    stream = FollowingStream(tmp_path, isolation="read_committed")
    assert stream.trigger() == []
    begin = stream.offset
    assert begin["next"] == {"orders": {"0": 2}}
    for _ in range(2):
        log.append(1)
        assert stream.trigger() == []
    log.write(log.marker(ControlType.ABORT, 8))
    log.append(1)
    assert stream.trigger() == log.records[2:]
    log.append(1)
    assert stream.trigger() == log.records[5:]
    stream.offset, end = begin, stream.offset  # back, in the same process
    assert records_of(stream.table(end)) == log.records[2:]


def test_a_limit_may_cut_a_transaction(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    expected: list[int] = []
    for number, kind in enumerate([ControlType.ABORT, ControlType.COMMIT] * 3):
        for _ in range(3):
            log.write(log.batch(1, transactional(7)))
            expected += [log.next - 1] if kind is ControlType.COMMIT else []
            log.append(1)
            expected.append(log.next - 1)
        log.write(log.marker(kind, 7))
        if number % 2:
            log.roll()
    stream = FollowingStream(tmp_path, isolation="read_committed", maxRecordsPerTrigger=2)
    seen: list[int] = []
    before = None
    while stream.offset != before:
        before = stream.offset
        seen += [row[2] for row in stream.trigger()]
        if len(seen) % 3 == 0:
            stream.restart()
    assert seen == expected


def test_a_committed_stream_from_latest_starts_at_the_open_transaction(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2)
    log.write(log.batch(1, transactional(7)))
    log.append(1)
    stream = FollowingStream(tmp_path, isolation="read_committed", startingOffsets="latest")
    assert stream.trigger() == []
    log.write(log.marker(ControlType.COMMIT, 7))
    assert [row[2] for row in stream.trigger()] == [2, 3]
