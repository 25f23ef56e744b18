"""Length-prefixed streams: what a Kafka connection carries in either direction.

A frame is an int32 size and that many bytes. `FrameSplitter` cuts a stream that arrives in
pieces of any size; `split_frames` cuts one that is there as a whole.
"""

from __future__ import annotations

from kraftwire_wire.errors import DecodeError, EncodeError
from kraftwire_wire.forms import INT32, MAX_LENGTH

DEFAULT_MAX_FRAME_SIZE = 100 * 1024 * 1024
"""Kafka's own default limit for a request (`socket.request.max.bytes`)."""


class FrameSplitter:
    """Cuts one direction of a connection into frames."""

    def __init__(self, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE) -> None:
        self._max_frame_size = max_frame_size
        self._pending = bytearray()
        self._offset = 0

    @property
    def pending(self) -> int:
        """How many bytes of an unfinished frame are waiting, its size field included."""
        return len(self._pending)

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes of the stream; returns the frames that they complete.

        Raises `DecodeError` with the offset in the stream for a size that cannot be one:
        the stream is not Kafka's, or was joined in the middle. Frames before it are
        returned first, and the error is raised by the next call, of `close` too.
        """
        self._pending += data
        frames: list[bytes] = []
        position = 0
        while len(self._pending) - position >= INT32.size:
            (size,) = INT32.unpack_from(self._pending, position)
            if not 0 <= size <= self._max_frame_size:
                if frames:
                    break
                reason = f"frame of {size} bytes; frames have 0 to {self._max_frame_size}"
                raise DecodeError(reason, offset=self._offset + position)
            end = position + INT32.size + size
            if end > len(self._pending):
                break
            frames.append(bytes(self._pending[position + INT32.size : end]))
            position = end
        del self._pending[:position]
        self._offset += position
        return frames

    def close(self) -> None:
        """Say that the stream has ended; `DecodeError` where that cuts a frame off."""
        self.feed(b"")
        if self._pending:
            reason = f"the stream ends within a frame, {len(self._pending)} bytes into it"
            raise DecodeError(reason, offset=self._offset)


def split_frames(data: bytes, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE) -> list[bytes]:
    """The frames of a whole stream; `DecodeError` where it is cut off or not one."""
    splitter = FrameSplitter(max_frame_size)
    frames = splitter.feed(data)
    splitter.close()
    return frames


def add_size(payload: bytes) -> bytes:
    """A payload as a frame."""
    if len(payload) > MAX_LENGTH:
        raise EncodeError(f"{len(payload)} bytes, more than the size of a frame can say")
    return INT32.pack(len(payload)) + payload
