"""One direction of a connection cut into frames: an int32 size, and that many bytes.

Bytes go from the socket into their frame, and a frame takes memory as its bytes come, not as
its size says. What is behind a frame that still is at work stays in the socket, but for the
size of the next: so a peer that waits and goes away is noticed, and one that sends on takes no
memory.
"""

from __future__ import annotations

import asyncio
from typing import cast

from kraftwire_wire.forms import INT32

_CHUNK = 256 << 10


class FrameProtocol(asyncio.BufferedProtocol):
    """The base of both ends of a connection; they say what a frame means."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        """What there is while the connection is."""
        self._chunks: list[bytearray] = []
        self._buffer = bytearray(INT32.size)
        self._filled = 0
        self._size: int | None = None
        """What the frame that is being read lacks behind its last chunk; None between frames."""
        self._is_held = False

    # -- what the ends say -----------------------------------------------------------------

    def frame_begins(self, size: int) -> bool:
        """A frame of this size comes; False where it is refused, and the connection closed."""
        raise NotImplementedError

    def frame_received(self, frame: bytes) -> None:
        """A frame is whole."""
        raise NotImplementedError

    def lost(self, error: Exception | None) -> None:
        """The connection is gone."""
        raise NotImplementedError

    # -- the flow of frames ----------------------------------------------------------------

    def hold(self) -> None:
        """Let no frame begin until `release`."""
        self._is_held = True

    def release(self) -> None:
        """Go on, with a frame whose size has come meanwhile."""
        self._is_held = False
        if self._size is None and self._filled == INT32.size:
            self._begin_frame()
            if self.transport is not None:
                self.transport.resume_reading()

    def close_when_sent(self) -> None:
        """Close the connection when what was written is sent."""
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """Close the connection at once."""
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
        """Close too where the peer closes: no answer to half a connection."""
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
        """Make room for more of the frame, or hand it over."""
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
