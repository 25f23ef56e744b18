"""Captures of broken connections: resets, ports used again, long pauses, many lost packets."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from kraftwire.capture.packets.frame_cutter import MISSING
from kraftwire.capture.packets.reassembly import StreamAssembler, StreamPiece
from kraftwire.capture.packets.tcp_connection import PATIENCE_PACKETS, TcpConnection
from kraftwire.capture.packets.tcp_segments import TcpSegment
from kraftwire.capture.packets.traffic import LATE, OUT_OF_WINDOW, Traffic
from kraftwire_messages.kafka import registry
from kraftwire_wire.framing import add_size

from codec_tests.capture.packets import ACK, CLIENT, ETHERNET, RST, SERVER, Talk, ip, on_link, tcp
from codec_tests.capture.reading import Packets, exchanges, ids, read, read_packets
from codec_tests.capture.sample_frames import metadata_request, metadata_response


def reset(sequence: int) -> bytes:
    """A reset from the client."""
    return on_link(ETHERNET, ip(CLIENT, SERVER, tcp(CLIENT, SERVER, sequence, 0, RST, b"")))


def test_a_reset_outside_the_window_is_ignored() -> None:
    talk = exchanges(3)
    strange = reset(talk.starts[0] + 2**31)
    found, traffic = read_packets([*talk.packets[:5], strange, *talk.packets[5:]])
    assert ids(found, "request") == ids(found, "response") == [1, 2, 3]
    assert not traffic.losses.lost


def test_segments_after_a_reset_are_counted() -> None:
    talk = exchanges(2)
    early = reset(talk.starts[0] + talk.sent[0])
    found, traffic = read_packets([*talk.packets[:-1], early, talk.packets[-1]])
    assert len(found) == 3
    assert traffic.losses.passed_over[LATE].size_bytes == len(
        add_size(metadata_response(2).data),
    )


def test_ports_used_again_without_a_handshake_are_counted() -> None:
    first, second = exchanges(2).close(), exchanges(3, starts=(777_777, 999_999))
    found, traffic = read_packets([*first.packets, *second.packets[3:]])
    assert len(found) == 4
    assert traffic.losses.passed_over[LATE].count == 6


@pytest.mark.parametrize("gap", [2**30 + 5, 2**31, 2**31 + 5])
def test_a_connection_continues_after_missing_gigabytes(gap: int) -> None:
    talk = exchanges(3)
    talk.sent[1] += gap
    for number in range(4, 10):
        talk.say(0, add_size(metadata_request(number).data))
        talk.say(1, add_size(metadata_response(number).data))
    found, traffic = read(talk)
    assert ids(found, "request") == list(range(1, 10))
    assert ids(found, "response") == [1, 2, 3, 6, 7, 8, 9]
    before = 2 * len(add_size(metadata_response(4).data))
    assert traffic.losses.lost[MISSING].size_bytes == gap + before
    assert OUT_OF_WINDOW not in traffic.losses.lost


def test_segments_outside_of_the_window_that_do_not_join_are_left_out() -> None:
    assembler = StreamAssembler()
    assembler.start(0)
    for sequence in (2**31, 2**31 + 4, 2**30 + 100, 2**31 + 8):
        assert assembler.add(sequence, b"four", 0, 1, 0.0) == []
    assert (assembler.out_of_window, assembler.out_of_window_bytes) == (4, 16)


def test_late_segments_of_another_stream_do_not_move_the_current_one() -> None:
    assembler = StreamAssembler()
    assembler.start(0)
    for number in range(5):
        assert assembler.add(2**31 + 4 * number, b"late", 0, 1, 0.0) == []
        assert [piece.offset for piece in assembler.add(number, b"x", 0, 1, 0.0)] == [number]
    assert (assembler.out_of_window, assembler.expected) == (5, 5)


def test_missing_bytes_take_no_memory() -> None:
    """A hole of a gigabyte once counted as a gigabyte that waits."""
    connection = TcpConnection(b"client")
    connection.receive(TcpSegment(b"client", b"server", 5, 0, ACK, b"x", 0), 1, 0.0)
    side = connection.sides[0]
    side.withhold(
        [StreamPiece(1, None, 900 << 20, 2, 0.0), StreamPiece(900 << 20, b"data", 4, 2, 0.0)]
    )
    assert 0 < connection.memory_bytes < 1000
    while side.withheld:
        side.release()
    assert connection.memory_bytes == 0


def lossy(count: int) -> Iterator[bytes]:
    """Exchanges in which each tenth packet is missing."""
    chance = random.Random(1)
    talk = Talk().open()
    yield from talk.packets
    for number in range(1, count + 1):
        talk.packets = []
        talk.say(0, add_size(metadata_request(number).data))
        talk.say(1, add_size(metadata_response(number).data))
        yield from (packet for packet in talk.packets if chance.random() > 0.1)


def test_many_lost_packets_take_no_memory() -> None:
    traffic = Traffic(Packets((0.0, data) for data in lossy(4000)), registry)
    waits = [traffic.packets - frame.place.packet for frame in traffic if frame.place is not None]
    assert len(waits) > 7000
    assert max(waits) < 3 * PATIENCE_PACKETS


def from_client(talk: Talk, offset: int, data: bytes) -> bytes:
    """A segment of the client at an offset, beside what it says."""
    segment = tcp(CLIENT, SERVER, talk.starts[0] + offset, talk.starts[1], ACK, data)
    return on_link(ETHERNET, ip(CLIENT, SERVER, segment))


def test_keep_alives_and_probes_of_a_closed_window_change_nothing() -> None:
    talk = exchanges(2)
    third = add_size(metadata_request(3).data)
    keep_alive = from_client(talk, talk.sent[0] - 1, b"?")
    probe = from_client(talk, talk.sent[0], third[:1])
    packets = [*talk.packets, keep_alive, probe, probe]
    talk.packets = []
    talk.say(0, third).say(1, add_size(metadata_response(3).data))
    found, traffic = read_packets([*packets, *talk.packets])
    assert ids(found, "request") == ids(found, "response") == [1, 2, 3]
    assert not traffic.losses.lost


def test_descending_times_change_nothing() -> None:
    packets = exchanges(6).packets
    backwards = Packets((-float(number), data) for number, data in enumerate(packets))
    traffic = Traffic(backwards, registry)
    found = list(traffic)
    assert ids(found, "request") == ids(found, "response") == list(range(1, 7))
    assert {frame.time for frame in found} == {0.0}
    assert not traffic.losses.lost
