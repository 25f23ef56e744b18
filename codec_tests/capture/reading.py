"""Captures of hand-made packets, read without a file, and what is in their frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kraftwire.capture.frame import Frame
from kraftwire.capture.packets.pcap_file import Packet
from kraftwire.capture.packets.traffic import Traffic
from kraftwire_messages.kafka import registry
from kraftwire_wire.framing import add_size

from codec_tests.capture.packets import ETHERNET, Talk
from codec_tests.capture.sample_frames import metadata_request, metadata_response


@dataclass
class Packets:
    """What `Traffic` reads, without a file."""

    packets: Iterable[tuple[float, bytes]]
    link_type: int = ETHERNET
    name: str = "test"

    def __iter__(self) -> Iterator[Packet]:
        for number, (seconds, data) in enumerate(self.packets, 1):
            yield Packet(number, 100.0 + seconds, data)


def read(*talks: Talk, link_type: int = ETHERNET) -> tuple[list[Frame], Traffic]:
    """The frames of connections, one after the other."""
    return read_packets([packet for talk in talks for packet in talk.packets], link_type)


def read_packets(packets: list[bytes], link_type: int = ETHERNET) -> tuple[list[Frame], Traffic]:
    timed = ((number / 100, data) for number, data in enumerate(packets))
    traffic = Traffic(Packets(timed, link_type), registry)
    return list(traffic), traffic


def exchanges(count: int, **settings: object) -> Talk:
    """A connection with exchanges of Metadata, open at both ends of the list of packets."""
    talk = Talk(**settings).open()  # type: ignore[arg-type]
    for number in range(1, count + 1):
        talk.say(0, add_size(metadata_request(number).data))
        talk.say(1, add_size(metadata_response(number).data))
    return talk


def of(frames: Iterable[Frame], direction: str) -> list[bytes]:
    return [frame.data for frame in frames if frame.direction == direction]


def ids(frames: Iterable[Frame], direction: str) -> list[int]:
    """The correlation ids of frames that went in a direction."""
    start = 4 if direction == "request" else 0
    return [int.from_bytes(data[start : start + 4]) for data in of(frames, direction)]
