"""Types of the native column engine, `_columns.pyx`."""

from collections.abc import Callable
from typing import Any, final

from kraftwire.columns.rows import Int32s
from kraftwire_wire.message import Message

@final
class HandedOver:
    def __init__(self, arrow_type: object, capsule: object) -> None: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

@final
class RecordColumns:
    rows: int
    is_full: bool
    has_more: bool
    def __init__(
        self,
        columns: list[str],
        bounds: tuple[int, int, int, int],
        room: int,
        has_control: bool,
        crc_of: Callable[[memoryview], int] | None,
        decompress: Callable[[int, memoryview], memoryview],
        is_visible: Callable[[memoryview, int], bool] | None,
        limit: int = ...,
    ) -> None: ...
    def take(self) -> HandedOver: ...
    def read(
        self,
        piece: bytes | bytearray,
        start: int,
        stop: int,
        filled: int,
        position: int,
        order: tuple[int, int, bool, int],
    ) -> tuple[int, int]: ...
    def read_more(self) -> None: ...

@final
class MessageColumns:
    rows: int
    def __init__(self, message: type[Message]) -> None: ...
    def take(self) -> HandedOver: ...
    def read(
        self, data: memoryview, begins: Int32s, ends: Int32s, versions: Any, row: int
    ) -> int: ...

def read_metadata_frames(
    data: memoryview, begins: Int32s, ends: Int32s
) -> tuple[Int32s, Int32s, Int32s]: ...
def read_prefixes(data: memoryview, begins: Int32s, ends: Int32s) -> tuple[Int32s, Int32s]: ...
def uuid_text(data: memoryview, count: int) -> bytearray: ...
