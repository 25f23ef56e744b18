"""Searches for frames in the middle of a stream: what they find, what they name, what they cost."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftwire.capture.decoding.decoder import decode_frames
from kraftwire.capture.packets.boundaries import (
    Probe,
    RequestProbe,
    ResponseProbe,
    UnansweredRequest,
    UnansweredRequests,
)
from kraftwire.capture.packets.frame_cutter import (
    GIVEN_UP,
    MISSING,
    SKIPPED,
    UNREAD,
    CutFrame,
    FrameCutter,
)
from kraftwire.capture.packets.kafka_connection import MAX_UNDECIDED_BYTES
from kraftwire.capture.packets.reassembly import StreamPiece
from kraftwire_messages.kafka import MetadataRequest, ProduceRequest, registry
from kraftwire_wire.framing import add_size

from codec_tests.capture.packets import ACK, CLIENT, ETHERNET, FIN, SERVER, Talk, ip, on_link, tcp
from codec_tests.capture.reading import exchanges, ids, of, read_packets
from codec_tests.capture.sample_frames import metadata_request, metadata_response, request

REQUESTS = [add_size(metadata_request(number).data) for number in range(1, 30)]
FALSE_START = bytes.fromhex("7fff 00001000 0003 0000 00000001 0004") + b"abcd"
"""Two bytes, and what looks like Metadata version 0 of 4 KiB that has only begun."""


class Reports:
    """What a cutter reported."""

    def __init__(self) -> None:
        self.all: list[tuple[str, int, int, int]] = []

    def __call__(self, reason: str, size: int, offset: int, packet: int) -> None:
        self.all.append((reason, size, offset, packet))

    def size_of(self, reason: str) -> int:
        return sum(size for what, size, _, _ in self.all if what == reason)

    @property
    def reasons(self) -> set[str]:
        return {reason for reason, *_ in self.all}


def hole(size: int) -> int:
    """A hole among the parts of a stream is its size."""
    return size


def cut(
    parts: Iterable[bytes | int], probe: Probe | None = None
) -> tuple[list[CutFrame], Reports, int]:
    """Search a stream of bytes and holes, a packet each; frames, reports, the stream's size."""
    reports = Reports()
    cutter = FrameCutter(probe or RequestProbe(registry), reports, at_boundary=False)
    frames: list[CutFrame] = []
    offset = packet = 0
    for packet, part in enumerate(parts, 1):
        data, size = (None, part) if isinstance(part, int) else (part, len(part))
        frames += cutter.feed(StreamPiece(offset, data, size, packet, float(packet)))
        offset += size
    frames += cutter.close(packet + 1, packet + 1.0)
    return frames, reports, offset


def bodies(frames: list[CutFrame]) -> list[bytes]:
    return [add_size(frame.data) for frame in frames]


def accounted(frames: list[CutFrame], reports: Reports) -> int:
    return sum(len(frame.data) + 4 for frame in frames) + sum(size for _, size, *_ in reports.all)


def test_a_gap_keeps_the_frames_before_it() -> None:
    """The candidate at byte 2 once took the real frame at byte 25 along."""
    start = FALSE_START + bytes(5)
    assert len(start) == 25
    frames, reports, size = cut([start + REQUESTS[0] + REQUESTS[1], hole(5000), REQUESTS[2]])
    assert bodies(frames) == REQUESTS[:3]
    assert reports.size_of(MISSING) == 5000
    assert accounted(frames, reports) == size


def test_the_size_of_a_frame_before_a_gap_shows_the_next_frame() -> None:
    """The frame behind the gap needs no search, since the one in the gap has a known size."""
    large = add_size(request(MetadataRequest(topics=None), 12, 7).data + bytes(300))
    parts: list[bytes | int] = [
        FALSE_START + REQUESTS[0] + large[:20],
        hole(len(large) - 30),
        large[-10:],
    ]
    frames, reports, size = cut([*parts, *REQUESTS[1:3]])
    assert bodies(frames) == REQUESTS[:3]
    assert SKIPPED in reports.reasons
    assert accounted(frames, reports) == size


@pytest.mark.parametrize(
    "filler", [bytes(20_000), bytes([0, 3, 0, 0]) * 2050], ids=["zeros", "threes"]
)
def test_small_numbers_do_not_end_a_search(filler: bytes) -> None:
    """The threes look like Metadata; 2,000 such places once ended it."""
    frames, reports, _ = cut([filler, REQUESTS[0], hole(3), filler[:3000], REQUESTS[1]])
    assert bodies(frames) == REQUESTS[:2]
    assert GIVEN_UP not in reports.reasons


def test_a_search_continues_after_too_many_false_candidates() -> None:
    lure = (50_000).to_bytes(4) + bytes([0, 3, 0, 12]) + b"\0\0\0\1"
    frames, reports, size = cut([lure * 20_000, b"?", *REQUESTS])
    assert reports.size_of(GIVEN_UP) > 0
    assert bodies(frames)[-20:] == REQUESTS[-20:]
    assert accounted(frames, reports) == size


def test_frames_within_an_endless_candidate_are_found() -> None:
    """Its size is 64 MiB; once nothing else came out before that, or the connection's end."""
    false = bytes.fromhex("04000000 0000 0003 00000001 0004") + b"abcd"
    rest = REQUESTS * (400_000 // len(b"".join(REQUESTS)))
    reports = Reports()
    cutter = FrameCutter(RequestProbe(registry), reports, at_boundary=False)
    frames = list(
        cutter.feed(StreamPiece(0, false + b"".join(rest), 18 + len(b"".join(rest)), 1, 1.0))
    )
    assert bodies(frames) == rest


def test_frames_within_a_complete_frame_belong_to_it() -> None:
    """A record that holds requests, each behind its length."""
    data = ProduceRequest.PartitionProduceData(index=0, records=b"".join(REQUESTS[:5]))
    topic = ProduceRequest.TopicProduceData(name="t", partition_data=[data])
    outer = add_size(request(ProduceRequest(topic_data=[topic]), 9, 1).data)
    for at in range(0, len(outer), 37):
        parts = [b"\xff\xff", outer[:at], outer[at:], REQUESTS[6]]
        frames, _, _ = cut([part for part in parts if part])
        assert bodies(frames) == [outer, REQUESTS[6]]


@pytest.mark.parametrize("version", [0, 14, 31])
def test_a_request_of_an_unknown_version_is_named(version: int) -> None:
    unknown = request(MetadataRequest(), 0 if version == 0 else 12, 1).data
    unknown = unknown[:2] + version.to_bytes(2) + unknown[4:] + b"?"
    frames, reports, size = cut([b"\xff", add_size(unknown) + b"\xff" * 9 + REQUESTS[0]])
    assert bodies(frames) == REQUESTS[:1]
    assert reports.size_of(f"{UNREAD}, Metadata version {version}") == len(unknown) + 4
    assert reports.size_of(SKIPPED) == 10
    assert accounted(frames, reports) == size


def test_requests_of_an_unknown_version_in_a_row_are_frames() -> None:
    sound = metadata_request(1).data
    unknown = add_size(sound[:2] + b"\0\x1f" + sound[4:])
    frames, _, _ = cut([b"\xff\xff" + unknown, unknown, unknown])
    assert bodies(frames) == [unknown] * 3
    frames, _, _ = cut([b"\xff", unknown])
    assert bodies(frames) == [unknown], "nothing follows it but the end"


def test_skipped_bytes_have_their_own_packet() -> None:
    false = bytes.fromhex("00000100 0003 0000 00000001 0004") + b"abcd"
    _, reports, _ = cut([b"\xff" * 20, b"\xfe" * 20, false, b"\xfe" * 5, hole(900), REQUESTS[0]])
    dropped = {(offset, packet) for what, _, offset, packet in reports.all if what != MISSING}
    assert (0, 1) in dropped
    assert {packet for offset, packet in dropped if 40 <= offset < 58} == {3}


def test_a_frame_has_the_packet_that_completed_it() -> None:
    frames, _, _ = cut([FALSE_START, REQUESTS[0][:9], REQUESTS[0][9:], b"", hole(9), b"x"])
    assert [(frame.packet, frame.time) for frame in frames] == [(3, 3.0)]


# -- connections ---------------------------------------------------------------------------


def test_a_connection_begun_before_the_capture_is_searched_to_its_end() -> None:
    false = bytes.fromhex("06000000 0000 0003 00000001 0004") + b"abcd"
    talk = Talk(segment_size=30_000).open()
    talk.say(0, false + b"\xff" * 50_000 + add_size(metadata_request(1).data))
    talk.say(0, b"\xff" * (MAX_UNDECIDED_BYTES + 100_000))
    for number in range(2, 30):
        talk.say(0, add_size(metadata_request(number).data))
        talk.say(1, add_size(metadata_response(number).data))
    frames, traffic = read_packets(talk.packets[3:])
    assert traffic.kafka_connections == 1
    assert 1 in ids(frames, "request")


@pytest.mark.slow
def test_answers_are_not_lost_while_a_false_candidate_waits() -> None:
    """Requests that were kept behind it once came after their responses, or not at all."""
    false = bytes.fromhex("06000000 0000 0003 00000001 0004") + b"abcd"
    talk = Talk().open().say(0, false)
    for number in range(1, 4000):
        talk.say(0, add_size(metadata_request(number).data))
        talk.say(1, add_size(metadata_response(number).data))
    frames, _ = read_packets(talk.packets[3:])
    decoded = list(decode_frames(frames, registry))
    assert ids(frames, "request") == list(range(1, 4000))
    assert ids(frames, "response") == list(range(1, 4000))
    assert [one.error for one in decoded] == [None] * len(decoded)


def test_lost_bytes_are_reported_at_the_packet_that_shows_them() -> None:
    """It was the one at which they were given up, hundreds of packets later."""
    talk = exchanges(400)
    kept = [*talk.packets[:9], *talk.packets[10:]]
    _, traffic = read_packets(kept)
    # Packet 10 of the file is the answer, which acknowledges the request that is not there.
    assert traffic.losses.lost[MISSING].first.startswith("packet 10, ")


def test_bytes_lost_before_others_are_reported_there() -> None:
    talk = Talk().open().say(0, b"".join(REQUESTS))
    talk.say(1, add_size(metadata_response(1).data))
    for number in range(2, 5):
        talk.say(1, add_size(metadata_response(number).data))
    _, traffic = read_packets([*talk.packets[:5], *talk.packets[6:]])
    assert traffic.losses.lost[MISSING].first.startswith("packet 6, 10.0.0.2:9092")


def test_bytes_lost_before_a_fin_are_reported_there() -> None:
    talk = exchanges(2)
    fin = tcp(CLIENT, SERVER, talk.starts[0] + talk.sent[0] + 50, 0, FIN | ACK, b"")
    packets = [*talk.packets, on_link(ETHERNET, ip(CLIENT, SERVER, fin)), *exchanges(2).packets[:0]]
    _, traffic = read_packets(packets)
    assert traffic.losses.lost[MISSING].first.startswith(f"packet {len(packets)}, 10.0.0.1")


def test_a_stream_that_continues_elsewhere_is_reported_at_its_first_segment() -> None:
    talk = exchanges(3)
    talk.sent[1] += 2**31
    begins = len(talk.packets) + 2
    for number in range(4, 9):
        talk.say(0, add_size(metadata_request(number).data))
        talk.say(1, add_size(metadata_response(number).data))
    _, traffic = read_packets(talk.packets)
    assert traffic.losses.lost[MISSING].first.startswith(f"packet {begins}, ")


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_shuffled_overlapping_and_lost_segments_of_the_middle_give_true_frames(
    data: st.DataObject,
) -> None:
    """Every frame that comes out was sent, and every byte is in a frame or counted."""
    talk = exchanges(12, segment_size=data.draw(st.sampled_from([9, 40, 1400])))
    packets = talk.packets[3 + data.draw(st.integers(0, 8)) :]
    for _ in range(data.draw(st.integers(0, 4))):
        del packets[data.draw(st.integers(0, len(packets) - 1))]
    for _ in range(data.draw(st.integers(0, 4))):
        offset = data.draw(st.integers(0, talk.sent[0] - 20))
        stream = b"".join(REQUESTS)[:0] + b"".join(add_size(frame) for frame in sent_by_client(12))
        piece = stream[offset : offset + data.draw(st.integers(1, 90))]
        segment = tcp(CLIENT, SERVER, talk.starts[0] + offset, talk.starts[1], ACK, piece)
        at = data.draw(st.integers(0, len(packets)))
        packets.insert(at, on_link(ETHERNET, ip(CLIENT, SERVER, segment)))
    order = [at + data.draw(st.sampled_from([0, 0, 0, 2, 9])) for at in range(len(packets))]
    shuffled = [packets[at] for at in sorted(range(len(packets)), key=lambda at: order[at])]
    frames, _ = read_packets(shuffled)
    assert set(of(frames, "request")) <= set(sent_by_client(12))
    answers = {metadata_response(number).data for number in range(1, 13)}
    assert set(of(frames, "response")) <= answers


def sent_by_client(count: int) -> list[bytes]:
    return [metadata_request(number).data for number in range(1, count + 1)]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.integers(1, 60),
            st.sampled_from([*REQUESTS[:3], FALSE_START, bytes(30), REQUESTS[0][:9]]),
            st.sampled_from([(7).to_bytes(4), (90).to_bytes(4) + bytes([0, 3, 0, 99])]),
        ),
        max_size=25,
    )
)
def test_every_byte_is_in_a_frame_or_reported_once(parts: list[bytes | int]) -> None:
    frames, reports, size = cut([part for part in parts if part])
    assert accounted(frames, reports) == size
    places = sorted(
        [(offset, length) for _, length, offset, _ in reports.all if length]
        + [(frame.offset, len(frame.data) + 4) for frame in frames]
    )
    end = 0
    for offset, length in places:
        assert offset == end
        end = offset + length


# -- what it costs -------------------------------------------------------------------------


def waiting_for(*numbers: int) -> ResponseProbe:
    waiting = UnansweredRequests()
    for number in numbers:
        waiting.by_id[number] = UnansweredRequest(3, 12, number)
    return ResponseProbe(registry, waiting)


def every_other_byte(size: int) -> bytes:
    return b"\0\0" * (size // 2)


def long_parses(size: int) -> bytes:
    """Every 24 bytes begin a request with 4,096 topics, each of which holds the next request."""
    frame = (1 << 16).to_bytes(4)
    one = frame + bytes.fromhex("0003 0001 00000001 0001 61 00001000") + b"\0\x16" + b"xyz"
    assert len(one) == 24
    return one * (size // len(one))


def nested(size: int) -> bytes:
    """Candidates of every size up to the end."""
    return b"".join(
        (size - at).to_bytes(4) + bytes([0, 3, 0, 1]) + bytes([0, 0, 0, 1, 0, 1, 97, 1])
        for at in range(0, size, 16)
    )


def unread(size: int) -> bytes:
    one = add_size(bytes([0, 3, 0, 31, 0, 0, 0, 1, 0, 1, 97]))
    return (one + b"\xff") * (size // (len(one) + 1))


def random_small_numbers(size: int) -> bytes:
    rng = random.Random(1)
    return b"".join(rng.randrange(64).to_bytes(4) for _ in range(size // 4))


@pytest.mark.parametrize(
    "make", [every_other_byte, long_parses, nested, unread, random_small_numbers]
)
@pytest.mark.parametrize("direction", ["request", "response"])
@pytest.mark.parametrize("in_packets", [True, False])
def test_the_cost_of_a_search_is_linear(
    make: Callable[[int], bytes], direction: str, in_packets: bool
) -> None:
    def probe() -> Probe:
        return RequestProbe(registry) if direction == "request" else waiting_for(*range(1, 900))

    def cost(size: int) -> float:
        data = make(size)
        step = 1400 if in_packets else size
        parts = [data[at : at + step] for at in range(0, size, step)]
        return min(timed(parts, probe()) for _ in range(3))

    def timed(parts: list[bytes], one: Probe) -> float:
        start = time.process_time()
        cut([part for part in parts if part], one)
        return time.process_time() - start

    small, large = cost(1 << 17), cost(1 << 20)
    print(f"{make.__name__} {direction} {in_packets}: {large * 1e3:.0f} ms a MiB")
    assert large < 8 * 3 * max(small, 0.01)
