"""Every name that generated modules import: the contract between them and this runtime.

(The `__init__` of a generated package imports `kraftwire_wire.registry` alone, which loads
nothing else, so that importing a package is cheap.)

What is here keeps its meaning for as long as `require_runtime` accepts the number that a
module was generated with, so that code generated last year runs on the runtime of today.
"""

from __future__ import annotations

from uuid import UUID

from kraftwire_wire import require_runtime
from kraftwire_wire.forms import fixed
from kraftwire_wire.layout import NEVER, Array, Field, Layout, StructType
from kraftwire_wire.message import Message, Struct
from kraftwire_wire.reader import Reader
from kraftwire_wire.writer import TagSection, Writer

ZERO_UUID = UUID(int=0)

__all__ = [
    "NEVER",
    "UUID",
    "ZERO_UUID",
    "Array",
    "Field",
    "Layout",
    "Message",
    "Reader",
    "Struct",
    "StructType",
    "TagSection",
    "Writer",
    "fixed",
    "require_runtime",
]
