"""`Message`, the base class of generated messages, with all their public methods.

A generated class has only the code that reads and writes its fields (`_decode`, `_encode`) and
the table of its fields (`LAYOUT`). So an engine can replace the emitted code, and messages gain
methods, without generating the classes again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from kraftwire_wire.codec import Codec
from kraftwire_wire.engine import codec_for
from kraftwire_wire.errors import EncodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.structs import Struct

if TYPE_CHECKING:
    from kraftwire_wire.json_form import JsonStyle

__all__ = ["Message", "Struct"]


class Message(Struct):
    """A message of the protocol: a top-level struct with its own range of versions."""

    __slots__ = ()

    API_KEY: ClassVar[int | None]
    VALID_VERSIONS: ClassVar[range]
    FLEXIBLE_VERSIONS: ClassVar[range]

    @classmethod
    def decode(cls, data: bytes, version: int, *, lenient: bool = False) -> Self:
        """Return the message that fills `data`.

        Raises `UnsupportedVersion` for a version outside `VALID_VERSIONS`, and `DecodeError`
        with field path and byte offset if `data` is not a valid encoding or has trailing bytes.
        With `lenient`, reads as Kafka's own classes do.
        """
        return codec_for(cls, version).decode(data, lenient=lenient)

    def encode(self, version: int) -> bytes:
        """Return the message's bytes in a version, including unknown tagged fields.

        Raises `UnsupportedVersion`, or `EncodeError` with the path of a field that this version
        cannot hold.
        """
        return codec_for(type(self), version).encode(self)

    @classmethod
    def is_canonical(cls, data: bytes, version: int, *, lenient: bool = False) -> bool:
        """Whether decoding `data` and encoding the message again gives the same bytes.

        Raises as `decode` does if the bytes are not a message. To learn where bytes are not
        canonical, and why, call `kraftwire_wire.canonical.deviations`.
        """
        codec = codec_for(cls, version)
        message = codec.decode(data, lenient=lenient)
        try:
            return codec.encode(message) == data
        except EncodeError:
            return False  # lenient reading accepts messages that cannot be encoded

    @classmethod
    def codec(cls, version: int) -> Codec[Self]:
        """Return the codec of one version; keep it to read or write many messages."""
        return codec_for(cls, version)

    def to_json(self, version: int, *, style: JsonStyle = "lossless") -> dict[str, Any]:
        """Return the message as a JSON object in Kafka's form.

        `lossless` adds what Kafka leaves out (records, unknown tagged fields), so that
        `from_json` returns an equal message. `java` is exactly what Kafka prints.
        """
        from kraftwire_wire.json_form import to_json

        return to_json(self, version, style)

    @classmethod
    def from_json(cls, obj: object, version: int) -> Self:
        """Return the message that a JSON object of either style describes.

        Raises `DecodeError` with the field's path, without an offset.
        """
        from kraftwire_wire.json_form import from_json

        return from_json(cls, obj, version)

    @classmethod
    def header_version(cls, version: int) -> int:
        """Return the header version that goes with a version of this request or response."""
        for versions, header_version in cls.LAYOUT.headers:
            if version in versions:
                return header_version
        if cls.LAYOUT.headers:
            raise UnsupportedVersion(cls.__name__, version, cls.VALID_VERSIONS)
        raise KraftwireError(f"{cls.__name__} has no header: it is not a request or a response")
