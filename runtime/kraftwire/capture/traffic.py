"""The frames in a packet capture: packets, segments, connections, frames, each in its turn.

    file = PcapFile(Path("lo.pcap"))
    traffic = Traffic(file, registry)
    for decoded in decode_frames(traffic, registry):
        ...
    traffic.losses     # what was not read, and why; complete when the frames are

One packet is read at a time. What has to wait (segments out of order, frames whose end is
still to come) is limited in each connection and in all; beyond that the connection with the
most of it is given up. Connections are numbered by their first frame.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from kraftwire.capture.boundaries import RequestProbe
from kraftwire.capture.connection import Found, KafkaConnection, Reports
from kraftwire.capture.cutting import CUT_OFF
from kraftwire.capture.frame import Frame, Place
from kraftwire.capture.losses import Losses
from kraftwire.capture.pcap_file import CaptureError, Packet
from kraftwire.capture.segments import LINK_TYPES, SYN, Segment, endpoint_text, parse_packet
from kraftwire.capture.tcp import TcpConnection
from kraftwire_wire.registry import Registry

MAX_WAITING_BYTES = 256 << 20
"""What may wait in all connections together."""

TOO_MUCH: Final = "given up: more waited than fits into memory"
CUT: Final = "packets cut off by the limit of the capture (tcpdump: use -s 0)"
JOINED_LATE: Final = "bytes before the first frame of a connection begun before the capture"
EARLY_END: Final = "frames that go on behind the end of the capture"
LATE: Final = "segments behind the end of their connection"
OUT_OF_WINDOW: Final = "segments outside of every window"

_MAX_CONNECTIONS = 1 << 16


class Packets(Protocol):
    """What `Traffic` reads: `PcapFile` is one."""

    name: str
    link_type: int

    def __iter__(self) -> Iterator[Packet]:
        """The packets, in the order of the file."""


@dataclass(slots=True)
class _Entry:
    """A connection in the table."""

    tcp: TcpConnection
    kafka: KafkaConnection
    ends: tuple[bytes, bytes]
    data_bytes: int = 0
    memory_bytes: int = 0
    number: int = 0
    texts: tuple[str, str] = ("", "")

    def place(self, direction: int, offset: int, packet: int) -> str:
        """A place in one direction, for people to read."""
        source, destination = self.ends[direction], self.ends[1 - direction]
        between = f"{endpoint_text(source)} to {endpoint_text(destination)}"
        return f"packet {packet}, {between}, byte {offset}"


class Traffic:
    """Reads the frames of a capture while iterating, which works once."""

    def __init__(self, packets: Packets, registry: Registry) -> None:
        """Raises `CaptureError` for a link layer that is not known."""
        if packets.link_type not in LINK_TYPES:
            reason = (
                f"link type {packets.link_type} is not known: "
                "Ethernet, Linux cooked, raw IP and BSD loopback are"
            )
            raise CaptureError(reason, packets.name)
        self.losses = Losses()
        self.packets = 0
        """How many packets were read."""
        self.connections = 0
        """How many TCP connections carried data, of Kafka or not."""
        self.kafka_connections = 0
        """How many of them had frames."""
        self._source = packets
        self._registry = registry
        self._probe = RequestProbe(registry)
        self._table: OrderedDict[frozenset[bytes], _Entry] = OrderedDict()
        self._ended: OrderedDict[frozenset[bytes], None] = OrderedDict()
        self._memory_bytes = 0
        self._started: float | None = None
        self._at_end = False

    def __iter__(self) -> Iterator[Frame]:
        link_type = self._source.link_type
        packet = Packet(0, 0.0, b"")
        for packet in self._source:
            self.packets += 1
            if self._started is None:
                self._started = packet.time
            segment = parse_packet(link_type, packet.data)
            if isinstance(segment, str):
                where = _packet_text(packet)
                self.losses.pass_over(segment, "packet", len(packet.data), where)
                continue
            yield from self._receive(segment, packet)
        self._at_end = True
        while self._table:
            _, entry = self._table.popitem(last=False)
            yield from self._close(entry, packet)

    def _receive(self, segment: Segment, packet: Packet) -> Iterator[Frame]:
        key = frozenset((segment.source, segment.destination))
        entry = self._table.get(key)
        if entry is not None and segment.flags & SYN and entry.tcp.is_reopened_by(segment):
            del self._table[key]
            yield from self._close(entry, packet)
            entry = None
        if entry is None:
            if not segment.flags & SYN and (key in self._ended or not segment.data):
                if segment.data:  # most likely a copy
                    self.losses.pass_over(LATE, "packet", len(segment.data), _packet_text(packet))
                return
            yield from self._make_room(packet)
            entry = self._open(key, segment)
        else:
            self._table.move_to_end(key)
        pieces = entry.tcp.receive(segment, packet.number, packet.time)
        if segment.data or segment.cut:
            self._count_data(entry, segment, packet)
        if pieces:
            yield from self._frames(entry, entry.kafka.receive(pieces, entry.tcp.client))
        if entry.tcp.is_over:
            del self._table[key]
            self._ended[key] = None
            if len(self._ended) > _MAX_CONNECTIONS:
                self._ended.popitem(last=False)
            yield from self._close(entry, packet)
        else:
            self._weigh(entry)

    def _open(self, key: frozenset[bytes], segment: Segment) -> _Entry:
        self._ended.pop(key, None)
        ends = segment.source, segment.destination
        entry: _Entry

        def lost(reason: str, size: int, direction: int, offset: int, packet: int) -> None:
            where = entry.place(direction, offset, packet)
            if reason == CUT_OFF:
                reason = EARLY_END if self._at_end else CUT_OFF
                self.losses.pass_over(reason, "frame", size, where)
            else:
                self.losses.lose(reason, size, where)

        def joined_late(reason: str, size: int, direction: int, offset: int, packet: int) -> None:
            where = entry.place(direction, offset, packet)
            self.losses.pass_over(JOINED_LATE, "place", size, where)

        kafka = KafkaConnection(self._registry, self._probe, Reports(lost, joined_late))
        entry = self._table[key] = _Entry(TcpConnection(segment.source), kafka, ends)
        return entry

    def _count_data(self, entry: _Entry, segment: Segment, packet: Packet) -> None:
        if not entry.data_bytes:
            self.connections += 1
        entry.data_bytes += len(segment.data)
        if segment.cut and entry.kafka.refused is None:
            self.losses.lose(CUT, segment.cut, _packet_text(packet))

    def _make_room(self, packet: Packet) -> Iterator[Frame]:
        """End the connections that nothing was heard of for longest, and those that wait most."""
        while len(self._table) >= _MAX_CONNECTIONS:
            _, entry = self._table.popitem(last=False)
            yield from self._close(entry, packet)

    def _weigh(self, entry: _Entry) -> None:
        """Keep account of the memory; give up the largest connection where it is too much."""
        waiting = entry.tcp.memory_bytes + entry.kafka.memory_bytes
        self._memory_bytes += waiting - entry.memory_bytes
        entry.memory_bytes = waiting
        if self._memory_bytes <= MAX_WAITING_BYTES:
            return
        largest = max(self._table.values(), key=lambda each: each.memory_bytes)
        self.losses.lose(TOO_MUCH, largest.memory_bytes, largest.place(0, 0, self.packets))
        largest.kafka.refuse(TOO_MUCH)
        largest.tcp = TcpConnection(largest.ends[0])
        self._memory_bytes -= largest.memory_bytes
        largest.memory_bytes = 0

    def _close(self, entry: _Entry, packet: Packet) -> Iterator[Frame]:
        """Take what is left of a connection, which is no longer in the table."""
        pieces = entry.tcp.close()
        yield from self._frames(entry, entry.kafka.receive(pieces, entry.tcp.client))
        yield from self._frames(entry, entry.kafka.close(packet.number, packet.time))
        self._memory_bytes -= entry.memory_bytes
        assemblers = [side.assembler for side in entry.tcp.sides]
        where = entry.place(0, 0, packet.number)
        refused = entry.kafka.refused
        if refused is not None and refused != TOO_MUCH:
            self.losses.pass_over(refused, "connection", entry.data_bytes, where)
        elif any(assembler.out_of_window for assembler in assemblers):
            left_out = sum(assembler.out_of_window_bytes for assembler in assemblers)
            self.losses.lose(OUT_OF_WINDOW, left_out, where)

    def _frames(self, entry: _Entry, found: Iterable[Found]) -> Iterator[Frame]:
        for direction, cut in found:
            if not entry.number:
                self.kafka_connections += 1
                entry.number = self.kafka_connections
                client = entry.kafka.client or 0
                entry.texts = (
                    endpoint_text(entry.ends[client]),
                    endpoint_text(entry.ends[1 - client]),
                )
            place = Place(cut.packet, cut.time, cut.offset, *entry.texts)
            seconds = max(0.0, cut.time - (self._started or 0.0))
            yield Frame(entry.number, direction, seconds, cut.data, place)


def _packet_text(packet: Packet) -> str:
    return f"packet {packet.number}"
