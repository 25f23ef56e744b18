"""Splits the byte stream of a Kafka connection, in either direction, into frames.

A frame is an int32 size and that many bytes. `FrameSplitter` splits a stream that arrives in
chunks of any size; `split_frames` splits a complete stream.
"""

from __future__ import annotations

from kraftwire_wire.errors import DecodeError, EncodeError
from kraftwire_wire.forms import INT32, MAX_LENGTH

DEFAULT_MAX_FRAME_SIZE = 100 * 1024 * 1024
"""Kafka's own default limit for a request (`socket.request.max.bytes`)."""


class FrameSplitter:
    """Splits one direction of a connection into frames."""

    def __init__(self, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE) -> None:
        self._max_frame_size = max_frame_size
        self._pending = bytearray()
        self._offset = 0

    @property
    def pending(self) -> int:
        """The number of buffered bytes of an unfinished frame, including its size."""
        return len(self._pending)

    def feed(self, data: bytes) -> list[bytes]:
        """Append the next bytes of the stream and return the frames that they complete.

        Raises `DecodeError` with the offset in the stream for an impossible size: the stream
        is not Kafka's, or the capture began in the middle of it. If frames precede it, they are
        returned, and the next call of `feed` or `close` raises the error.
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
        """End the stream; raise `DecodeError` if the last frame is incomplete."""
        self.feed(b"")
        if self._pending:
            reason = f"the stream ends within a frame, {len(self._pending)} bytes into it"
            raise DecodeError(reason, offset=self._offset)


def split_frames(data: bytes, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE) -> list[bytes]:
    """Return the frames of a complete stream; raise `DecodeError` if the last is incomplete."""
    splitter = FrameSplitter(max_frame_size)
    frames = splitter.feed(data)
    splitter.close()
    return frames


def add_size(payload: bytes) -> bytes:
    """Return a payload as a frame."""
    if len(payload) > MAX_LENGTH:
        raise EncodeError(f"{len(payload)} bytes, at most {MAX_LENGTH} fit into a frame")
    return INT32.pack(len(payload)) + payload
