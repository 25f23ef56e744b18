"""File descriptors that clients never get: a node without any for its files has to end.

The system gives a new file or socket the lowest number that is free, so the number of an
accepted socket alone says how many are left.
"""

from __future__ import annotations

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

from kraftwire_wire.errors import KraftwireError

RESERVED = 64
"""Kept free of clients: 32 for connections to other nodes, the rest for files."""
LEAST = 2 * RESERVED
"""The lowest limit that a node starts with."""


class TooFewDescriptors(KraftwireError):
    """The process may not open as many files as a node needs."""


def limit() -> int | None:
    """Return how many files this process may have open; None for any number."""
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def is_reserved(descriptor: int, more: int = 0) -> bool:
    """Whether an accepted socket has a descriptor that must stay free for files and nodes.

    A listener of less importance leaves `more` to others, as far as a quarter of all allows.
    """
    most = limit()
    return most is not None and descriptor >= most - min(RESERVED + more, most * 3 // 4)


def check_limit() -> None:
    """Raise `TooFewDescriptors` if the limit of open files is lower than what a node needs."""
    most = limit()
    if most is not None and most < LEAST:
        reason = f"this process may open {most} files, and a node needs {LEAST}"
        raise TooFewDescriptors(f"{reason}: raise the limit (ulimit -n)")
