"""Frames out of packets: whole captures, and those in which packets are shuffled or missing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftwire.capture.cassette import CassetteReader
from kraftwire.capture.decoding.decoder import decode_frames
from kraftwire.capture.frame import Frame
from kraftwire.capture.packets import tcp_connection as tcp_module
from kraftwire.capture.packets import traffic as traffic_module
from kraftwire.capture.packets.frame_cutter import BAD_SIZE, CUT_OFF, GIVEN_UP, INCOMPLETE, MISSING
from kraftwire.capture.packets.kafka_connection import JOINED_LATE, NO_REQUEST, NOT_KAFKA, TLS
from kraftwire.capture.packets.pcap_file import CaptureError
from kraftwire.capture.packets.traffic import EARLY_END, TOO_MUCH, Traffic
from kraftwire_messages.kafka import (
    MetadataResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
    registry,
)
from kraftwire_wire.framing import add_size

from codec_tests.capture.packets import (
    ACK,
    CLIENT,
    CLIENT_6,
    COOKED_2,
    ETHERNET,
    RST,
    SERVER,
    SERVER_6,
    Talk,
    ip,
    on_link,
    tcp,
)
from codec_tests.capture.reading import Packets, exchanges, ids, read, read_packets
from codec_tests.capture.sample_frames import (
    CAPTURE,
    metadata_request,
    metadata_response,
    produce_request,
    request,
    response,
)


def recorded() -> list[Frame]:
    with CAPTURE.open("rb") as stream:
        return list(CassetteReader(stream, "capture"))


@pytest.mark.parametrize("segment_size", [1, 37, 1400, 100_000])
def test_recorded_frames_are_found_in_packets_unchanged(segment_size: int) -> None:
    frames = recorded()
    frames = frames if segment_size > 1 else frames[:40]
    talks: dict[int, Talk] = {}
    for frame in frames:
        client = ("10.0.0.1", frame.connection)
        opened = Talk(client=client, segment_size=segment_size).open()
        talk = talks.setdefault(frame.connection, opened)
        talk.say(int(frame.direction == "response"), add_size(frame.data))
    found, traffic = read(*talks.values())
    expected = sorted(frames, key=lambda frame: list(talks).index(frame.connection))
    assert [(frame.direction, frame.data) for frame in found] == [
        (frame.direction, frame.data) for frame in expected
    ]
    assert len({frame.connection for frame in found}) == len(talks) == traffic.kafka_connections
    assert not traffic.losses.lost


def test_a_frame_has_its_addresses_and_time() -> None:
    talk = exchanges(1, client=CLIENT_6, server=SERVER_6, link_type=COOKED_2)
    asked, answered = read(talk, link_type=COOKED_2)[0]
    assert asked.place is not None
    assert answered.place is not None
    assert (asked.place.packet, asked.place.offset) == (4, 0)
    assert (asked.time, answered.time) == pytest.approx((0.03, 0.04))
    assert asked.place.seconds == pytest.approx(100.03)
    assert (answered.place.client, answered.place.server) == (
        *("[2001:db8::1]:50000", "[2001:db8::2]:19092"),
    )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_order_and_duplicates_lose_nothing(data: st.DataObject) -> None:
    talk = exchanges(8, segment_size=data.draw(st.integers(5, 60)))
    packets = talk.packets[3:]
    order = [
        number + data.draw(st.sampled_from([0, 0, 1, 3, 20])) for number in range(len(packets))
    ]
    shuffled = [packets[at] for at in sorted(range(len(packets)), key=lambda at: order[at])]
    again = data.draw(st.lists(st.sampled_from(packets), max_size=5))
    found, traffic = read_packets([*talk.packets[:3], *shuffled, *again])
    assert ids(found, "request") == ids(found, "response") == list(range(1, 9))
    assert not traffic.losses.lost
    assert [decoded.error for decoded in decode_frames(found, registry)] == [None] * 16


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_lost_packets_lose_only_their_frames(data: st.DataObject) -> None:
    talk = exchanges(10, segment_size=data.draw(st.sampled_from([7, 16, 60, 1400])))
    lost = data.draw(st.sets(st.integers(0, len(talk.packets) - 1), min_size=1, max_size=4))
    kept = [packet for at, packet in enumerate(talk.close().packets) if at not in lost]
    found, traffic = read_packets(kept)
    true_frames = {metadata_request(n).data for n in range(1, 11)}
    true_frames |= {metadata_response(n).data for n in range(1, 11)}
    assert {frame.data for frame in found} <= true_frames
    for direction in ("request", "response"):
        numbers = ids(found, direction)
        assert numbers == sorted(set(numbers))
    # Each packet lost touches two frames at most, and a request takes its response along where
    # the boundary behind has to be searched for.
    assert len(found) >= 20 - 4 * len(lost)
    if len(found) < 20 - len(lost & {0, 1, 2}):
        assert traffic.losses.lost or traffic.losses.passed_over


def test_missing_bytes_within_a_frame_are_counted_and_the_next_frame_is_found() -> None:
    large = MetadataResponse(cluster_id="x" * 5000)
    talk = Talk().open()
    for number in (1, 2):
        talk.say(0, add_size(metadata_request(number).data))
    talk.say(1, add_size(response(large, 12, 1).data)).say(1, add_size(metadata_response(2).data))
    found, traffic = read_packets([*talk.packets[:6], *talk.packets[7:]])
    assert (ids(found, "request"), ids(found, "response")) == ([1, 2], [2])
    lost = traffic.losses.lost
    assert (lost[MISSING].count, lost[MISSING].size_bytes) == (1, 1400)
    whole = len(add_size(response(large, 12, 1).data))
    assert lost[INCOMPLETE].size_bytes == whole - 1400
    assert lost[MISSING].first.endswith("10.0.0.2:9092 to 10.0.0.1:50000, byte 1400")


def test_a_missing_boundary_is_searched_for() -> None:
    """Frames are in segments of ten bytes; one is lost that has the end and start of two."""
    talk = exchanges(9, segment_size=10)
    found, traffic = read_packets([packet for at, packet in enumerate(talk.packets) if at != 9])
    assert ids(found, "request") == [1, 3, 4, 5, 6, 7, 8, 9]
    assert ids(found, "response") == list(range(1, 10))
    assert traffic.losses.lost[MISSING].size_bytes == 10


def test_a_response_never_comes_before_its_request() -> None:
    talk = exchanges(3)
    asked, answered = talk.packets[3:5]
    found, traffic = read_packets([*talk.packets[:3], answered, asked, *talk.packets[5:]])
    assert [frame.direction for frame in found] == ["request", "response"] * 3
    assert not traffic.losses.lost


def test_acknowledged_bytes_that_never_arrive_are_given_up() -> None:
    talk = exchanges(400)
    packets = talk.packets[:3] + talk.packets[4:]
    numbers = []
    traffic = Traffic(Packets((0.0, data) for data in packets), registry)
    for _frame in traffic:
        numbers.append(traffic.packets)
    assert numbers[0] == pytest.approx(4 + tcp_module.PATIENCE_PACKETS, abs=2)
    assert traffic.losses.lost[MISSING].count == 1


def test_reused_ports_are_another_connection() -> None:
    first = exchanges(2).close()
    second = exchanges(2, starts=(5_000_000, 9))
    unfinished = exchanges(3, starts=(70_000_000, 10))
    found, traffic = read(first, second, unfinished)
    assert [frame.connection for frame in found] == [1] * 4 + [2] * 4 + [3] * 6
    assert not traffic.losses.lost


def test_a_late_copy_from_a_closed_connection_is_ignored() -> None:
    talk = exchanges(2).close()
    found, traffic = read_packets([*talk.packets, talk.packets[3], talk.packets[4]])
    assert len(found) == 4
    assert traffic.connections == 1


def test_a_reset_ends_a_connection() -> None:
    talk = exchanges(1)
    talk.say(0, add_size(metadata_request(2).data)[:7])
    reset = tcp(SERVER, CLIENT, talk.starts[1] + talk.sent[1], 0, RST | ACK, b"")
    found, traffic = read_packets([*talk.packets, on_link(ETHERNET, ip(SERVER, CLIENT, reset))])
    assert len(found) == 2
    assert traffic.losses.passed_over[CUT_OFF].size_bytes == 7
    assert not traffic.losses.lost


def test_a_capture_may_end_within_a_frame() -> None:
    talk = exchanges(1).say(0, add_size(metadata_request(2).data)[:9])
    found, traffic = read(talk)
    assert len(found) == 2
    assert traffic.losses.passed_over[EARLY_END].size_bytes == 9
    assert not traffic.losses.lost


@pytest.mark.parametrize("begins_with", [3, 4, 5, 6])
@pytest.mark.parametrize("segment_size", [11, 1400])
def test_a_capture_may_start_within_a_connection(begins_with: int, segment_size: int) -> None:
    talk = exchanges(6, segment_size=segment_size)
    found, traffic = read_packets(talk.packets[begins_with:])
    assert ids(found, "request")[-4:] == [3, 4, 5, 6]
    assert ids(found, "response")[-4:] == [3, 4, 5, 6]
    assert traffic.kafka_connections == 1
    assert not traffic.losses.lost
    if segment_size == 11 and begins_with > 3:
        assert traffic.losses.passed_over[JOINED_LATE].size_bytes > 0


def test_raw_tokens_of_sasl_are_frames() -> None:
    asked = request(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 0, 1)
    answered = response(SaslHandshakeResponse(mechanisms=["SCRAM-SHA-256"]), 0, 1)
    talk = Talk().open().say(0, add_size(asked.data)).say(1, add_size(answered.data))
    tokens = [b"n,,n=user,r=abc", b"r=abcdef,s=c2FsdA==,i=4096", b"c=biws,r=abcdef,p=AA==", b""]
    for number, token in enumerate(tokens):
        talk.say(number % 2, add_size(token))
    talk.say(0, add_size(metadata_request(2).data)).say(1, add_size(metadata_response(2).data))
    found, _ = read(talk)
    decoded = list(decode_frames(found, registry))
    assert [one.is_token for one in decoded] == [False] * 2 + [True] * 4 + [False] * 2
    assert [one.frame.data for one in decoded[2:6]] == tokens
    assert [one.error for one in decoded] == [None] * 8
    assert all(one.encodes_back(registry) for one in decoded)


def test_pipelined_requests_without_acknowledgement_are_found() -> None:
    talk = Talk().open()
    asked = [produce_request(n, acks=0) for n in (1, 2)] + [metadata_request(n) for n in (3, 4)]
    talk.say(0, b"".join(add_size(frame.data) for frame in asked))
    talk.say(1, b"".join(add_size(metadata_response(n).data) for n in (3, 4)))
    decoded = list(decode_frames(read(talk)[0], registry))
    assert [one.api for one in decoded] == ["Produce"] * 2 + ["Metadata"] * 4
    assert [one.error for one in decoded] == [None] * 6


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"\x16\x03\x01\x00\x05hello", TLS),
        (b"GET / HTTP/1.1\r\nHost: example\r\n\r\n", NOT_KAFKA),
        (b"\x00\x00\x00\x20\x7f\x00\x00\x00" + bytes(40), NOT_KAFKA),
    ],
)
def test_other_protocols_are_ignored(said: bytes, reason: str) -> None:
    other = Talk(client=("10.0.0.3", 1)).open().say(0, said).say(1, bytes(3000)).say(0, said)
    found, traffic = read(other, exchanges(1))
    assert len(found) == 2
    tally = traffic.losses.passed_over[reason]
    assert (tally.count, tally.size_bytes) == (1, 2 * len(said) + 3000)
    assert (traffic.connections, traffic.kafka_connections) == (2, 1)
    assert not traffic.losses.lost


def test_tls_is_recognised_in_the_middle_of_a_connection() -> None:
    talk = Talk(client=("10.0.0.3", 1)).open().say(0, b"\x17\x03\x03\x00\x05hello")
    _, traffic = read_packets(talk.packets[3:])
    assert TLS in traffic.losses.passed_over


def test_a_connection_without_requests_is_reported() -> None:
    talk = Talk(client=("10.0.0.3", 1)).open().say(0, bytes(range(256)) * 9000)
    _, traffic = read_packets(talk.packets[3:])
    assert NO_REQUEST in traffic.losses.passed_over


def test_an_impossible_size_is_reported_and_skipped() -> None:
    talk = exchanges(2).say(0, b"\x7f\xff\xff\xff").say(0, add_size(metadata_request(3).data))
    found, traffic = read(talk)
    assert ids(found, "request") == [1, 2, 3]
    assert traffic.losses.lost[BAD_SIZE].count == 1


def test_buffered_bytes_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic_module, "MAX_WAITING_BYTES", 100_000)
    greedy = (
        Talk(client=("10.0.0.3", 1)).open().say(0, add_size(bytes([0, 3, 0, 12]) + bytes(300_000)))
    )
    found, traffic = read(greedy, exchanges(2))
    assert len(found) == 4
    assert traffic.losses.lost[TOO_MUCH].count == 1


def test_held_segments_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_module, "MAX_HELD_BYTES", 4000)
    talk = Talk().open()
    for number in range(1, 200):
        talk.say(0, add_size(metadata_request(number).data))  # nobody acknowledges anything
    packets = talk.packets[:3] + talk.packets[4:]
    numbers = []
    traffic = Traffic(Packets((0.0, data) for data in packets), registry)
    for _ in traffic:
        numbers.append(traffic.packets)
    assert numbers[0] < 30
    assert len(numbers) == 198
    assert traffic.losses.lost[MISSING].count == 1


def test_an_unknown_link_layer_is_refused() -> None:
    with pytest.raises(CaptureError, match="test: link type 105 is not supported"):
        Traffic(Packets([], 105), registry)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_packets_never_raise(data: st.DataObject) -> None:
    packets = [bytearray(packet) for packet in exchanges(5, segment_size=30).packets]
    for _ in range(data.draw(st.integers(1, 12))):
        packet = data.draw(st.sampled_from(packets))
        if packet:
            at = data.draw(st.integers(0, len(packet) - 1))
            packet[at] = data.draw(st.integers(0, 255))
        if data.draw(st.booleans()):
            del packet[data.draw(st.integers(0, len(packet))) :]
    found, traffic = read_packets([bytes(packet) for packet in packets])
    for decoded in decode_frames(found, registry):
        decoded.encodes_back(registry)
    assert all(line.isprintable() for line in traffic.losses.lines())


def test_a_search_among_many_false_candidates_ends() -> None:
    """Each four bytes look like the start of a response, and of a request, that is none."""
    lure = (50_000).to_bytes(4) + (7).to_bytes(4) + bytes([0, 3, 0, 12])
    talk = exchanges(1)
    talk.say(0, add_size(metadata_request(7).data))
    lost_at = len(talk.packets)
    talk.say(1, b"lost").say(1, lure * 40_000).say(0, b"gone").say(0, lure * 40_000)
    kept = [packet for at, packet in enumerate(talk.packets) if at != lost_at]
    start = time.process_time()
    found, traffic = read_packets(kept)
    assert time.process_time() - start < 10
    assert ids(found, "request")[:2] == [1, 7]
    assert traffic.losses.lost[GIVEN_UP].size_bytes > 0
