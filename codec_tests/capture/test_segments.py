"""Packets of every link layer, made by hand, as segments."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.capture.packets.tcp_segments import (
    FRAGMENT,
    LINK_TYPES,
    NOT_IP,
    NOT_TCP,
    TOO_SHORT,
    TcpSegment,
    endpoint_text,
    parse_packet,
)

from codec_tests.capture.packets import (
    ACK,
    CLIENT,
    CLIENT_6,
    COOKED,
    COOKED_2,
    ETHERNET,
    LOOP,
    NULL,
    PSH,
    RAW,
    SERVER,
    SERVER_6,
    Endpoint,
    ip,
    on_link,
    tcp,
)

ENDS = [(CLIENT, SERVER), (CLIENT_6, SERVER_6)]


def parse(link_type: int, packet: bytes) -> TcpSegment:
    segment = parse_packet(link_type, packet)
    assert isinstance(segment, TcpSegment), segment
    return segment


@pytest.mark.parametrize("link_type", [ETHERNET, COOKED, COOKED_2, NULL, LOOP, RAW])
@pytest.mark.parametrize(("source", "destination"), ENDS)
def test_every_link_layer_is_read(link_type: int, source: Endpoint, destination: Endpoint) -> None:
    inner = tcp(source, destination, 2**32 - 1, 77, ACK | PSH, b"hello")
    segment = parse(link_type, on_link(link_type, ip(source, destination, inner)))
    assert segment[2:] == (2**32 - 1, 77, ACK | PSH, b"hello", 0)
    host, port = source
    expected = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    assert endpoint_text(segment.source) == expected
    assert endpoint_text(segment.destination).endswith(str(destination[1]))


@pytest.mark.parametrize("vlans", [1, 2])
def test_vlan_tags_are_skipped(vlans: int) -> None:
    inner = ip(CLIENT, SERVER, tcp(CLIENT, SERVER, 1, 2, ACK, b"x"))
    assert parse(ETHERNET, on_link(ETHERNET, inner, vlans)).data == b"x"


def test_padding_of_short_frames_is_not_data() -> None:
    inner = ip(CLIENT, SERVER, tcp(CLIENT, SERVER, 1, 2, ACK, b""))
    segment = parse(ETHERNET, on_link(ETHERNET, inner) + bytes(6))
    assert (segment.data, segment.cut) == (b"", 0)


@pytest.mark.parametrize(("source", "destination"), ENDS)
@pytest.mark.parametrize("kept", range(6))
def test_bytes_beyond_the_snapshot_length_are_counted(
    source: Endpoint, destination: Endpoint, kept: int
) -> None:
    packet = on_link(
        ETHERNET, ip(source, destination, tcp(source, destination, 1, 2, ACK, b"hello"))
    )
    segment = parse(ETHERNET, packet[: len(packet) - 5 + kept])
    assert (segment.data, segment.cut) == (b"hello"[:kept], 5 - kept)


def test_ipv6_extension_headers_are_skipped() -> None:
    inner = tcp(CLIENT_6, SERVER_6, 1, 2, ACK, b"x")
    whole = ip(CLIENT_6, SERVER_6, inner)
    options = b"\x2b\x00" + bytes(6)  # hop by hop, then routing
    routing = b"\x2c\x01" + bytes(14)  # then an atomic fragment
    fragment = b"\x33\x00" + bytes(6)  # then authentication
    authentication = b"\x06\x04" + bytes(22)
    above = options + routing + fragment + authentication + inner
    head = whole[:4] + struct.pack(">HBB", len(above), 0, 64) + whole[8:40]
    assert parse(RAW, head + above).data == b"x"
    part = options + routing + b"\x33\x00\x00\x01" + bytes(4) + authentication + inner
    assert parse_packet(RAW, head + part) == FRAGMENT


def test_fragments_are_recognized() -> None:
    inner = tcp(CLIENT, SERVER, 1, 2, ACK, b"x")
    for fragment in (0x2000, 0x0001):
        assert parse_packet(RAW, ip(CLIENT, SERVER, inner, fragment)) == FRAGMENT
    assert parse(RAW, ip(CLIENT, SERVER, inner, 0x4000)).data == b"x"  # may not be fragmented


def test_packets_without_a_length_extend_to_their_end() -> None:
    packet = ip(CLIENT, SERVER, tcp(CLIENT, SERVER, 1, 2, ACK, b"large"))
    assert parse(RAW, packet[:2] + b"\0\0" + packet[4:]).data == b"large"


def test_other_protocols_are_ignored() -> None:
    packet = ip(CLIENT, SERVER, tcp(CLIENT, SERVER, 1, 2, ACK, b""))
    assert parse_packet(RAW, packet[:9] + b"\x11" + packet[10:]) == NOT_TCP
    assert parse_packet(RAW, b"\x50" + packet[1:]) == NOT_IP
    assert parse_packet(ETHERNET, b"\x02" * 12 + b"\x08\x06" + bytes(28)) == NOT_IP
    assert parse_packet(ETHERNET, b"\x02" * 12 + b"\x08\x00") == TOO_SHORT
    assert parse_packet(RAW, packet[:30]) == TOO_SHORT


@given(st.sampled_from(sorted(LINK_TYPES)), st.binary(max_size=120))
def test_any_bytes_are_a_segment_or_a_reason(link_type: int, data: bytes) -> None:
    segment = parse_packet(link_type, data)
    assert isinstance(segment, str) or len(segment.data) <= len(data)


@given(st.data(), st.sampled_from(ENDS), st.sampled_from([ETHERNET, COOKED, COOKED_2, RAW]))
def test_damaged_packets_are_a_segment_or_a_reason(
    data: st.DataObject, ends: tuple[Endpoint, Endpoint], link_type: int
) -> None:
    inner = ip(*ends, tcp(*ends, 1, 2, ACK, b"hello"))
    packet = bytearray(on_link(link_type, inner))
    for _ in range(data.draw(st.integers(1, 4))):
        packet[data.draw(st.integers(0, len(packet) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(packet)))
    segment = parse_packet(link_type, bytes(packet[:cut]))
    assert isinstance(segment, str) or len(segment.data) <= cut


def test_an_ip_header_that_is_too_short_is_rejected() -> None:
    source = ("80.0.0.1", 1)  # whose first byte would do as the size of a TCP header
    packet = bytearray(ip(source, SERVER, tcp(source, SERVER, 1, 2, ACK, b"hello")))
    packet[0] = 0x40
    assert parse_packet(RAW, bytes(packet)) == TOO_SHORT
