"""Chooses the engine that runs the codecs: native if it is compiled, plain Python otherwise.

`KRAFTWIRE_ENGINE=python` always runs plain Python. `KRAFTWIRE_ENGINE=native` raises an error if
the native engine is not compiled. Both engines return the same results, and both leave unusual
input to the emitted code. Only `codec_for` makes codecs; generated classes do not depend on an
engine.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, cast

from kraftwire_wire.codec import Codec
from kraftwire_wire.errors import KraftwireError, UnsupportedVersion
from kraftwire_wire.specialized import SpecializedCodec
from kraftwire_wire.specialized_source import NotSpecialized
from kraftwire_wire.structs import S, Struct

VARIABLE = "KRAFTWIRE_ENGINE"
ENGINES = ("python", "native")


def native_codec() -> Any | None:
    """Return the native codec class, or None if it is not compiled."""
    try:
        from kraftwire_wire._objects import NativeCodec
    except ImportError:
        return None
    return NativeCodec


def choose_native(import_native: Callable[[], Any | None]) -> Any | None:
    """Return what `import_native` returns, or None if the environment asks for plain Python."""
    engine = os.environ.get(VARIABLE)
    if engine not in (None, "", *ENGINES):
        raise KraftwireError(f"{VARIABLE}={engine}: set it to {' or '.join(ENGINES)}")
    if engine == "python":
        return None
    native = import_native()
    if native is None and engine == "native":
        raise KraftwireError(
            f"{VARIABLE}=native, but the native part is not compiled: "
            "install a C compiler, then reinstall kraftwire"
        )
    return native


_native = choose_native(native_codec)
ENGINE = "python" if _native is None else "native"
"""The engine in use: `python` or `native`."""

_codecs: dict[tuple[type[Struct], int], Codec[Any]] = {}


def codec_for(message: type[S], version: int) -> Codec[S]:
    """Return the codec of a version; raise `UnsupportedVersion` if the message lacks it."""
    codec = _codecs.get((message, version))
    if codec is None:
        if version not in message.LAYOUT.versions:
            raise UnsupportedVersion(message.__name__, version, message.LAYOUT.versions)
        # 2.0 and True are equal to 2 and 1 as keys, but must not become a codec's version.
        codec = _codecs[message, version] = _make_codec(message, int(version))
    return codec


def _make_codec(message: type[S], version: int) -> Codec[S]:
    # A subclass may construct its instances differently; only the emitted code calls it.
    if "LAYOUT" not in vars(message):
        return Codec(message, version)
    if _native is not None:
        try:
            return cast("Codec[S]", _native(message, version))
        except (NotSpecialized, RecursionError):
            pass
    return SpecializedCodec(message, version)
