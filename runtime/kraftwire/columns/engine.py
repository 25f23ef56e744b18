"""Which engine makes columns; see `kraftwire_wire.engine`, whose variable decides here too."""

from __future__ import annotations

import os
from typing import Any

from kraftwire_wire.engine import VARIABLE
from kraftwire_wire.errors import KraftwireError


def native_columns() -> Any | None:
    """The compiled module; None where it was not compiled."""
    try:
        from kraftwire.columns import _columns
    except ImportError:
        return None
    return _columns


def _choose() -> Any | None:
    if os.environ.get(VARIABLE) == "python":
        return None
    native = native_columns()
    if native is None and os.environ.get(VARIABLE) == "native":
        raise KraftwireError(
            f"{VARIABLE}=native, but the native columns are not compiled: "
            "install kraftwire where there is a C compiler"
        )
    return native


NATIVE: Any | None = _choose()
"""The native engine where it runs, None where plain Python does."""
