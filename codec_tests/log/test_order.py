"""Base offsets that are wrong: the CRC does not cover them, and the batches around them tell."""

from __future__ import annotations

import json
import random
import shutil
import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kraftwire.log import BytesSource, Damage, Record, find_partitions, scan_batches, scan_headers
from kraftwire.log.batches.encoding import encode_batch
from kraftwire.log.fsck import Fsck, Severity
from kraftwire.log.segments.batch_order import MAX_RELATIVE_OFFSET, BatchOrder, in_order
from kraftwire.log.segments.segment import DamageKind
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.planning.plan import plan

from codec_tests.cli.running import run
from codec_tests.columns.engines import batches_alike
from codec_tests.log.legacy_messages import message
from codec_tests.spark.reads import offsets_of, options_of, read_rows, write_segments
from codec_tests.stored_files import BROKER, CONTROLLER

COUNTS = (3, 1, 4, 2)
"""Records of each batch."""
SEGMENTS = (100, 110)
"""The first offsets of two segments that follow one another."""


def records(first: int, count: int) -> list[Record]:
    """Records whose values tell their offsets."""
    return [Record(first + at, 1000 + at, None, b"%d" % (first + at), ()) for at in range(count)]


def segment(first: int, *, gap: int = 0) -> list[bytes]:
    """A small segment, batch by batch; `gap` offsets are missing between two of them."""
    batches = []
    for count in COUNTS:
        batches.append(encode_batch(records(first, count)))
        first += count + gap
    return batches


def write(directory: Path, *segments: list[bytes]) -> list[Path]:
    return write_segments(directory, *segments, interval=1)


class Flip(NamedTuple):
    """One changed base offset: in which batch, where in the file, and what it says now."""

    number: int
    position: int
    wrong: int


def flips(batches: list[bytes]) -> Iterator[Flip]:
    """Every bit of every base offset."""
    position = 0
    for number, batch in enumerate(batches):
        base = int.from_bytes(batch[:8])
        for bit in range(64):
            yield Flip(number, position, base ^ 1 << bit)
        position += len(batch)


def is_provable(flip: Flip, batches: list[bytes], *, has_gaps: bool, is_last: bool) -> bool:
    """Whether anything contradicts a flip: nothing does at the end of a log that may have gaps."""
    base = int.from_bytes(batches[-1][:8])
    if not (has_gaps and is_last and flip.number == len(batches) - 1 and flip.wrong > base):
        return True
    return flip.wrong + COUNTS[-1] - 1 - SEGMENTS[-1] > MAX_RELATIVE_OFFSET


def changed(data: bytes, flip: Flip) -> bytes:
    wrong = (flip.wrong & (1 << 64) - 1).to_bytes(8)
    return data[: flip.position] + wrong + data[flip.position + 8 :]


class Read(NamedTuple):
    """The offsets and values that came out, and whether anything was reported."""

    rows: list[tuple[int, bytes]]
    is_reported: bool


def dump(path: Path) -> Read:
    done = run("log", "dump", path, "-o", "json", "--bytes", "utf8")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [(row["offset"], row["value"].encode()) for row in found if "offset" in row]
    return Read(rows, done.exit_code == 1)


def columns(path: Path) -> Read:
    (partition,) = find_partitions([path])
    rows: list[tuple[int, bytes]] = []
    is_reported = False
    for one in partition.segments:
        found = batches_alike(
            one.path.read_bytes(), ("offset", "value"), make_order=partial(partition.order, one)
        )
        rows += zip(*(found.table[name].to_pylist() for name in ("offset", "value")), strict=True)
        is_reported |= bool(found.damage)
    return Read(rows, is_reported)


def spark(path: Path, **given: Any) -> Read:
    """What PERMISSIVE makes of it; the other modes must agree."""
    found = read_rows(path, mode="PERMISSIVE", **given)
    rows = [(row["offset"], row["value"]) for row in found if row["_corrupt_record"] is None]
    assert offsets_of(path, mode="DROPMALFORMED", **given) == [offset for offset, _ in rows]
    is_reported = len(rows) < len(found)
    if is_reported:
        with pytest.raises(KraftwireError, match="mode=PERMISSIVE shows it in a row"):
            offsets_of(path, **given)
    else:
        assert offsets_of(path, **given) == [offset for offset, _ in rows]
    return Read(rows, is_reported)


def fsck(path: Path) -> Read:
    findings = list(Fsck().run(find_partitions([path])))
    return Read([], any(one.severity is Severity.ERROR for one in findings))


def spark_in_splits(path: Path) -> Read:
    """The same, with splits of a batch or two."""
    return spark(path, maxSplitBytes=SPLIT)


SPLIT = 100
"""Bytes, a little more than a batch has."""

READERS = [
    (read, topic)
    for read in (fsck, dump, columns, spark, spark_in_splits)
    for topic in ("tea-0", "__cluster_metadata-0")
    if topic == "tea-0" or read is not dump  # the values are no messages of a metadata log
]
OPEN = 26
"""Bits that no batch contradicts: those that take the last batch of a log further."""


@pytest.mark.slow
@pytest.mark.parametrize(("read", "topic"), READERS)
def test_every_flipped_bit_of_a_base_offset_is_reported(
    read: Any, topic: str, tmp_path: Path
) -> None:
    """In both segments; no row has an offset that is not its own, and one batch is lost."""
    batches = [segment(first) for first in SEGMENTS]
    paths = write(tmp_path / topic, *batches)
    assert not read(tmp_path / topic).is_reported
    splits = sum(map(len, plan(options_of(tmp_path / topic, maxSplitBytes=SPLIT))))
    assert splits > len(SEGMENTS)
    tried = missed = 0
    for place, path in enumerate(paths):
        data = path.read_bytes()
        is_last = place == len(paths) - 1
        for flip in flips(batches[place]):
            path.write_bytes(changed(data, flip))
            found = read(tmp_path / topic)
            has_gaps = topic == "tea-0"
            tried += 1
            if not is_provable(flip, batches[place], has_gaps=has_gaps, is_last=is_last):
                missed += 1
                continue
            assert found.is_reported, flip
            assert all(b"%d" % offset == value for offset, value in found.rows), flip
            wanted = sum(COUNTS) * len(SEGMENTS) - COUNTS[flip.number]
            assert read is fsck or len(found.rows) == wanted, flip
        path.write_bytes(data)
    assert tried == 64 * len(COUNTS) * len(SEGMENTS)
    assert missed == (OPEN if topic == "tea-0" else 0)


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0, 1, 3])
def test_offsets_ascend_whatever_a_base_offset_is(gap: int, tmp_path: Path) -> None:
    """In logs with gaps as well; a row with a wrong offset is never the only sign of it."""
    rng = random.Random(17)
    batches = segment(0, gap=gap)
    data = b"".join(batches)
    starts = [sum(map(len, batches[:number])) for number in range(len(batches))]
    (path,) = write(tmp_path / "tea-0", batches)
    silent = 0
    for _ in range(400):
        number = rng.randrange(len(batches))
        wrong = rng.choice([rng.randrange(40), rng.randrange(1 << 31), rng.randrange(1 << 63)])
        path.write_bytes(changed(data, Flip(number, starts[number], wrong)))
        for found in (columns(tmp_path / "tea-0"), spark_in_splits(tmp_path / "tea-0")):
            offsets = [offset for offset, _ in found.rows]
            assert offsets == sorted(set(offsets)), (number, wrong)
            is_right = all(b"%d" % offset == value for offset, value in found.rows)
            if not is_right and not found.is_reported:
                # Nothing contradicts an offset within a gap, or after the last one.
                bases = [int.from_bytes(one[:8]) for one in batches]
                end = bases[number + 1] if number + 1 < len(bases) else MAX_RELATIVE_OFFSET + 1
                first = bases[number - 1] + COUNTS[number - 1] if number else 0
                assert first <= wrong <= end - COUNTS[number], (number, wrong)
                silent += 1
    assert silent < 400


@pytest.mark.parametrize("magic", [0, 1])
def test_wrong_offsets_of_old_formats_are_reported(magic: int, tmp_path: Path) -> None:
    """A message is a batch of its own there; with a wrapper, its offset is the last one's."""
    messages = [message(at, b"%d" % at, magic=magic) for at in range(5)]
    assert columns_of(b"".join(messages)) == ([0, 1, 2, 3, 4], 0)
    back = [*messages[:3], message(1, b"3", magic=magic), messages[4]]
    assert columns_of(b"".join(back)) == ([0, 1, 2, 4], 1)
    ahead = [*messages[:2], message(1 << 20, b"2", magic=magic), *messages[3:]]
    assert columns_of(b"".join(ahead)) == ([0, 1, 3, 4], 1)


def columns_of(data: bytes, **more: Any) -> tuple[list[int], int]:
    found = batches_alike(data, ("offset",), **more)
    return found.table["offset"].to_pylist(), len(found.damage)


def test_gaps_of_compaction_are_in_order(tmp_path: Path) -> None:
    batches, bases = segment(0, gap=7), (0, 10, 18, 29)
    assert columns_of(b"".join(batches)) == (
        [at + number for at, count in zip(bases, COUNTS, strict=True) for number in range(count)],
        0,
    )
    write(tmp_path / "tea-0", batches)
    assert not spark_in_splits(tmp_path / "tea-0").is_reported


def test_two_contradicting_batches_are_both_reported() -> None:
    """Between gaps nothing says which of the two is wrong."""
    batches = [encode_batch(records(at, 3)) for at in (0, 100, 200, 300)]
    flipped = changed(b"".join(batches), Flip(1, len(batches[0]), 201))
    assert columns_of(flipped) == ([0, 1, 2, 300, 301, 302], 2)
    flipped = changed(b"".join(batches), Flip(2, len(batches[0]) + len(batches[1]), 50))
    assert columns_of(flipped)[1] == 2


@pytest.mark.slow
def test_snapshots_begin_with_offset_0(tmp_path: Path) -> None:
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    path = directory / "00000000000000000100-0000000001.checkpoint"
    batches = segment(0)
    path.write_bytes(b"".join(batches))
    assert spark(path) == Read([(at, b"%d" % at) for at in range(10)], is_reported=False)
    for flip in flips(batches):
        path.write_bytes(changed(b"".join(batches), flip))
        assert spark(path).is_reported, flip
        assert any(one.severity is Severity.ERROR for one in Fsck().run(find_partitions([path])))


def test_a_selection_does_not_hide_a_batch_that_is_out_of_order(tmp_path: Path) -> None:
    """A wrong offset must not take a batch out of the range, nor end the reading."""
    batches = segment(0)
    (path,) = write(tmp_path / "tea-0", batches)
    data = path.read_bytes()
    start = len(batches[0])
    for wrong in (1 << 20, (1 << 40) + 3, 0):
        path.write_bytes(changed(data, Flip(1, start, wrong)))
        for given in ({"endingOffsets": 9}, {"startingOffsets": 2, "endingOffsets": 9}):
            found = spark(tmp_path / "tea-0", **given)
            assert found.is_reported
            assert [offset for offset, _ in found.rows][-5:] == [4, 5, 6, 7, 8]
        done = run("log", "dump", path, "--to-offset", "9", "-o", "json")
        assert (done.exit_code, len(done.stdout.splitlines())) == (1, 8)


def test_header_scans_report_disorder_too(tmp_path: Path) -> None:
    batches = segment(0)
    (path,) = write(tmp_path / "tea-0", batches)
    path.write_bytes(changed(path.read_bytes(), Flip(1, len(batches[0]), 99)))
    for option in ("--headers-only", "--batches"):
        done = run("log", "dump", path, option, "-o", "json")
        assert (done.exit_code, len(done.stdout.splitlines())) == (1, 3)
        assert "out of order" in done.stderr
    source = BytesSource(path.read_bytes())
    headers = list(in_order(scan_headers(source), BatchOrder()))
    batches_too = list(in_order(scan_batches(source), BatchOrder()))
    for items in (headers, batches_too):
        assert [one.kind for one in items if isinstance(one, Damage)] == [DamageKind.DISORDER]


def test_groups_and_metadata_report_a_batch_out_of_order(tmp_path: Path) -> None:
    for source, topic, command in (
        (BROKER, "__consumer_offsets-0", ("groups", "show")),
        (CONTROLLER, "__cluster_metadata-0", ("metadata", "show")),
    ):
        directory = Path(shutil.copytree(source / topic, tmp_path / topic))
        if topic.startswith("__cluster"):
            for snapshot in directory.glob("*.checkpoint"):
                snapshot.unlink()
        path = sorted(directory.glob("*.log"))[-1]
        headers = list(scan_headers(BytesSource(path.read_bytes())))
        middle = headers[len(headers) // 2]
        assert not isinstance(middle, Damage)
        wrong = struct.unpack_from(">q", path.read_bytes(), middle.position)[0] ^ 1 << 20
        path.write_bytes(changed(path.read_bytes(), Flip(0, middle.position, wrong)))
        done = run(*command, directory)
        assert done.exit_code == 1
        assert "out of order" in done.stderr
