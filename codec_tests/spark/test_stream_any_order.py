"""Anything may happen to a log and to a stream at any time: every record is read once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftwire.log.batches.header import HEADER
from kraftwire_wire.records import ControlType

from codec_tests.spark.growing import FollowingStream, GrowingLog, Seen, records_of, transactional

ACTIONS = st.one_of(
    st.tuples(st.just("append"), st.integers(0, 2), st.integers(1, 4)),
    st.tuples(st.just("begin"), st.integers(0, 2), st.integers(1, 3)),
    st.tuples(st.just("open"), st.integers(0, 2), st.integers(1, 2)),
    st.tuples(st.just("commit"), st.integers(0, 2), st.integers(1, 2)),
    st.tuples(st.just("abort"), st.integers(0, 2), st.integers(1, 2)),
    st.tuples(st.just("roll"), st.integers(0, 2), st.integers(0, 1)),
    st.tuples(st.just("retire"), st.integers(0, 2), st.integers(0, 1)),
    st.tuples(st.just("trigger"), st.just(0), st.just(0)),
    st.tuples(st.just("crash"), st.just(0), st.just(0)),
    st.tuples(st.just("restart"), st.just(0), st.just(0)),
)


class Broker:
    """Up to three partitions that anything may happen to."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self.logs: dict[int, GrowingLog] = {}
        self._begun: dict[int, bytes] = {}
        self._open: dict[tuple[int, int], list[Seen]] = {}
        self.aborted: set[Seen] = set()

    def log(self, number: int) -> GrowingLog:
        """A partition, be it a new one; what was begun there is finished."""
        if number not in self.logs:
            self.logs[number] = GrowingLog(self._data, f"a-topic-{number}")
        self.logs[number].write(self._begun.pop(number, b""))
        return self.logs[number]

    def do(self, action: str, number: int, count: int, read_up_to: Callable[[int], int]) -> None:
        """Have something happen."""
        log = self.log(number)
        if action == "append":
            log.append(count)
        elif action == "begin":
            batch = log.batch(count)
            log.write(batch[: HEADER.size * count // 2])
            self._begun[number] = batch[HEADER.size * count // 2 :]
        elif action == "open":
            log.write(log.batch(1, transactional(count)))
            self._open.setdefault((number, count), []).append(log.records[-1])
        elif action in ("commit", "abort"):
            self._end(number, count, is_aborted=action == "abort")
        elif action == "roll":
            log.roll(index_interval=100 if count else None)
        elif action == "retire" and len(log.bases) > 1 and read_up_to(number) >= log.bases[1]:
            log.retire(keep_file=bool(count))

    def _end(self, number: int, producer: int, *, is_aborted: bool) -> None:
        records = self._open.pop((number, producer), [])
        kind = ControlType.ABORT if is_aborted else ControlType.COMMIT
        self.logs[number].write(self.logs[number].marker(kind, producer))
        if is_aborted:
            self.aborted.update(records)

    def finish(self) -> None:
        """Leave nothing open."""
        for number in list(self.logs):
            self.log(number)
        for number, producer in list(self._open):
            self._end(number, producer, is_aborted=False)


@pytest.mark.slow
@given(
    st.lists(ACTIONS, max_size=40),
    st.sampled_from(["read_committed", "read_uncommitted"]),
    st.none() | st.integers(60, 600),
    st.none() | st.integers(1, 6),
)
@settings(max_examples=150)
def test_every_record_is_read_once_and_in_order(
    actions: list[tuple[str, int, int]],
    isolation: str,
    max_bytes: int | None,
    max_records: int | None,
) -> None:
    given_limits: dict[str, object] = {}
    if max_bytes is not None:
        given_limits["maxBytesPerTrigger"] = max_bytes
    if max_records is not None:
        given_limits["maxRecordsPerTrigger"] = max_records
    with TemporaryDirectory() as name:
        broker = Broker(Path(name))
        stream = FollowingStream(Path(name), isolation=isolation, **given_limits)
        seen: list[Seen] = []

        def read_up_to(number: int) -> int:
            offsets = stream.offset.get("next", {}).get("a-topic", {})
            return int(offsets.get(str(number), 0))

        for action, number, count in actions:
            if action == "trigger":
                seen += stream.trigger()
            elif action == "crash":  # within a batch, which is in the checkpoint by then
                end = stream.offer()
                before = records_of(stream.table(end)) if end else []
                stream.restart()
                if end:
                    assert records_of(stream.table(end)) == before
                    seen += before
                    stream.offset = end
            elif action == "restart":
                stream.restart()
            else:
                broker.do(action, number, count, read_up_to)
        broker.finish()
        seen += stream.all()
        hidden = broker.aborted if isolation == "read_committed" else set()
        for log in broker.logs.values():
            expected = [one for one in log.records if one not in hidden]
            assert [one for one in seen if one[1] == log.partition] == expected
