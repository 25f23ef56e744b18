"""Passes frames between two connections, in both directions concurrently.

A frame is passed on when it is complete. Reading from one side waits until the other has accepted
the last frame, so a slow peer slows the other one down instead of filling memory. After the client
has closed its side, the broker may answer for a few seconds. After the broker has closed its side,
the client gets the rest of its bytes, and the relay ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from kraftwire.capture.proxy.pending import PendingShare
from kraftwire_wire.errors import DecodeError
from kraftwire_wire.forms import INT32
from kraftwire_wire.framing import DEFAULT_MAX_FRAME_SIZE, FrameSplitter, add_size

Hook = Callable[[bytes], Awaitable[bytes]]
"""Called with a frame without its size; returns what is passed on."""

_READ_SIZE = 64 << 10
_LAST_ANSWERS_S = 5.0
_TLS_RECORDS = (b"\x14\x03", b"\x15\x03", b"\x16\x03")
"""The first bytes of a TLS handshake, and of an alert."""


class ConnectionEnd(NamedTuple):
    """One of the connections; errors call its peer by `name`."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    name: str


class NotFrames(Exception):
    """A peer sent something other than frames; the message is for people."""


class ConnectionBroken(Exception):
    """A connection broke; the message says why."""

    def __init__(self, end: ConnectionEnd, error: OSError) -> None:
        super().__init__(error.strerror or str(error))
        self.end = end


async def relay(
    client: ConnectionEnd,
    broker: ConnectionEnd,
    on_request: Hook,
    on_response: Hook,
    pending: PendingShare,
) -> None:
    """Pass frames on until one side has closed its connection; close neither.

    Bytes that were read but not passed on yet are counted in `pending`.

    Raise `NotFrames` if a peer sends something else, `ConnectionBroken` if a connection breaks
    or ends within a frame, and whatever the hooks raise.
    """
    requests = asyncio.ensure_future(_pass(client, broker, on_request, pending))
    responses = asyncio.ensure_future(_pass(broker, client, on_response, pending))
    both = [requests, responses]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if requests.done() and not requests.exception() and broker.writer.can_write_eof():
            with suppress(OSError):
                broker.writer.write_eof()
            await asyncio.wait([responses], timeout=_LAST_ANSWERS_S)
        for task in both:
            if task.done():
                task.result()
    finally:
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)


async def _pass(
    source: ConnectionEnd, target: ConnectionEnd, hook: Hook, pending: PendingShare
) -> None:
    splitter = FrameSplitter()
    try:
        while data := await _read(source):
            pending.add(len(data))
            for frame in _split(splitter, data, source):
                await _write(target, add_size(await hook(frame)))
                pending.add(-INT32.size - len(frame))
            _split(splitter, b"", source)  # raises if the remaining bytes do not begin a frame
        if splitter.pending:
            raise ConnectionBroken(source, OSError("it ended within a frame"))
    finally:
        del splitter  # or an error's traceback keeps its buffer until a garbage collection


async def _read(source: ConnectionEnd) -> bytes:
    try:
        return await source.reader.read(_READ_SIZE)
    except OSError as error:
        raise ConnectionBroken(source, error) from None


async def _write(target: ConnectionEnd, data: bytes) -> None:
    try:
        target.writer.write(data)
        await target.writer.drain()
    except OSError as error:
        raise ConnectionBroken(target, error) from None


def _split(splitter: FrameSplitter, data: bytes, source: ConnectionEnd) -> list[bytes]:
    is_first = not splitter.pending
    try:
        return splitter.feed(data)
    except DecodeError as error:
        if is_first and data[:2] in _TLS_RECORDS:
            raise NotFrames(f"{source.name} speaks TLS, where plaintext was expected") from None
        reason = f"{error.reason}; a frame of more than {DEFAULT_MAX_FRAME_SIZE} is not passed on"
        raise NotFrames(f"{source.name}: {reason}") from None
