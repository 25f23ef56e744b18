"""The error that reading stored data can raise."""

from __future__ import annotations

from kraftwire_wire.errors import KraftwireError


class CorruptBatch(KraftwireError):
    """Stored bytes that are not what they must be: `reason`, in `file`, from byte `position` on.

    Despite its name it stands for every stored file, so that one `except` covers them all.
    """

    def __init__(self, file: str, position: int, reason: str) -> None:
        super().__init__(file, position, reason)
        self.file = file
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.file}, byte {self.position}: {self.reason}"
