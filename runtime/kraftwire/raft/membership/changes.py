"""Changes of a voter set, and the reasons to refuse one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kraftwire.raft.state.voters import ReplicaKey, Voter
from kraftwire_wire.numbers import ErrorCode


@dataclass(frozen=True, slots=True)
class AddVoter:
    """A replica becomes a voter."""

    voter: Voter


@dataclass(frozen=True, slots=True)
class RemoveVoter:
    """A voter becomes an observer."""

    key: ReplicaKey


@dataclass(frozen=True, slots=True)
class UpdateVoter:
    """A voter has other listeners, or supports other versions of kraft.version."""

    voter: Voter


VoterChange = AddVoter | RemoveVoter | UpdateVoter


class Refusal(NamedTuple):
    """The error code and message that a client gets if a change is not allowed."""

    error: ErrorCode
    reason: str
