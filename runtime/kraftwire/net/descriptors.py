"""Reserves file descriptors for the node: if it cannot open its files, it has to stop.

A new file or socket gets the lowest free descriptor, so the descriptor of an accepted socket shows
about how many are in use.
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
"""A node does not start with a lower limit."""


class TooFewDescriptors(KraftwireError):
    """The process may open fewer files than a node needs."""


def limit() -> int | None:
    """Return how many files this process may open; None if there is no limit."""
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def is_reserved(descriptor: int, more: int = 0) -> bool:
    """Whether an accepted socket has a descriptor that must stay free for files and nodes.

    A less important listener keeps `more` descriptors free, but may always use a quarter of all.
    """
    most = limit()
    return most is not None and descriptor >= most - min(RESERVED + more, most * 3 // 4)


def check_limit() -> None:
    """Raise `TooFewDescriptors` if the limit of open files is lower than what a node needs."""
    most = limit()
    if most is not None and most < LEAST:
        reason = f"this process may open {most} files, but a node needs {LEAST}"
        raise TooFewDescriptors(f"{reason}: raise the limit (ulimit -n)")
