"""Codecs: one message in one version, bound to the engine that reads and writes it.

`codec_for` is the one place that makes codecs, and `engine` chooses what runs them; generated
classes do not know. `Codec` runs the emitted code, which is the reference; the others fall
back on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kraftwire_wire.encode_failure import not_encoded
from kraftwire_wire.errors import DecodeError, EncodeError, UnsupportedVersion
from kraftwire_wire.primitives import type_name
from kraftwire_wire.reader import ClassicReader, CompactReader
from kraftwire_wire.writer import ClassicWriter, CompactWriter

if TYPE_CHECKING:
    from kraftwire_wire.message import Message

M = TypeVar("M", bound="Message")


class Codec(Generic[M]):
    """Reads and writes one version of one message through its emitted Python code."""

    __slots__ = ("_reader", "_writer", "message", "version")

    def __init__(self, message: type[M], version: int) -> None:
        self.message = message
        self.version = version
        flexible = version in message.FLEXIBLE_VERSIONS
        self._reader = CompactReader if flexible else ClassicReader
        self._writer = CompactWriter if flexible else ClassicWriter

    def decode(self, data: bytes, *, lenient: bool = False) -> M:
        """Read one message that fills `data`; see `Message.decode`."""
        if not isinstance(data, bytes):
            data = memoryview(data).tobytes()
        message, end = self.decode_from(data, lenient=lenient)
        if not lenient:
            self.check_end(data, end)
        return message

    def check_end(self, data: bytes, end: int) -> None:
        """Refuse bytes behind the end of a message."""
        left = len(data) - end
        if left:
            noun = "byte follows" if left == 1 else "bytes follow"
            reason = f"{left} {noun} the end of {self.message.__name__} version {self.version}"
            raise DecodeError(reason, offset=end)

    def decode_from(
        self, data: bytes, position: int = 0, *, lenient: bool = False
    ) -> tuple[M, int]:
        """Read one message that starts at `position`, and say where it ends."""
        if not isinstance(data, bytes):
            data = memoryview(data).tobytes()
        if not 0 <= position <= len(data):
            raise DecodeError(
                f"position {position} is not within {len(data)} bytes", offset=position
            )
        reader = self._reader(data, position, lenient=lenient)
        message = self.message._decode(reader, self.version)
        return message, reader.position

    def encode(self, message: M) -> bytes:
        """The bytes of a message; see `Message.encode`."""
        if not issubclass(type(message), self.message):
            given = type_name(message)
            raise EncodeError(f"a codec of {self.message.__name__} cannot write {given}")
        writer = self._writer(self.message)
        try:
            self.message._encode(message, writer, self.version)
        except (EncodeError, MemoryError):
            raise
        except Exception as error:
            raise not_encoded(message, error) from error
        return bytes(writer.buffer)

    def __reduce__(self) -> tuple[Any, tuple[type[M], int]]:
        """Pickle what the codec is made from; the copy is made from that again."""
        return type(self), (self.message, self.version)


_codecs: dict[tuple[type[Message], int], Codec[Any]] = {}


def codec_for(message: type[M], version: int) -> Codec[M]:
    """The codec of a message in a version; `UnsupportedVersion` where it has none."""
    codec = _codecs.get((message, version))
    if codec is None:
        if version not in message.VALID_VERSIONS:
            raise UnsupportedVersion(message.__name__, version, message.VALID_VERSIONS)
        from kraftwire_wire.engine import make_codec

        # 2.0 and True find the codecs of 2 and 1, and must not become their versions.
        codec = _codecs[message, version] = make_codec(message, int(version))
    return codec
