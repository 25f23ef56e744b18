"""A snapshot in pieces: whatever the pieces, it says the same; what is none is not taken."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.log.writers.snapshot_writer import SnapshotWriter
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.snapshot_download import SnapshotDownload
from kraftwire_messages.kafka import TopicRecord, VotersRecord

SNAPSHOT = OffsetAndEpoch(50, 3)


def content_of() -> bytes:
    """Header and voters, data, footer: three batches."""
    writer = SnapshotWriter(SNAPSHOT.epoch)
    writer.begin(0, 0, voters=VotersRecord())
    writer.append([(TopicRecord(name="topic"), 0)] * 3, 0)
    return writer.finish(0)


CONTENT = content_of()


@given(st.lists(st.integers(1, len(CONTENT) - 1), unique=True))
def test_the_pieces_do_not_matter(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(CONTENT)]
    download = SnapshotDownload(SNAPSHOT)
    for begin, end in pairwise(places):
        assert not download.is_complete
        assert download.position == begin
        assert download.add(CONTENT[begin:end], len(CONTENT))
    assert download.is_complete
    first, last = download.controls
    assert CONTENT.startswith(first.data)
    assert CONTENT.endswith(last.data)


@given(st.integers(0, len(CONTENT) * 8 - 1), st.integers(1, len(CONTENT)))
def test_no_bit_is_changed_unseen(bit: int, size: int) -> None:
    damaged = bytearray(CONTENT)
    damaged[bit // 8] ^= 1 << bit % 8
    download = SnapshotDownload(SNAPSHOT)
    pieces = [bytes(damaged[at : at + size]) for at in range(0, len(damaged), size)]
    taken = all(download.add(piece, len(damaged)) for piece in pieces)
    of_no_crc = {place for batch in (0, 1, 2) for place in _uncovered(batch)}
    assert not taken or bit // 8 in of_no_crc


def _uncovered(number: int) -> range:
    """The bytes of a batch's header that its CRC leaves out: offset, length, epoch, magic, CRC."""
    download = SnapshotDownload(SNAPSHOT)
    download.add(CONTENT, len(CONTENT))
    first, last = download.controls
    middle = len(first.data)
    start = (0, middle, len(CONTENT) - len(last.data))[number]
    return range(start, start + 16)


@pytest.mark.parametrize(
    ("piece", "size"),
    [
        (b"", len(CONTENT)),
        (CONTENT, len(CONTENT) - 1),
        (CONTENT[:-1], len(CONTENT) - 1),
        (b"\0" * 80, 80),
    ],
    ids=["nothing", "too much", "an end within a batch", "no batches"],
)
def test_what_cannot_be_a_snapshot_is_not_taken(piece: bytes, size: int) -> None:
    assert not SnapshotDownload(SNAPSHOT).add(piece, size)


def test_the_size_stays() -> None:
    download = SnapshotDownload(SNAPSHOT)
    assert download.add(CONTENT[:10], len(CONTENT))
    assert not download.add(CONTENT[10:20], len(CONTENT) + 1)
