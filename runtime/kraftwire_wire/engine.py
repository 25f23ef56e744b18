"""Which engine runs the codecs: the native one where it was compiled, plain Python elsewhere.

`KRAFTWIRE_ENGINE=python` takes plain Python in any case, `KRAFTWIRE_ENGINE=native` makes it
an error that the native part is missing. Both do the same; what either leaves to the emitted
code is done by the emitted code.
"""

from __future__ import annotations

import os
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


def _choose() -> Any | None:
    """The class of the native engine where it is to be used."""
    chosen = os.environ.get(VARIABLE)
    if chosen not in (None, "", *ENGINES):
        raise KraftwireError(f"{VARIABLE}={chosen}, where {' or '.join(ENGINES)} must be")
    if chosen == "python":
        return None
    native = native_codec()
    if native is None and chosen == "native":
        raise KraftwireError(
            f"{VARIABLE}=native, but the native part is not compiled: "
            "install kraftwire where there is a C compiler"
        )
    return native


_native = _choose()
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
