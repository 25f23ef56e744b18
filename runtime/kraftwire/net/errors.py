"""What can go wrong in the transport that the system does not report as an `OSError`."""

from __future__ import annotations

from kraftwire_wire.errors import KraftwireError, UnsupportedVersion, format_versions


class BadSecurity(KraftwireError):
    """Security settings, or files that they name, that nobody can use."""


class BadAddress(KraftwireError):
    """A host or a port that nobody can connect to."""


class AuthenticationFailed(KraftwireError):
    """The server does not take a login, or could not show that it knows the password."""


class NoCommonVersion(UnsupportedVersion):
    """A message that has no version which both ends speak and which has room for it."""

    def __init__(self, name: str, ours: range, theirs: range | None, reason: str = "") -> None:
        """`theirs` is None where the peer does not know the API at all."""
        super().__init__(name, theirs[-1] if theirs else -1, ours)
        self.theirs = theirs
        self.reason = reason

    def __str__(self) -> str:
        if self.theirs is None:
            return f"the peer does not speak {self.name}"
        both = f"the peer speaks {self.name} {format_versions(self.theirs)}"
        both = f"{both}, this end {format_versions(self.valid)}"
        return f"{both}; {self.reason}" if self.reason else both
