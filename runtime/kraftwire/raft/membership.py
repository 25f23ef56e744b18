"""By which rules voters come and go: what may be changed, and which records say so.

All that the policies do differently is here. Under every one of them one voter changes at a
time, the change is in force from its record on, and a leader begins no other before that is
committed (KIP-853, KIP-856): so each majority of a set has a voter in common with each of the
next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from kraftwire.raft.batches import Control
from kraftwire.raft.config import Config, Membership
from kraftwire.raft.control_state import ControlState
from kraftwire.raft.history import BEFORE_THE_LOG
from kraftwire.raft.voters import ReplicaKey, Voter, VoterSet, encode_voters
from kraftwire_messages.kafka import KRaftVersionRecord
from kraftwire_wire.numbers import ErrorCode
from kraftwire_wire.records import ControlType


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


class Policy(Protocol):
    """The rules of one document or release."""

    needed_kraft_version: int
    """The kraft.version without which voters do not change."""

    def refusal(self, voters: VoterSet, change: Change) -> Refusal | None:
        """Why a set may not be changed so; None where it may."""
        ...

    def records(self, voters: VoterSet, change: Change) -> list[Control]:
        """The records that say an allowed change."""
        ...

    def first_records(self, control: ControlState, leader: Voter) -> list[Control]:
        """What stands behind LeaderChangeMessage at the beginning of an epoch."""
        ...


class Shipped:
    """Kafka 4: each VotersRecord holds the whole set, in which an id is there once."""

    needed_kraft_version = 1

    def refusal(self, voters: VoterSet, change: Change) -> Refusal | None:
        """See `Policy.refusal`."""
        match change:
            case Adding(voter) if voters.of_id(voter.id):
                reason = f"There is a voter with the id {voter.id}; remove it first."
                return Refusal(ErrorCode.DUPLICATE_VOTER, reason)
            case Removing(key) if key not in voters.keys or len(voters) == 1:
                reason = f"{key} is no voter." if key not in voters.keys else "It is the last one."
                return Refusal(ErrorCode.VOTER_NOT_FOUND, reason)
            case Updating(voter) if voters.find(voter.key) is None:
                return Refusal(ErrorCode.VOTER_NOT_FOUND, f"{voter.key} is no voter.")
        return None

    def records(self, voters: VoterSet, change: Change) -> list[Control]:
        """See `Policy.records`."""
        match change:
            case Adding(voter):
                voters = voters.adding(voter)
            case Removing(key):
                voters = voters.removing(key)
            case Updating(voter):
                voters = voters.updating(voter)
        return [_voters_record(voters)]

    def first_records(self, control: ControlState, leader: Voter) -> list[Control]:
        """The set, where the log has none yet, or has not what the leader has become."""
        kraft_version, voters = control.kraft_version.last, control.voters.last
        if kraft_version < self.needed_kraft_version:
            return []
        before = voters.find(leader.key)
        if before is None:  # its removal is not committed, and says all there is to say
            return []
        if before.agrees(leader) and control.voters.last_offset != BEFORE_THE_LOG:
            return []
        return upgrade_records(kraft_version, voters.updating(leader))


def upgrade_records(kraft_version: int, voters: VoterSet) -> list[Control]:
    """The records that raise kraft.version, with the voters as they have described themselves."""
    return [_version_record(kraft_version), _voters_record(voters)]


def policy_of(config: Config) -> Policy:
    """The rules that a replica was told to follow."""
    return _POLICIES[config.membership]


def _voters_record(voters: VoterSet) -> Control:
    return Control(ControlType.KRAFT_VOTERS, encode_voters(voters))


def _version_record(kraft_version: int) -> Control:
    return Control(ControlType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=kraft_version))


_POLICIES: dict[Membership, Policy] = {Membership.SHIPPED: Shipped()}
