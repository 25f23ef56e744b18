"""What generated codecs need at run time, and nothing else: standard library only.

Public: the base classes, the errors, names for the protocol's numbers, and framing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kraftwire_wire.errors import RuntimeTooOld

RUNTIME_VERSION = 1
"""Counts the promises that generated code relies on; raised when a new one is added."""


def require_runtime(version: int) -> None:
    """Called by every generated module with the runtime version it was generated for."""
    if version > RUNTIME_VERSION:
        raise RuntimeTooOld(
            f"this code was generated for runtime {version} of kraftwire_wire, installed is "
            f"{RUNTIME_VERSION}; upgrade kraftwire, or generate the code again"
        )


if TYPE_CHECKING:
    from kraftwire_wire.numbers import ApiKey as ApiKey
    from kraftwire_wire.numbers import ErrorCode as ErrorCode
else:

    def __getattr__(name: str) -> object:
        """Load `ErrorCode` and `ApiKey` when they are first asked for: they are large."""
        if name in ("ApiKey", "ErrorCode"):
            from kraftwire_wire import numbers

            value: object = getattr(numbers, name)
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
