"""Segments in any order, twice, overlapping or lost, beside a model that knows the bytes."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from kraftwire.capture.packets.reassembly import StreamAssembler, StreamPiece

Cut = tuple[int, bytes, int]
"""A segment: its offset, its data, and how many bytes of it were not captured."""


def assemble(start: int, segments: list[Cut]) -> tuple[list[StreamPiece], StreamAssembler]:
    """What comes of segments, and of giving up in the end."""
    assembler = StreamAssembler()
    assembler.start(start)
    pieces: list[StreamPiece] = []
    for packet, (offset, data, cut) in enumerate(segments, 1):
        sequence = (start + offset) % 2**32
        pieces += assembler.add(sequence, data, cut, packet, float(packet))
    while given_up := assembler.give_up():
        pieces += given_up
    return pieces, assembler


def first_bytes(segments: list[Cut]) -> dict[int, int | None]:
    """The model: the byte that came first for every offset; None where it was cut off."""
    known: dict[int, int | None] = {}
    for offset, data, cut in segments:
        for at, byte in enumerate([*data, *[None] * cut], offset):
            known.setdefault(at, byte)
    return known


segments_of_any_kind = st.lists(
    st.tuples(st.integers(0, 60), st.binary(max_size=12), st.sampled_from([0, 0, 0, 1, 5])),
    max_size=25,
)
starts = st.sampled_from([0, 5, 2**31 - 20, 2**32 - 1, 2**32 - 30])


@given(starts, segments_of_any_kind)
def test_the_bytes_that_came_first_win_and_the_rest_is_missing(
    start: int, segments: list[Cut]
) -> None:
    pieces, assembler = assemble(start, segments)
    model = first_bytes(segments)
    end = max(model, default=-1) + 1
    assert sum(piece.size for piece in pieces) == end == assembler.expected
    at = 0
    for piece in pieces:
        assert piece.offset == at
        for offset in range(piece.offset, piece.end):
            byte = None if piece.data is None else piece.data[offset - piece.offset]
            assert byte == model.get(offset)
        at = piece.end
    assert (assembler.held_bytes, assembler.memory_bytes, assembler.has_hole) == (0, 0, False)


@given(starts, st.binary(min_size=1, max_size=200), st.data())
def test_a_stream_survives_reordering_duplicates_and_resegmentation(
    start: int, stream: bytes, data: st.DataObject
) -> None:
    segments = []
    for _ in range(data.draw(st.integers(1, 3))):  # sent again, cut in other places
        cuts = data.draw(st.sets(st.integers(0, len(stream))))
        edges = sorted(cuts | {0, len(stream)})
        segments += [(a, stream[a:b], 0) for a, b in itertools.pairwise(edges)]
    pieces, _ = assemble(start, data.draw(st.permutations(segments)))
    assert b"".join(piece.data or b"?" for piece in pieces) == stream


def test_a_piece_has_the_time_of_the_packet_that_filled_the_hole() -> None:
    pieces, _ = assemble(0, [(0, b"ab", 0), (4, b"ef", 0), (2, b"cd", 0), (6, b"gh", 0)])
    assert [(piece.data, piece.packet) for piece in pieces] == [
        *((b"ab", 1), (b"cd", 3), (b"ef", 3), (b"gh", 4)),
    ]


def test_a_permanent_hole_has_the_packet_that_shows_it() -> None:
    pieces, _ = assemble(0, [(4, b"ef", 0), (6, b"gh", 0)])
    assert pieces == [
        StreamPiece(0, None, 4, 1, 1.0),
        StreamPiece(4, b"ef", 2, 1, 1.0),
        StreamPiece(6, b"gh", 2, 2, 2.0),
    ]


def test_a_segment_far_away_is_left_out() -> None:
    assembler = StreamAssembler()
    assembler.start(0)
    assert assembler.add(2**30, b"far", 0, 1, 0.0) == []
    assert assembler.add(2**32 - 2**30, b"behind", 0, 2, 0.0) == []
    assert (assembler.out_of_window, assembler.has_hole) == (2, False)


def test_a_stream_continues_after_the_largest_sequence_number() -> None:
    assembler = StreamAssembler()
    assembler.start(2**32 - 2)
    assembler.expected = 3 * 2**32  # 12 GiB have passed
    (piece,) = assembler.add(2**32 - 2, b"abcd", 0, 1, 0.0)
    assert (piece.offset, assembler.expected) == (3 * 2**32, 3 * 2**32 + 4)
    (piece,) = assembler.add(2, b"ef", 0, 2, 0.0)
    assert piece.offset == 3 * 2**32 + 4


def test_missing_bytes_can_be_given_up_to_an_offset() -> None:
    assembler = StreamAssembler()
    assembler.start(0)
    assembler.add(8, b"late", 0, 1, 0.0)
    assert assembler.give_up(2, 0.0, 5) == [StreamPiece(0, None, 5, 2, 0.0)]
    assert [piece.size for piece in assembler.give_up(3, 0.0, 100)] == [3, 4]
    assert assembler.give_up(4, 0.0, 10) == []
