"""Which engine makes columns: chosen as in `kraftwire_wire.engine`."""

from __future__ import annotations

from typing import Any

from kraftwire_wire.engine import choose_native


def native_columns() -> Any | None:
    """The compiled module; None where it was not compiled."""
    try:
        from kraftwire.columns import _columns
    except ImportError:
        return None
    return _columns


NATIVE: Any | None = choose_native(native_columns)
"""The native engine where it runs, None where plain Python does."""
