"""Splits the stream of a connection into frames: an int32 size, and that many bytes.

The socket reads directly into the buffer of a frame, which grows as bytes arrive, whatever its size
claims. On `hold`, only the size of the next frame is read: so the end of the connection is noticed,
and a peer that keeps sending takes no memory.
"""

from __future__ import annotations

import asyncio
from typing import cast

from kraftwire_wire.forms import INT32

_CHUNK = 256 << 10


class FrameProtocol(asyncio.BufferedProtocol):
    """The base class of client and server connections."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        """Set while the connection is open."""
        self._chunks: list[bytearray] = []
        self._buffer = bytearray(INT32.size)
        self._filled = 0
        self._size: int | None = None
        """How many bytes of the current frame come after this chunk; None between frames."""
        self._is_held = False

    # -- for subclasses --------------------------------------------------------------------

    def frame_begins(self, size: int) -> bool:
        """Accept a frame by its size; return False after closing the connection."""
        raise NotImplementedError

    def frame_received(self, frame: bytes) -> None:
        """Handle a complete frame."""
        raise NotImplementedError

    def lost(self, error: Exception | None) -> None:
        """Handle the end of the connection."""
        raise NotImplementedError

    # -- the flow of frames ----------------------------------------------------------------

    def hold(self) -> None:
        """Do not begin a frame until `release`."""
        self._is_held = True

    def release(self) -> None:
        """Continue, with the frame whose size has arrived meanwhile."""
        self._is_held = False
        if self._size is None and self._filled == INT32.size:
            self._begin_frame()
            if self.transport is not None:
                self.transport.resume_reading()

    def close_when_sent(self) -> None:
        """Close the connection once the written data is sent."""
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """Close the connection immediately."""
        if self.transport is not None:
            self.transport.abort()

    # -- asyncio ---------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self._chunks.clear()
        self.lost(exc)

    def eof_received(self) -> bool:
        """Close our side too: a half-closed connection gets no response."""
        return False

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._buffer)[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        if self._filled < len(self._buffer) or self.transport is None:
            return
        if self._size is not None:
            self._next_chunk()
        elif self._is_held:
            self.transport.pause_reading()
        else:
            self._begin_frame()

    def _begin_frame(self) -> None:
        (size,) = INT32.unpack(self._buffer)
        if not self.frame_begins(size):
            return
        self._size, self._buffer, self._filled = size, bytearray(), 0
        self._next_chunk()

    def _next_chunk(self) -> None:
        """Allocate the next chunk of the frame, or handle the complete frame."""
        assert self._size is not None, "a frame has begun"
        self._chunks.append(self._buffer)
        chunk = min(self._size, _CHUNK)
        if chunk:
            self._size -= chunk
            self._buffer, self._filled = bytearray(chunk), 0
            return
        frame = b"".join(self._chunks)
        self._chunks.clear()
        self._size, self._buffer, self._filled = None, bytearray(INT32.size), 0
        self.frame_received(frame)
