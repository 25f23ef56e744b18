"""The end of a log that is being written: torn, allocated in advance, damaged, idle."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftwire.log.batches.encoding import BatchSettings
from kraftwire.log.sources.source import FileSource
from kraftwire_wire.errors import KraftwireError

from codec_tests.spark.growing import FollowingStream, GrowingLog, Seen, records_of


def test_what_is_appended_between_triggers_is_read_once(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    stream = FollowingStream(tmp_path)
    seen: list[Seen] = []
    for count in (1, 5, 2):
        log.append(count, 1)
        seen += stream.trigger()
        assert stream.trigger() == []
    assert seen == log.records
    assert stream.offset["next"] == {"orders": {"0": 11}}


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_batch_is_read_once_it_is_complete(tmp_path: Path, is_restarted: bool) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(3)
    stream = FollowingStream(tmp_path)
    assert stream.trigger() == log.records
    batch = log.batch(2)
    for byte in batch[:-1]:
        log.write(bytes([byte]))
        if is_restarted:
            stream.restart()
        assert stream.trigger() == []
    log.write(batch[-1:])
    assert stream.trigger() == log.records[3:]


def test_a_batch_in_preallocated_space_is_read_once_its_crc_matches(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(3)
    batch = log.batch(2)
    begin, end = log.active.stat().st_size, log.active.stat().st_size + 4096
    log.cut(end)  # zeros, as a broker allocates them
    stream = FollowingStream(tmp_path)
    assert stream.trigger() == log.records[:3]
    with log.active.open("r+b", buffering=0) as file:
        file.seek(begin)
        # Zeros that are in the batch itself change nothing; without them it may be whole.
        for at in range(len(batch.rstrip(b"\0")) - 1):
            file.write(batch[at : at + 1])
            assert stream.trigger() == []
        file.seek(begin)
        file.write(batch)
    assert stream.trigger() == log.records[3:]
    log.cut(begin + len(batch))
    log.append(1)
    assert stream.trigger() == log.records[5:]


def test_large_preallocated_space_is_scanned_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(3)
    log.cut(64 << 20)
    stream = FollowingStream(tmp_path)
    stream.trigger()
    sizes: list[int] = []
    read = FileSource.read_at

    def counting(self: FileSource, position: int, size: int) -> bytes:
        sizes.append(size)
        return read(self, position, size)

    monkeypatch.setattr(FileSource, "read_at", counting)
    assert stream.trigger() == []
    assert sum(sizes) < 1 << 20


def test_batches_inside_a_torn_batch_are_not_read(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(1)
    inner = GrowingLog(tmp_path / "other", "inner-0", base=50)
    outer = log.batch(1, size=400)
    at = len(outer) - 300
    inside = inner.batch(1)
    torn = outer[:at] + inside
    log.write(torn)
    stream = FollowingStream(tmp_path, topics="orders")
    assert stream.trigger() == log.records[:1]
    log.cut(log.active.stat().st_size - len(torn))
    log.write(outer)
    assert stream.trigger() == log.records[1:]


def test_a_last_batch_with_a_wrong_crc_waits_and_then_follows_the_mode(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2)
    stream = FollowingStream(tmp_path, mode="PERMISSIVE")
    assert stream.trigger() == log.records
    damaged = bytearray(log.batch(1))
    damaged[-1] ^= 1
    log.write(bytes(damaged))
    assert stream.trigger() == []
    log.append(1)
    end = stream.offer()
    table = stream.table(end)
    assert records_of(table) == log.records[3:]
    assert table.column("_corrupt_record").null_count == 1
    with pytest.raises(KraftwireError, match="mode=PERMISSIVE"):
        FollowingStream(tmp_path).trigger()


@pytest.mark.parametrize("is_rolled", [False, True])
def test_garbage_between_batches_is_reported_in_one_trigger(
    tmp_path: Path, is_rolled: bool
) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2)
    stream = FollowingStream(tmp_path, mode="PERMISSIVE")
    stream.trigger()
    log.write(b"\xff" * 200)
    assert stream.trigger() == []
    if is_rolled:
        log.next += 1  # what was lost
        log.roll(index_interval=None)
    log.append(3, 1)
    end = stream.offer()
    rows = stream.table(end).column("_corrupt_record").to_pylist()
    assert [len(row["bytes"]) for row in rows if row is not None] == [200]
    stream.offset = end
    log.append(1)
    end = stream.offer()
    assert stream.table(end).column("_corrupt_record").to_pylist() == [None]


def test_a_damaged_offset_does_not_move_the_stream(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2)
    damaged = bytearray(log.batch(1))
    damaged[5] ^= 1  # of the base offset, which is not under the CRC: 65536 further on
    log.write(bytes(damaged))
    log.append(3)
    with pytest.raises(KraftwireError, match="out of order"):
        FollowingStream(tmp_path).trigger()
    stream = FollowingStream(tmp_path, mode="DROPMALFORMED")
    offsets = [row[2] for row in stream.trigger()]
    assert offsets == [0, 1, 3, 4, 5]
    assert stream.offset["next"] == {"orders": {"0": 6}}
    log.append(1)
    assert stream.trigger() == log.records[6:]


def test_a_damaged_offset_at_the_end_of_a_segment_does_not_move_the_stream(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2)
    damaged = bytearray(log.batch(1))
    damaged[5] ^= 1
    log.write(bytes(damaged))
    log.roll(index_interval=None)
    log.append(3, 1)
    with pytest.raises(KraftwireError, match="out of order"):
        FollowingStream(tmp_path).trigger()
    stream = FollowingStream(tmp_path, maxRecordsPerTrigger=5, mode="DROPMALFORMED")
    assert [row[2] for row in stream.trigger()] == [0, 1, 3, 4, 5]
    assert stream.trigger() == log.records[6:]


def test_an_offset_contradicted_by_the_next_batch_is_reported(tmp_path: Path) -> None:
    """The stream had believed it, since no batch came after it yet."""
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2)
    damaged = bytearray(log.batch(1))
    damaged[5] ^= 1
    log.write(bytes(damaged))
    stream = FollowingStream(tmp_path)
    assert [row[2] for row in stream.trigger()] == [0, 1, 2 + (1 << 16)]
    log.append(3)
    with pytest.raises(KraftwireError, match="ends at offset 6, but the stream is at 65539"):
        stream.trigger()


def test_an_idle_log_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        log = GrowingLog(tmp_path, f"orders-{number}")
        log.append(3)
        log.roll()
        log.append(1)
    for isolation in ("read_committed", "read_uncommitted"):
        stream = FollowingStream(tmp_path, isolation=isolation, maxRecordsPerTrigger=1000)
        assert len(stream.trigger()) == 80

        def refuse(self: FileSource, path: Path) -> None:
            raise AssertionError(f"{path} was opened")

        with monkeypatch.context() as patched:
            patched.setattr(FileSource, "__init__", refuse)
            assert stream.trigger() == []


def test_a_stream_reads_batches_of_every_kind(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    stream = FollowingStream(tmp_path)
    for settings_of in (BatchSettings(producer_id=3), BatchSettings(log_append_time=5)):
        log.write(log.batch(2, settings_of))
        assert stream.trigger() == log.records[-2:]
