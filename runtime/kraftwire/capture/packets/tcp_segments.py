"""Parses the TCP segment in a packet, below several link and network layers.

Link layers: Ethernet with VLAN tags, Linux cooked (`tcpdump -i any`, both versions), raw IP,
BSD loopback. Network layers: IPv4, and IPv6 with extension headers. Checksums are not checked,
since a network card fills them in after packets are captured. IP fragments are not reassembled.

For a packet without a segment, `parse_packet` returns the reason, one of the constants below.
"""

from __future__ import annotations

from ipaddress import ip_address
from struct import Struct
from typing import Final, NamedTuple

FIN: Final = 0x01
SYN: Final = 0x02
RST: Final = 0x04
ACK: Final = 0x10

NOT_IP: Final = "not IP"
NOT_TCP: Final = "not TCP"
FRAGMENT: Final = "a fragment of an IP packet"
TOO_SHORT: Final = "cut off within its headers"

_PORT_SIZE = 2
_IPV4, _IPV6 = 0x0800, 0x86DD
_VLAN_TAGS = frozenset({0x8100, 0x88A8, 0x9100})
_TCP = 6
_IPV6_FRAGMENT, _IPV6_AUTHENTICATION = 44, 51
_IPV6_OPTIONS = frozenset({0, 43, 60})
_MAX_IPV6_HEADERS = 8
_IPV6_HEADER_SIZE = 40
_MORE_FRAGMENTS_OR_OFFSET = 0x3FFF
_IPV6_OFFSET_OR_MORE = 0xFFF9

_UINT16 = Struct(">H")
_IPV4_HEADER = Struct(">BxHxxHxB")
_TCP_HEADER = Struct(">4xLLBB")
_LEAST_IPV4, _LEAST_TCP = 20, 20

_ETHERNET, _COOKED, _COOKED_2 = 1, 113, 276
_NULL, _LOOP = 0, 108
_RAW = frozenset({12, 14, 101, 228, 229})
LINK_TYPES: Final = frozenset({_ETHERNET, _COOKED, _COOKED_2, _NULL, _LOOP}) | _RAW
"""libpcap's numbers of the supported link layers."""


class TcpSegment(NamedTuple):
    """A TCP segment.

    Fields:
        source, destination: the endpoints: address and port, as bytes.
        sequence: the sequence number of the first byte, or of the SYN.
        acknowledged: the sequence number that the sender expects next; with the flag ACK.
        flags: FIN, SYN, RST, ACK and others.
        data: the payload, as far as it was captured.
        cut: the number of payload bytes lost to the snap length.
    """

    source: bytes
    destination: bytes
    sequence: int
    acknowledged: int
    flags: int
    data: bytes
    cut: int


def parse_packet(link_type: int, data: bytes) -> TcpSegment | str:
    """Return the segment in a packet, or why it has none; `link_type` is one of `LINK_TYPES`."""
    start = _network_start(link_type, data)
    if start is None:
        return NOT_IP
    if start >= len(data):
        return TOO_SHORT
    version = data[start] >> 4
    if version == 4:
        return _parse_ipv4(data, start)
    return _parse_ipv6(data, start) if version == 6 else NOT_IP


def endpoint_text(endpoint: bytes) -> str:
    """Return an endpoint as people write it: `10.0.0.1:9092`, `[::1]:9092`."""
    address = ip_address(endpoint[:-_PORT_SIZE])
    port = int.from_bytes(endpoint[-_PORT_SIZE:])
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def _network_start(link_type: int, data: bytes) -> int | None:
    """Return the position of the IP header; None if the packet is not IP."""
    if link_type == _ETHERNET:
        return _after_type(data, 12)
    if link_type == _COOKED:
        return _after_type(data, 14)
    if link_type == _COOKED_2:
        return 20 if data[:2] in (b"\x08\x00", b"\x86\xdd") else None
    return 4 if link_type in (_NULL, _LOOP) else 0


def _after_type(data: bytes, at: int) -> int | None:
    """Return the position after an EtherType, skipping VLAN tags; None if it is not IP."""
    while at + _UINT16.size <= len(data):
        (ether_type,) = _UINT16.unpack_from(data, at)
        if ether_type in (_IPV4, _IPV6):
            return at + 2
        if ether_type not in _VLAN_TAGS:
            return None
        at += 4
    return None


def _parse_ipv4(data: bytes, start: int) -> TcpSegment | str:
    if len(data) < start + _LEAST_IPV4:
        return TOO_SHORT
    first, total, fragment, protocol = _IPV4_HEADER.unpack_from(data, start)
    if protocol != _TCP:
        return NOT_TCP
    if fragment & _MORE_FRAGMENTS_OR_OFFSET:
        return FRAGMENT
    # With segmentation offload, large packets are captured before their length is set.
    end = start + total if total else len(data)
    header_end = start + (first & 15) * 4
    if header_end < start + _LEAST_IPV4:
        return TOO_SHORT
    source, destination = data[start + 12 : start + 16], data[start + 16 : start + 20]
    return _parse_tcp(data, header_end, end, source, destination)


def _parse_ipv6(data: bytes, start: int) -> TcpSegment | str:
    at = start + _IPV6_HEADER_SIZE
    if len(data) < at:
        return TOO_SHORT
    (size,) = _UINT16.unpack_from(data, start + 4)
    end = at + size if size else len(data)
    protocol = data[start + 6]
    for _ in range(_MAX_IPV6_HEADERS):
        if protocol == _TCP:
            source, destination = data[start + 8 : start + 24], data[start + 24 : start + 40]
            return _parse_tcp(data, at, end, source, destination)
        if len(data) < at + 8:
            return TOO_SHORT
        if protocol == _IPV6_FRAGMENT:
            if _UINT16.unpack_from(data, at + 2)[0] & _IPV6_OFFSET_OR_MORE:
                return FRAGMENT
            step = 8
        elif protocol in _IPV6_OPTIONS:
            step = 8 + data[at + 1] * 8
        elif protocol == _IPV6_AUTHENTICATION:
            step = 8 + data[at + 1] * 4
        else:
            return NOT_TCP
        protocol, at = data[at], at + step
    return NOT_TCP


def _parse_tcp(
    data: bytes, start: int, end: int, source: bytes, destination: bytes
) -> TcpSegment | str:
    if len(data) < start + _LEAST_TCP:
        return TOO_SHORT
    sequence, acknowledged, offset, flags = _TCP_HEADER.unpack_from(data, start)
    payload = start + (offset >> 4) * 4
    if payload < start + _LEAST_TCP or payload > end:
        return TOO_SHORT
    ports = data[start : start + 4]
    return TcpSegment(
        source + ports[:2],
        destination + ports[2:],
        sequence,
        acknowledged,
        flags,
        data[payload:end],
        max(0, end - max(payload, len(data))),
    )
