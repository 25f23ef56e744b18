"""Builds the source of specialized functions.

A specialized function does the work of a message's emitted code for exactly one version, without
a call per field. It may give up at any time by raising one of `GIVES_UP`. The emitted code then
does the work again, and raises the error if there is one. So a specialized function handles only
common input, and must never accept input that the emitted code would refuse.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID, SafeUUID

from kraftwire_wire.defaults import struct_differs
from kraftwire_wire.forms import FIXED_FORMATS

_MAX_LINES = 5_000
_MAX_DEPTH = 15
"""Python allows 20 nested loops."""

UUID_CODE = "16s"
CODES: Mapping[Any, str] = FIXED_FORMATS | {"uuid": UUID_CODE}
"""The format character of each type of fixed size."""


class Unusual(ValueError):
    """A specialized function leaves this input to the emitted code."""


class NotSpecialized(Exception):
    """Only the emitted code can handle this version of this message."""


# What indexing, unpacking, packing and decoding raise for bytes and values that do not fit.
GIVES_UP = (ValueError, IndexError, AttributeError, TypeError, OverflowError, struct.error)


class Source:
    """The source of one function, and the values of its global names."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"Unusual": Unusual, "struct_differs": struct_differs}
        self._lines: list[str] = []
        self._depth = 0
        self._bound: dict[tuple[str, object], str] = {}

    def line(self, text: str) -> None:
        if len(self._lines) == _MAX_LINES:
            raise NotSpecialized("too long")
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write a line that opens a block; lines written in the context are inside it."""
        self.line(head)
        if self._depth == _MAX_DEPTH:
            raise NotSpecialized("too deep")
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, stem: str) -> str:
        """Return an unused name."""
        name = f"{stem}{len(self.names)}"
        self.names[name] = None
        return name

    def bind(self, stem: str, key: object, make: Callable[[], object]) -> str:
        """Return a global name for the value that `make` returns, the same for equal keys."""
        name = self._bound.get((stem, key))
        if name is None:
            name = self._bound[stem, key] = self.fresh(stem)
            self.names[name] = make()
        return name

    def constant(self, value: object) -> str:
        """Return the expression for a default: a literal for an int, otherwise a global name.

        The key contains the repr since 0.0 equals -0.0, and NaN is not equal to itself.
        """
        if type(value) is int:
            return repr(value)
        return self.bind("default", (type(value), repr(value)), lambda: value)

    def class_name(self, cls: type[Any]) -> str:
        return self.bind("cls", cls, lambda: cls)

    def struct_differs(
        self, value: str, message: type[Any], cls: type[Any], *, is_struct: bool = False
    ) -> str:
        """Return the expression that tests whether a struct differs from its defaults.

        Pass `is_struct` if the value is known to be of exactly this class.
        """
        fields = cls.LAYOUT.fields
        if any(field.default is None or field.default == () for field in fields):
            names = f"{self.class_name(message)}, {self.class_name(cls)}"
            return f"struct_differs({names}, {value})"
        tests = [] if is_struct else [f"type({value}) is not {self.class_name(cls)}"]
        tests += [f"{value}.{field.name} != {self.constant(field.default)}" for field in fields]
        return f"({' or '.join(tests)} or {value}.unknown_tagged_fields)"

    def refuse_if(self, condition: str) -> None:
        """Write code that gives up if a condition is true."""
        with self.block(f"if {condition}:"):
            self.line("raise Unusual")

    def compile(self, name: str, title: str) -> Callable[..., Any]:
        """Compile the lines and return the function called `name`."""
        text = "\n".join(self._lines)
        exec(compile(text, f"<{title}>", "exec"), self.names)  # noqa: S102 - we wrote it
        function: Callable[..., Any] = self.names[name]
        return function


def uuid_of(raw: bytes) -> UUID:
    """Return `UUID(bytes=raw)` for 16 bytes, without the checks of its constructor."""
    value = _new_uuid(UUID)
    _set_int(value, int.from_bytes(raw))
    _set_is_safe(value, SafeUUID.unknown)
    return value


# UUID.__setattr__ raises, so set the slots directly.
_new_uuid = object.__new__
_set_int = vars(UUID)["int"].__set__
_set_is_safe = vars(UUID)["is_safe"].__set__
