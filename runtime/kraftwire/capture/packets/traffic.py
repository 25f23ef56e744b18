"""The frames in a packet capture: the entry point of this package.

    file = PcapFile(Path("lo.pcap"))
    traffic = Traffic(file, registry)
    for decoded in decode_frames(traffic, registry):
        ...
    traffic.losses     # what was not read, and why; complete after the last frame

One packet is read at a time. Waiting bytes (segments out of order, incomplete frames) are limited
in each connection and in all together; beyond that limit, the connection with the most is given up.
Connections are numbered by their first frame.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from kraftwire.capture.frame import Frame, PacketPlace
from kraftwire.capture.packets.boundaries import RequestProbe
from kraftwire.capture.packets.frame_cutter import CUT_OFF
from kraftwire.capture.packets.kafka_connection import (
    JOINED_LATE,
    DirectedFrame,
    KafkaConnection,
)
from kraftwire.capture.packets.losses import Losses
from kraftwire.capture.packets.pcap_file import CaptureError, Packet
from kraftwire.capture.packets.tcp_connection import TcpConnection
from kraftwire.capture.packets.tcp_segments import (
    LINK_TYPES,
    SYN,
    TcpSegment,
    endpoint_text,
    parse_packet,
)
from kraftwire_wire.registry import Registry

MAX_WAITING_BYTES = 256 << 20
"""How many bytes may wait in all connections together."""

TOO_MUCH: Final = "given up: too many bytes waited in memory"
CUT: Final = "packets cut off by the limit of the capture (tcpdump: use -s 0)"
EARLY_END: Final = "frames that continue after the end of the capture"
LATE: Final = "segments after the end of their connection"
OUT_OF_WINDOW: Final = "segments outside of every window"

_MAX_CONNECTIONS = 1 << 16


class Packets(Protocol):
    """What `Traffic` reads, such as a `PcapFile`; iterating yields packets in file order."""

    name: str
    link_type: int

    def __iter__(self) -> Iterator[Packet]: ...


@dataclass(slots=True)
class _TrackedConnection:
    """A connection in the table."""

    tcp: TcpConnection
    kafka: KafkaConnection
    ends: tuple[bytes, bytes]
    data_bytes: int = 0
    memory_bytes: int = 0
    number: int = 0
    texts: tuple[str, str] = ("", "")

    def place(self, direction: int, offset: int, packet: int) -> str:
        """Return a position in one direction, as text for people."""
        source, destination = self.ends[direction], self.ends[1 - direction]
        between = f"{endpoint_text(source)} to {endpoint_text(destination)}"
        return f"packet {packet}, {between}, byte {offset}"


class Traffic:
    """Reads the frames of a capture while iterating, which works once."""

    def __init__(self, packets: Packets, registry: Registry) -> None:
        """Raise `CaptureError` for a link layer that is not supported."""
        if packets.link_type not in LINK_TYPES:
            reason = (
                f"link type {packets.link_type} is not supported; "
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
        self._table: OrderedDict[frozenset[bytes], _TrackedConnection] = OrderedDict()
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
                where = f"packet {packet.number}"
                self.losses.pass_over(segment, "packet", len(packet.data), where)
                continue
            yield from self._receive(segment, packet)
        self._at_end = True
        while self._table:
            _, connection = self._table.popitem(last=False)
            yield from self._close(connection, packet)

    def _receive(self, segment: TcpSegment, packet: Packet) -> Iterator[Frame]:
        key = frozenset((segment.source, segment.destination))
        found = self._table.get(key)
        if found is not None and segment.flags & SYN and found.tcp.is_reopened_by(segment):
            del self._table[key]
            yield from self._close(found, packet)
            found = None
        if found is None:
            if not segment.flags & SYN and (key in self._ended or not segment.data):
                if segment.data:  # most likely a copy
                    where = f"packet {packet.number}"
                    self.losses.pass_over(LATE, "packet", len(segment.data), where)
                return
            while len(self._table) >= _MAX_CONNECTIONS:
                _, idle = self._table.popitem(last=False)
                yield from self._close(idle, packet)
            found = self._open(key, segment)
        else:
            self._table.move_to_end(key)
        pieces = found.tcp.receive(segment, packet.number, packet.time)
        if segment.data or segment.cut:
            self._count_data(found, segment, packet)
        if pieces:
            yield from self._frames(found, found.kafka.receive(pieces, found.tcp.client))
        if found.tcp.is_over:
            del self._table[key]
            self._ended[key] = None
            if len(self._ended) > _MAX_CONNECTIONS:
                self._ended.popitem(last=False)
            yield from self._close(found, packet)
        else:
            self._limit_memory(found)

    def _open(self, key: frozenset[bytes], segment: TcpSegment) -> _TrackedConnection:
        self._ended.pop(key, None)
        ends = segment.source, segment.destination
        connection: _TrackedConnection

        def report(reason: str, size: int, direction: int, offset: int, packet: int) -> None:
            where = connection.place(direction, offset, packet)
            if reason == JOINED_LATE:
                self.losses.pass_over(reason, "place", size, where)
            elif reason == CUT_OFF:
                reason = EARLY_END if self._at_end else CUT_OFF
                self.losses.pass_over(reason, "frame", size, where)
            else:
                self.losses.lose(reason, size, where)

        kafka = KafkaConnection(self._registry, self._probe, report)
        connection = _TrackedConnection(TcpConnection(segment.source), kafka, ends)
        self._table[key] = connection
        return connection

    def _count_data(
        self, connection: _TrackedConnection, segment: TcpSegment, packet: Packet
    ) -> None:
        if not connection.data_bytes:
            self.connections += 1
        connection.data_bytes += len(segment.data)
        if segment.cut and connection.kafka.refused is None:
            self.losses.lose(CUT, segment.cut, f"packet {packet.number}")

    def _limit_memory(self, connection: _TrackedConnection) -> None:
        """Update the memory total; give up the largest connection if it is too high."""
        waiting = connection.tcp.memory_bytes + connection.kafka.memory_bytes
        self._memory_bytes += waiting - connection.memory_bytes
        connection.memory_bytes = waiting
        if self._memory_bytes <= MAX_WAITING_BYTES:
            return
        largest = max(self._table.values(), key=lambda each: each.memory_bytes)
        self.losses.lose(TOO_MUCH, largest.memory_bytes, largest.place(0, 0, self.packets))
        largest.kafka.refuse(TOO_MUCH)
        largest.tcp = TcpConnection(largest.ends[0])
        self._memory_bytes -= largest.memory_bytes
        largest.memory_bytes = 0

    def _close(self, connection: _TrackedConnection, packet: Packet) -> Iterator[Frame]:
        """Yield the last frames of a connection that is no longer in the table."""
        tcp, kafka = connection.tcp, connection.kafka
        yield from self._frames(connection, kafka.receive(tcp.close(), tcp.client))
        yield from self._frames(connection, kafka.close(packet.number, packet.time))
        self._memory_bytes -= connection.memory_bytes
        assemblers = [side.assembler for side in tcp.sides]
        where = connection.place(0, 0, packet.number)
        if kafka.refused is not None and kafka.refused != TOO_MUCH:
            self.losses.pass_over(kafka.refused, "connection", connection.data_bytes, where)
        elif any(assembler.out_of_window for assembler in assemblers):
            left_out = sum(assembler.out_of_window_bytes for assembler in assemblers)
            self.losses.lose(OUT_OF_WINDOW, left_out, where)

    def _frames(
        self, connection: _TrackedConnection, frames: Iterable[DirectedFrame]
    ) -> Iterator[Frame]:
        for direction, cut in frames:
            if not connection.number:
                self.kafka_connections += 1
                connection.number = self.kafka_connections
                client = connection.kafka.client or 0
                connection.texts = (
                    endpoint_text(connection.ends[client]),
                    endpoint_text(connection.ends[1 - client]),
                )
            place = PacketPlace(cut.packet, cut.time, cut.offset, *connection.texts)
            seconds = max(0.0, cut.time - (self._started or 0.0))
            yield Frame(connection.number, direction, seconds, cut.data, place)
