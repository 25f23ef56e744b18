"""Which engine runs the codecs: the native one where it was compiled, plain Python elsewhere.

`KRAFTWIRE_ENGINE=python` takes plain Python in any case, `KRAFTWIRE_ENGINE=native` makes it
an error that the native part is missing. Both do the same; what either leaves to the emitted
code is done by the emitted code.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kraftwire_wire.codec import Codec
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.specialized import SpecializedCodec
from kraftwire_wire.specialized_source import NotSpecialized

if TYPE_CHECKING:
    from kraftwire_wire.message import Message

M = TypeVar("M", bound="Message")

VARIABLE = "KRAFTWIRE_ENGINE"
ENGINES = ("python", "native")


def native_codec() -> Any | None:
    """The class of the native engine; None where it was not compiled."""
    try:
        from kraftwire_wire._objects import NativeCodec
    except ImportError:
        return None
    return NativeCodec


def chosen(native_part: Callable[[], Any | None]) -> Any | None:
    """A native part where it is there and to be used."""
    wanted = os.environ.get(VARIABLE)
    if wanted not in (None, "", *ENGINES):
        raise KraftwireError(f"{VARIABLE}={wanted}, where {' or '.join(ENGINES)} must be")
    if wanted == "python":
        return None
    native = native_part()
    if native is None and wanted == "native":
        raise KraftwireError(
            f"{VARIABLE}=native, but the native part is not compiled: "
            "install kraftwire where there is a C compiler"
        )
    return native


_native = chosen(native_codec)
ENGINE = "python" if _native is None else "native"
"""The engine that runs."""


def make_codec(message: type[M], version: int) -> Codec[M]:
    """The codec of a version that the message has."""
    # A subclass may do anything on its way into being; only the emitted code calls it.
    if "LAYOUT" not in vars(message):
        return Codec(message, version)
    if _native is not None:
        try:
            return cast("Codec[M]", _native(message, version))
        except (NotSpecialized, RecursionError):
            pass
    return SpecializedCodec(message, version)
