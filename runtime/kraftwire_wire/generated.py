"""Every name that generated modules import: the contract between them and this runtime.

These names keep their meaning as long as `require_runtime` accepts the version that a module was
generated for, so old generated code keeps working with newer runtimes.

(The `__init__` of a generated package imports only `kraftwire_wire.registry`, which imports
nothing else, so that importing a package is cheap.)
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
