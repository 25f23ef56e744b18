"""The packets of a pcap or pcapng file, one at a time, through libpcap.

libpcap reads both formats in either byte order, with times in micro- or nanoseconds (yielded here
with microseconds), and checks every length. All interfaces of a pcapng file must have the same link
type. A truncated file yields the packets before the break; `PcapFile.error` is then the reason and
the packet.

This module needs the extra `capture`, the only one of the package that does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kraftwire_wire.errors import KraftwireError

MAGICS = frozenset(
    bytes.fromhex(magic)
    for magic in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "a1b2cd34", "34cdb2a1")
) | {b"\n\r\r\n"}
"""The first bytes of pcap and pcapng files."""

MAGIC_SIZE = 4


class CaptureError(KraftwireError):
    """A capture that cannot be read from `packet` on; packet 0 is the file's header."""

    def __init__(self, reason: str, file: str, packet: int = 0) -> None:
        super().__init__(reason, file, packet)
        self.reason = reason
        self.file = file
        self.packet = packet

    def __str__(self) -> str:
        where = f"packet {self.packet}: " if self.packet else ""
        return f"{self.file}: {where}{self.reason}"


class Packet(NamedTuple):
    """One packet: its number in the file, from 1, and its time in seconds since 1970."""

    number: int
    time: float
    data: bytes


class PcapFile:
    """Reads the file's header when created, and its packets while iterating, which works once."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        """`name` is what errors call the file.

        Raise `CaptureError` if the file's header cannot be read or libpcap is missing.
        """
        try:
            import pcapy
        except ModuleNotFoundError as error:
            fix = "pip install 'kraftwire[capture]'"
            raise CaptureError(f"pcap files need pcapy-ng: {fix}", name or str(path)) from error
        self.name = name or str(path)
        self.error: CaptureError | None = None
        self._failure = pcapy.PcapError
        try:
            self._reader = pcapy.open_offline(str(path))
            self.link_type: int = self._reader.datalink()
        except pcapy.PcapError as error:
            raise CaptureError(str(error), self.name) from None
        except UnicodeEncodeError:
            reason = "libpcap opens only files whose name is UTF-8; rename it, or pipe it in"
            raise CaptureError(reason, self.name) from None

    def __iter__(self) -> Iterator[Packet]:
        number = 0
        read = self._reader.next
        try:
            while True:
                header, data = read()
                if header is None:
                    return
                number += 1
                seconds, microseconds = header.getts()
                yield Packet(number, seconds + microseconds / 1_000_000, data)
        except self._failure as error:
            self.error = CaptureError(str(error), self.name, number + 1)
