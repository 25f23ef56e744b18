"""Framing: the same frames, and the same error, however a stream is cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire_wire.errors import DecodeError
from kraftwire_wire.framing import (
    DEFAULT_MAX_FRAME_SIZE,
    FrameSplitter,
    add_size,
    split_frames,
)

# "ab" | nothing | 0xff
STREAM = bytes.fromhex("00000002" + "6162" + "00000000" + "00000001" + "ff")
FRAMES = [b"ab", b"", b"\xff"]


def feed_in_pieces(stream: bytes, sizes: list[int], limit: int) -> tuple[list[bytes], str | None]:
    """What comes out of a stream cut at those sizes, and the error it ends with."""
    splitter, frames, position = FrameSplitter(limit), [], 0
    try:
        for size in [*sizes, len(stream)]:
            frames += splitter.feed(stream[position : position + size])
            position += size
        splitter.close()
    except DecodeError as error:
        return frames, str(error)
    return frames, None


@pytest.mark.parametrize("size", range(1, len(STREAM) + 1))
def test_pieces_of_every_size_give_the_same_frames(size: int) -> None:
    assert feed_in_pieces(STREAM, [size] * (len(STREAM) // size), 100) == (FRAMES, None)


@given(st.lists(st.binary(max_size=300), max_size=8), st.lists(st.integers(0, 50), max_size=60))
def test_frames_survive_any_cutting(frames: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(map(add_size, frames))
    assert feed_in_pieces(stream, sizes, 300) == (frames, None)
    assert split_frames(stream, 300) == frames


@given(
    st.lists(st.binary(max_size=8), max_size=3),
    st.sampled_from(["80000000", "ffffffff", "00000065", "7fffffff", "000000", "0000000201"]),
    st.lists(st.integers(0, 9), max_size=30),
)
def test_a_broken_stream_gives_the_same_error_however_it_is_cut(
    frames: list[bytes], rest: str, sizes: list[int]
) -> None:
    good = b"".join(map(add_size, frames))
    seen, error = feed_in_pieces(good + bytes.fromhex(rest), sizes, 100)
    assert seen == frames
    assert error is not None
    assert error.endswith(f"(at byte {len(good)})")


@pytest.mark.parametrize("size", [-1, -(2**31), 101, 2**31 - 1])
def test_an_impossible_size_is_refused_at_its_position(size: int) -> None:
    splitter = FrameSplitter(max_frame_size=100)
    assert splitter.feed(add_size(b"abc") + b"\x00") == [b"abc"]
    splitter = FrameSplitter(max_frame_size=100)
    splitter.feed(add_size(b"abc"))
    with pytest.raises(DecodeError) as caught:
        splitter.feed(size.to_bytes(4, signed=True))
    assert caught.value.offset == 7
    assert caught.value.reason == f"frame of {size} bytes; frames have 0 to 100"


def test_the_largest_frame_is_accepted() -> None:
    assert split_frames(add_size(bytes(100)), max_frame_size=100) == [bytes(100)]
    assert DEFAULT_MAX_FRAME_SIZE == 104_857_600


def test_frames_before_a_wrong_size_are_returned_first() -> None:
    splitter = FrameSplitter()
    assert splitter.feed(STREAM + b"\xff\xff\xff\xff") == FRAMES
    for action in (lambda: splitter.feed(b""), splitter.close):
        with pytest.raises(DecodeError, match=r"frame of -1 bytes.*\(at byte 15\)"):
            action()


@pytest.mark.parametrize("pending", [1, 3, 4, 5])
def test_the_end_of_the_stream_within_a_frame_is_refused(pending: int) -> None:
    splitter = FrameSplitter()
    splitter.feed(STREAM + add_size(b"abcd")[:pending])
    assert splitter.pending == pending
    with pytest.raises(DecodeError) as caught:
        splitter.close()
    assert caught.value.offset == len(STREAM)
    assert caught.value.reason == f"the stream ends within a frame, {pending} bytes into it"


def test_nothing_is_pending_between_frames() -> None:
    splitter = FrameSplitter()
    splitter.feed(STREAM)
    splitter.close()
    assert splitter.pending == 0


def test_add_size() -> None:
    assert add_size(b"ab").hex() == "00000002" + "6162"
    assert add_size(b"").hex() == "00000000"
