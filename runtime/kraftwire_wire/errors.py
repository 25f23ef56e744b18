"""The errors that reading and writing messages can raise; all derive from `KraftwireError`.

An error has the path of its field, such as `topics[2].name`. The path grows from the inside out:
each level that reads a nested value catches the error, prepends its own step with `inside` and
raises it again.
"""

from __future__ import annotations

from typing import Self


class KraftwireError(Exception):
    """Base class of all errors of kraftwire."""


class FieldError(KraftwireError):
    """An error in one field of a message; `path` is the field, `reason` the problem."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason, path)
        self.reason = reason
        self.path = path

    def inside(self, step: str) -> Self:
        """Prepend `step` to the path and return the error, to be raised again."""
        if not self.path:
            self.path = step
        else:
            self.path = step + self.path if self.path[0] == "[" else f"{step}.{self.path}"
        return self

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class DecodeError(FieldError):
    """Input that is not a valid encoding.

    `offset` is the byte of the input at which the refused value starts, or None for JSON.
    """

    def __init__(self, reason: str, path: str = "", offset: int | None = None) -> None:
        super().__init__(reason, path)
        self.offset = offset

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, int | None]]:
        return type(self), (self.reason, self.path, self.offset)

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.offset is None else f"{text} (at byte {self.offset})"


class EncodeError(FieldError):
    """A message that cannot be encoded in the requested version."""


class UnsupportedVersion(KraftwireError):
    """A version outside the valid range of a message."""

    def __init__(self, name: str, version: int, valid: range) -> None:
        super().__init__(name, version, valid)
        self.name = name
        self.version = version
        self.valid = valid

    def __str__(self) -> str:
        return f"{self.name} has no version {self.version}; it has {format_versions(self.valid)}"


class RuntimeTooOld(KraftwireError):
    """Generated code needs a newer `kraftwire_wire` than the installed one."""


def format_versions(versions: range) -> str:
    """Return versions as people write them: `none`, `3`, `0-4`."""
    if not versions:
        return "none"
    if len(versions) == 1:
        return str(versions[0])
    return f"{versions[0]}-{versions[-1]}"


def count_of(number: int, noun: str) -> str:
    """Return `1 byte` or `2 bytes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
