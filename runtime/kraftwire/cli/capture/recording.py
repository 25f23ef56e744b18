"""Opens the recordings that `capture` commands read: cassettes and packet captures.

The first bytes of a file show which of them it is. libpcap needs the path of a file, so input from
a pipe is copied to a temporary file first.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, cast

from kraftwire.capture.cassette import CassetteReader
from kraftwire.capture.frame import Frame
from kraftwire.capture.packets.pcap_file import MAGIC_SIZE, MAGICS, PcapFile
from kraftwire.capture.packets.traffic import Traffic
from kraftwire.console.failures import CouldNotDoIt
from kraftwire_wire.errors import count_of
from kraftwire_wire.registry import Registry

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Recording:
    """The frames of a file; `pcap` is None for a cassette."""

    name: str
    frames: CassetteReader | Traffic
    pcap: PcapFile | None = None

    def __iter__(self) -> Iterator[Frame]:
        return iter(self.frames)

    def summary(self) -> Iterator[str]:
        """Yield the totals and the losses of a packet capture."""
        traffic = self.frames
        if self.pcap is None or not isinstance(traffic, Traffic):
            return
        yield (
            f"{count_of(traffic.packets, 'packet')}, "
            f"{count_of(traffic.connections, 'TCP connection')} with data, "
            f"{traffic.kafka_connections} of Kafka"
        )
        yield from traffic.losses.lines()
        if self.pcap.error is not None:
            yield str(self.pcap.error)
        if not traffic.kafka_connections:
            yield f"{self.name}: no Kafka connection was found"

    @property
    def has_findings(self) -> bool:
        """Whether a packet capture has losses, an error, or no traffic of Kafka."""
        traffic = self.frames
        if self.pcap is None or not isinstance(traffic, Traffic):
            return False
        return bool(traffic.losses.lost or self.pcap.error) or not traffic.kafka_connections


@contextmanager
def open_recording(path: str, registry: Registry) -> Iterator[Recording]:
    """Open a file, or `-` for standard input."""
    with ExitStack() as stack:
        name = "<stdin>" if path == "-" else path
        if path == "-":
            raw: BinaryIO = sys.stdin.buffer
        else:
            raw = stack.enter_context(Path(path).open("rb"))
        stream = BufferedReader(cast(RawIOBase, raw))
        magic = stream.peek(MAGIC_SIZE)[:MAGIC_SIZE]
        if magic[: len(_GZIP)] == _GZIP:
            shown = "FILE" if path == "-" else path
            raise CouldNotDoIt(f"{name} is gzip: gzip -dc {shown} | kraftwire capture decode -")
        if magic not in MAGICS:
            _check_cassette(magic, name)
            yield Recording(name, CassetteReader(stream, name))
            return
        file = Path(path)
        if path == "-" or not file.is_file():
            spooled = stack.enter_context(NamedTemporaryFile(prefix="kraftwire-", suffix=".pcap"))
            shutil.copyfileobj(stream, spooled)
            spooled.flush()
            file = Path(spooled.name)
        pcap = PcapFile(file, name)
        yield Recording(name, Traffic(pcap, registry), pcap)


def _check_cassette(magic: bytes, name: str) -> None:
    """Refuse a file that is no recording, with a better message than the reader's about JSON."""
    if not magic:
        raise CouldNotDoIt(f"{name} is empty")
    if not magic.lstrip().startswith(b"{"):
        raise CouldNotDoIt(f"{name} is neither a packet capture (pcap or pcapng) nor a cassette")
