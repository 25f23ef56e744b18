"""Frames that pass between two connections, in both directions at once.

A frame is passed on when it is whole, and what is read of a side waits until the other has
taken what was written: a peer that is slow slows its partner down, and takes no memory. Where
the client has sent all it will, the broker may still answer for a while; where the broker
closes its side, what it had sent goes to the client, and that is the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from kraftwire.capture.proxy.pending import Share
from kraftwire_wire.errors import DecodeError
from kraftwire_wire.forms import INT32
from kraftwire_wire.framing import DEFAULT_MAX_FRAME_SIZE, FrameSplitter, add_size

Hook = Callable[[bytes], Awaitable[bytes]]
"""Gets a frame without its size; what it returns is passed on."""

_READ_SIZE = 64 << 10
_LAST_ANSWERS_S = 5.0
_TLS_RECORDS = (b"\x14\x03", b"\x15\x03", b"\x16\x03")
"""How a handshake of TLS begins, and an alert."""


class End(NamedTuple):
    """One of the connections, and how errors call its peer."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    name: str


class NoFrames(Exception):
    """What a peer sent is no stream of frames; the message is for people."""


class Broken(Exception):
    """A connection broke; the message is why."""

    def __init__(self, end: End, error: OSError) -> None:
        super().__init__(error.strerror or str(error))
        self.end = end


async def relay(
    client: End, broker: End, on_request: Hook, on_response: Hook, pending: Share
) -> None:
    """Pass frames on until either side has closed its connection; closes neither.

    What is read and not yet passed on counts as `pending`.

    `NoFrames` where a peer sends something else; `Broken` where a connection breaks, or ends
    within a frame; and whatever the hooks raise.
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


async def _pass(source: End, target: End, hook: Hook, pending: Share) -> None:
    splitter = FrameSplitter()
    try:
        while data := await _read(source):
            pending.add(len(data))
            for frame in _split(splitter, data, source):
                await _write(target, add_size(await hook(frame)))
                pending.add(-INT32.size - len(frame))
            _split(splitter, b"", source)  # frames before something else come alone
        if splitter.pending:
            raise Broken(source, OSError("it ended within a frame"))
    finally:
        del splitter  # the traceback of an error would keep what it holds until a collection


async def _read(source: End) -> bytes:
    try:
        return await source.reader.read(_READ_SIZE)
    except OSError as error:
        raise Broken(source, error) from None


async def _write(target: End, data: bytes) -> None:
    try:
        target.writer.write(data)
        await target.writer.drain()
    except OSError as error:
        raise Broken(target, error) from None


def _split(splitter: FrameSplitter, data: bytes, source: End) -> list[bytes]:
    is_first = not splitter.pending
    try:
        return splitter.feed(data)
    except DecodeError as error:
        if is_first and data[:2] in _TLS_RECORDS:
            raise NoFrames(f"{source.name} speaks TLS, where plaintext was expected") from None
        reason = f"{error.reason}; a frame of more than {DEFAULT_MAX_FRAME_SIZE} is not passed on"
        raise NoFrames(f"{source.name}: {reason}") from None
