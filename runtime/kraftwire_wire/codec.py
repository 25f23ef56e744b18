"""`Codec` reads and writes one version of one message with the emitted code.

The emitted code is the reference implementation. The other engines fall back on it.
"""

from __future__ import annotations

from typing import Any, Generic

from kraftwire_wire.encode_failure import failed_field_error
from kraftwire_wire.errors import DecodeError, EncodeError
from kraftwire_wire.primitives import type_name
from kraftwire_wire.reader import ClassicReader, CompactReader
from kraftwire_wire.structs import S
from kraftwire_wire.writer import ClassicWriter, CompactWriter


class Codec(Generic[S]):
    """Reads and writes one version of one message."""

    __slots__ = ("_reader", "_writer", "message", "version")

    def __init__(self, message: type[S], version: int) -> None:
        self.message = message
        self.version = version
        flexible = message.LAYOUT.at(version).flexible
        self._reader = CompactReader if flexible else ClassicReader
        self._writer = CompactWriter if flexible else ClassicWriter

    def decode(self, data: bytes, *, lenient: bool = False) -> S:
        """Return the message that fills `data`; see `Message.decode`."""
        if not isinstance(data, bytes):
            data = memoryview(data).tobytes()
        message, end = self.decode_from(data, lenient=lenient)
        if not lenient:
            self.check_end(data, end)
        return message

    def check_end(self, data: bytes, end: int) -> None:
        """Raise `DecodeError` if bytes follow the end of a message."""
        left = len(data) - end
        if left:
            noun = "byte follows" if left == 1 else "bytes follow"
            reason = f"{left} {noun} the end of {self.message.__name__} version {self.version}"
            raise DecodeError(reason, offset=end)

    def decode_from(
        self, data: bytes, position: int = 0, *, lenient: bool = False
    ) -> tuple[S, int]:
        """Return the message that starts at `position`, and its end."""
        if not isinstance(data, bytes):
            data = memoryview(data).tobytes()
        if not 0 <= position <= len(data):
            raise DecodeError(
                f"position {position} is not within {len(data)} bytes", offset=position
            )
        reader = self._reader(data, position, lenient=lenient)
        message = self.message._decode(reader, self.version)
        return message, reader.position

    def encode(self, message: S) -> bytes:
        """Return the bytes of a message; see `Message.encode`."""
        if not issubclass(type(message), self.message):
            given = type_name(message)
            raise EncodeError(f"a codec of {self.message.__name__} cannot write {given}")
        writer = self._writer(self.message)
        try:
            self.message._encode(message, writer, self.version)
        except (EncodeError, MemoryError):
            raise
        except Exception as error:
            raise failed_field_error(message, error) from error
        return bytes(writer.buffer)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return type(self), (self.message, self.version)
