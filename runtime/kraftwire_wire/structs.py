"""`Struct`, the base class of generated structs and messages.

Engines use nothing else of a class: its table (`LAYOUT`) and its emitted code (`_decode` and
`_encode`). `Message` adds the public methods, which call the engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from kraftwire_wire.layout import Layout


class Struct:
    """A struct of a message. Its fields are attributes; structs are compared by value."""

    __slots__ = ()

    LAYOUT: ClassVar[Layout]

    unknown_tagged_fields: list[tuple[int, bytes]]

    if not TYPE_CHECKING:  # otherwise type checkers would accept any attribute

        def __getattr__(self, name: str) -> Any:
            """Create the list of unknown tagged fields when it is first read.

            The native engine leaves the slot empty: hardly any struct has such fields, and
            creating the lists took a sixth of its time.
            """
            if name != "unknown_tagged_fields":
                reason = f"{type(self).__name__!r} object has no attribute {name!r}"
                raise AttributeError(reason, name=name, obj=self)
            self.unknown_tagged_fields = []
            return self.unknown_tagged_fields

    @classmethod
    def _decode(cls, reader: Any, version: int) -> Self:
        raise NotImplementedError

    def _encode(self, writer: Any, version: int) -> None:
        raise NotImplementedError


S = TypeVar("S", bound=Struct)
