"""`Struct`: what generated structs and messages inherit, and all that engines know of them.

An engine needs the table (`LAYOUT`) and the emitted code (`_decode` and `_encode`) of a class,
nothing of what `Message` adds on top of the engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from kraftwire_wire.layout import Layout


class Struct:
    """A struct of a message; its fields are attributes, compared by value."""

    __slots__ = ()

    LAYOUT: ClassVar[Layout]

    unknown_tagged_fields: list[tuple[int, bytes]]

    if not TYPE_CHECKING:  # type checkers would accept any attribute then

        def __getattr__(self, name: str) -> Any:
            """Make the list of unknown tagged fields when it is first read.

            Hardly any struct has such fields. The native engine makes no list for the others,
            which would take a sixth of its time.
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
