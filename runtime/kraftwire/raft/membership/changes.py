"""Changes of a voter set, and why one is not made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kraftwire.raft.state.voters import ReplicaKey, Voter
from kraftwire_wire.numbers import ErrorCode


@dataclass(frozen=True, slots=True)
class Adding:
    """A replica becomes a voter."""

    voter: Voter


@dataclass(frozen=True, slots=True)
class Removing:
    """A voter becomes an observer."""

    key: ReplicaKey


@dataclass(frozen=True, slots=True)
class Updating:
    """A voter listens elsewhere, or has another kraft.version."""

    voter: Voter


Change = Adding | Removing | Updating


class Refusal(NamedTuple):
    """Why a change is not made, as a client is told."""

    error: ErrorCode
    reason: str
