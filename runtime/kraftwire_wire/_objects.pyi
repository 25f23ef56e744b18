"""What `_objects.pyx` gives to Python."""

from typing import Any, Generic, TypeVar, final

from kraftwire_wire.message import Message

M = TypeVar("M", bound=Message)

@final
class NativeCodec(Generic[M]):
    """One version of one message; takes the place of `kraftwire_wire.codec.Codec`."""

    message: type[M]
    version: int

    def __init__(self, message: type[M], version: int) -> None: ...
    def decode(self, data: bytes, *, lenient: bool = False) -> M: ...
    def decode_from(
        self, data: bytes, position: int = 0, *, lenient: bool = False
    ) -> tuple[M, int]: ...
    def check_end(self, data: bytes, end: int) -> None: ...
    def encode(self, message: M) -> bytes: ...
    def read(self, data: bytes, position: int) -> tuple[M, int]: ...
    def write(self, message: Any) -> bytes: ...
