"""Where the frames of `capture` commands come from: cassettes and packet captures.

What a file is, its first bytes say. libpcap reads files by their path, so what comes through
a pipe goes into a temporary file first.
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
from kraftwire.capture.pcap_file import MAGIC_SIZE, MAGICS, PcapFile
from kraftwire.capture.traffic import Traffic
from kraftwire.console.failures import CouldNotDoIt
from kraftwire_wire.registry import Registry

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Recording:
    """The frames of a file; `pcap` and `traffic` are None for a cassette."""

    name: str
    frames: CassetteReader | Traffic
    pcap: PcapFile | None = None
    traffic: Traffic | None = None

    def __iter__(self) -> Iterator[Frame]:
        return iter(self.frames)


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
            _refuse_what_is_no_cassette(magic, name)
            yield Recording(name, CassetteReader(stream, name))
            return
        file = Path(path)
        if path == "-" or not file.is_file():
            spooled = stack.enter_context(NamedTemporaryFile(prefix="kraftwire-", suffix=".pcap"))
            shutil.copyfileobj(stream, spooled)
            spooled.flush()
            file = Path(spooled.name)
        pcap = PcapFile(file, name)
        traffic = Traffic(pcap, registry)
        yield Recording(name, traffic, pcap, traffic)


def _refuse_what_is_no_cassette(magic: bytes, name: str) -> None:
    """A person who names a wrong file should not hear of JSON."""
    if not magic:
        raise CouldNotDoIt(f"{name} is empty")
    if not magic.lstrip().startswith(b"{"):
        raise CouldNotDoIt(f"{name} is no packet capture (pcap or pcapng) and no cassette")
