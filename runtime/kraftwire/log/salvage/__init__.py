"""Copying what can be read of a damaged partition into a new directory.

`partition` copies whole batches into new segments, `small_files` copies the files beside them.
Both yield a `Loss` for each range of bytes that they leave out.
"""

from __future__ import annotations

from kraftwire.log.salvage.partition import Salvage
from kraftwire.log.salvage.small_files import Loss

__all__ = ["Loss", "Salvage"]
