"""Errors of the transport, other than the `OSError` of the system."""

from __future__ import annotations

from kraftwire_wire.errors import KraftwireError, UnsupportedVersion, format_versions


class BadSecurity(KraftwireError):
    """Invalid security settings, or an invalid file that they name."""


class BadAddress(KraftwireError):
    """A host or a port that is not valid."""


class AuthenticationFailed(KraftwireError):
    """The server refused the login, or did not prove that it knows the password."""


class NoCommonVersion(UnsupportedVersion):
    """The two ends have no common version that can encode the message."""

    def __init__(self, name: str, ours: range, theirs: range | None, reason: str = "") -> None:
        """`theirs` is None if the peer does not know the API."""
        super().__init__(name, theirs[-1] if theirs else -1, ours)
        self.theirs = theirs
        self.reason = reason

    def __str__(self) -> str:
        if self.theirs is None:
            return f"the peer does not speak {self.name}"
        theirs, ours = format_versions(self.theirs), format_versions(self.valid)
        both = f"the peer speaks {self.name} {theirs}, this end {ours}"
        return f"{both}; {self.reason}" if self.reason else both
