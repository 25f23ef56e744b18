"""Packet captures made by hand: the bytes of packets and of pcap and pcapng files.

Written from the formats' descriptions, with nothing of what reads them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address

ETHERNET, NULL, RAW, COOKED, LOOP, COOKED_2 = 1, 0, 101, 113, 108, 276
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
CLIENT, SERVER = ("10.0.0.1", 50000), ("10.0.0.2", 9092)
CLIENT_6, SERVER_6 = ("2001:db8::1", 50000), ("2001:db8::2", 19092)
START = 1_790_000_000

Endpoint = tuple[str, int]


def tcp(
    source: Endpoint, destination: Endpoint, seq: int, ack: int, flags: int, data: bytes
) -> bytes:
    """A TCP header with one option (no-ops), and data; the checksum is wrong on purpose."""
    head = struct.pack(
        ">HHLLBBHHH", source[1], destination[1], seq % 2**32, ack % 2**32, 6 << 4, flags, 9, 7, 0
    )
    return head + b"\x01\x01\x01\x00" + data


def ip(source: Endpoint, destination: Endpoint, payload: bytes, fragment: int = 0) -> bytes:
    """An IP header of the addresses' version before a payload of TCP."""
    ends = ip_address(source[0]).packed + ip_address(destination[0]).packed
    if ip_address(source[0]).version == 6:
        return struct.pack(">LHBB", 6 << 28, len(payload), 6, 64) + ends + payload
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 1, fragment, 64, 6, 0)
    return head + ends + payload


def on_link(link_type: int, packet: bytes, vlans: int = 0) -> bytes:
    """An IP packet on a link layer."""
    six = packet[0] >> 4 == 6
    ether_type = b"\x86\xdd" if six else b"\x08\x00"
    match link_type:
        case 1:
            return b"\x02" * 12 + b"\x81\x00\x00\x05" * vlans + ether_type + packet
        case 113:
            return struct.pack(">HHH8s", 0, 1, 6, b"\x02" * 8) + ether_type + packet
        case 276:
            return ether_type + struct.pack(">HLHBB8s", 0, 1, 1, 0, 6, b"\x02" * 8) + packet
        case 0:
            return struct.pack("<L", 30 if six else 2) + packet
        case 108:
            return struct.pack(">L", 30 if six else 2) + packet
    return packet


def pcap(
    packets: Iterable[tuple[float, bytes]],
    link_type: int = ETHERNET,
    order: str = "<",
    nanoseconds: bool = False,
    snap_length: int = 262_144,
) -> bytes:
    """A pcap file out of times (in seconds behind `START`) and packets."""
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    parts = [struct.pack(order + "LHHlLLL", magic, 2, 4, 0, 0, snap_length, link_type)]
    unit = 10**9 if nanoseconds else 10**6
    for seconds, data in packets:
        whole, rest = divmod(round(seconds * unit), unit)
        kept = data[:snap_length]
        parts += [struct.pack(order + "LLLL", START + whole, rest, len(kept), len(data)), kept]
    return b"".join(parts)


def pcapng(
    packets: Iterable[tuple[float, bytes]], link_type: int = ETHERNET, order: str = "<"
) -> bytes:
    """A pcapng file with one interface, and a block of an unknown kind."""

    def block(kind: int, body: bytes) -> bytes:
        body += b"\0" * (-len(body) % 4)
        size = struct.pack(order + "L", len(body) + 12)
        return struct.pack(order + "L", kind) + size + body + size

    parts = [block(0x0A0D0D0A, struct.pack(order + "LHHq", 0x1A2B3C4D, 1, 0, -1))]
    parts += [block(1, struct.pack(order + "HHL", link_type, 0, 0)), block(0x7777, b"who knows")]
    for seconds, data in packets:
        high, low = divmod(START * 10**6 + round(seconds * 10**6), 2**32)
        head = struct.pack(order + "LLLLL", 0, high, low, len(data), len(data))
        parts.append(block(6, head + data))
    return b"".join(parts)


@dataclass
class Talk:
    """A TCP connection as it would be captured: a list of packets that grows as ends speak.

    Each packet is a hundredth of a second behind the one before. `sent` counts the bytes of
    both ends, sequence numbers begin at `starts`.
    """

    link_type: int = ETHERNET
    client: Endpoint = CLIENT
    server: Endpoint = SERVER
    starts: tuple[int, int] = (1000, 2**32 - 3)
    segment_size: int = 1400
    vlans: int = 0
    packets: list[bytes] = field(default_factory=list)
    sent: list[int] = field(default_factory=lambda: [0, 0])

    def open(self) -> Talk:
        """The handshake."""
        self._put(0, -1, SYN, b"", ack=False)
        self._put(1, -1, SYN, b"")
        self._put(0, 0, 0, b"")
        return self

    def say(self, end: int, data: bytes) -> Talk:
        """One end (0 is the client) sends bytes, in segments."""
        for at in range(0, len(data), self.segment_size):
            piece = data[at : at + self.segment_size]
            self._put(end, self.sent[end], PSH, piece)
            self.sent[end] += len(piece)
        return self

    def close(self) -> Talk:
        """Both ends close."""
        for end in (0, 1):
            self._put(end, self.sent[end], FIN, b"")
        return self

    def timed(self) -> list[tuple[float, bytes]]:
        """The packets with their times."""
        return [(number / 100, packet) for number, packet in enumerate(self.packets)]

    def _put(self, end: int, offset: int, flags: int, data: bytes, ack: bool = True) -> None:
        ends = (self.client, self.server)
        other = 1 - end
        acknowledged = self.starts[other] + self.sent[other] if ack else 0
        flags |= ACK if ack else 0
        segment = tcp(ends[end], ends[other], self.starts[end] + offset, acknowledged, flags, data)
        packet = ip(ends[end], ends[other], segment)
        self.packets.append(on_link(self.link_type, packet, self.vlans))
