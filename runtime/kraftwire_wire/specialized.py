"""The Python engine: functions specialized for one version, backed by the emitted code.

A codec compiles its functions from LAYOUT on first use (a few milliseconds for a large message).
If a function gives up, the emitted code does the work again from the start and raises any error.
So both accept the same bytes and values.
"""

from __future__ import annotations

from typing import Any

from kraftwire_wire.codec import Codec
from kraftwire_wire.specialized_reader import Read, specialized_reader
from kraftwire_wire.specialized_source import GIVES_UP, NotSpecialized, Unusual
from kraftwire_wire.specialized_writer import Write, specialized_writer
from kraftwire_wire.structs import S

# Raised for a struct that contains itself, or for loops nested too deeply for Python.
_SOURCE_ERRORS = (NotSpecialized, RecursionError, SyntaxError)


class SpecializedCodec(Codec[S]):
    """Runs functions specialized for one version of one message."""

    __slots__ = ("_read", "_write")

    def __init__(self, message: type[S], version: int) -> None:
        super().__init__(message, version)
        self._read: Read = self._first_read
        self._write: Write = self._first_write

    def decode(self, data: bytes, *, lenient: bool = False) -> S:
        if not lenient and data.__class__ is bytes:
            try:
                message: S
                message, end = self._read(data, 0)
                if end == len(data):
                    return message
            except GIVES_UP:
                pass
        return super().decode(data, lenient=lenient)

    def decode_from(
        self, data: bytes, position: int = 0, *, lenient: bool = False
    ) -> tuple[S, int]:
        if not lenient and data.__class__ is bytes and position >= 0:
            try:
                return self._read(data, position)
            except GIVES_UP:
                pass
        return super().decode_from(data, position, lenient=lenient)

    def encode(self, message: S) -> bytes:
        try:
            return self._write(message)
        except Exception:  # noqa: BLE001 - GIVES_UP, or an error from a value's own code
            return super().encode(message)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Unpickle as a codec of the engine in use there."""
        message: Any = self.message
        return message.codec, (self.version,)

    def _first_read(self, data: bytes, position: int) -> tuple[Any, int]:
        try:
            self._read = specialized_reader(self.message, self.version)
        except _SOURCE_ERRORS:
            self._read = _give_up
        return self._read(data, position)

    def _first_write(self, message: Any) -> bytes:
        try:
            self._write = specialized_writer(self.message, self.version)
        except _SOURCE_ERRORS:
            self._write = _give_up
        return self._write(message)


def _give_up(*_: object) -> Any:
    raise Unusual
