"""Chooses the engine that decodes columns, as `kraftwire_wire.engine` does for codecs."""

from __future__ import annotations

from typing import Any

from kraftwire_wire.engine import choose_native


def native_columns() -> Any | None:
    """Return the native module, or None if it is not compiled."""
    try:
        from kraftwire.columns import _columns
    except ImportError:
        return None
    return _columns


NATIVE: Any | None = choose_native(native_columns)
"""The native module, or None if plain Python decodes columns."""
