"""By which rules voters come and go: what may be changed, and which records say so.

All that the policies do differently is here. Under every one of them one voter changes at a
time, the change is in force from its record on, and a leader begins no other before that is
committed (KIP-853, KIP-856): so each majority of a set has a voter in common with each of the
next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from uuid import UUID

from kraftwire.raft.membership.changes import Adding, Change, Refusal, Removing, Updating
from kraftwire.raft.membership.kip_856 import Kip856
from kraftwire.raft.membership.shipped import Shipped, upgrade_records
from kraftwire.raft.metadata_log.batches import Control
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.state.config import Config, Membership
from kraftwire.raft.state.voters import Voter, VoterSet
from kraftwire_wire.numbers import ErrorCode
from kraftwire_wire.registry import Registry

__all__ = [
    "Adding",
    "Change",
    "Kip856",
    "Policy",
    "Refusal",
    "Removing",
    "Shipped",
    "Updating",
    "policy_of",
    "upgrade_records",
]


class Policy(Protocol):
    """The rules of one document or release."""

    registry: Registry
    """What the control records of a log are; whoever opens one needs it."""
    needed_kraft_version: int
    """The kraft.version without which voters do not change."""
    not_mine: ErrorCode
    """What a replica answers that is not the voter a request is for."""
    not_voter: ErrorCode
    """What it answers to a leader that takes it for a voter, where it is none."""
    waits: bool
    """Whether a change waits until it may be made; else it is refused until then."""
    needed_apis: Mapping[int, int]
    """The APIs that a new voter has to support, each with the least of its newest versions."""
    updates: bool
    """Whether voters tell the leader where they listen and what they support."""

    def check_start(self, control: ControlState) -> None:
        """`KraftwireError` where a replica with such a log must not start."""
        ...

    def election_form(self, kraft_version: int) -> int:
        """The kraft.version in whose form elections are kept; from 1 on with directories."""
        ...

    def leader_change_version(self, kraft_version: int) -> int:
        """Return the version of LeaderChangeMessage to write; 1 has the directories of voters."""
        ...

    def refusal(self, voters: VoterSet, change: Change) -> Refusal | None:
        """Why a set may not be changed so; None where it may."""
        ...

    def records(self, voters: VoterSet, change: Change) -> list[Control]:
        """The records that say an allowed change."""
        ...

    def first_records(self, control: ControlState, leader: Voter) -> list[Control]:
        """What stands behind LeaderChangeMessage at the beginning of an epoch."""
        ...

    def has_named(self, voters: VoterSet) -> bool:
        """Whether the log says all that it has to say of a set."""
        ...

    def is_open(self, control: ControlState) -> bool:
        """Whether state machines may write from the beginning of an epoch on."""
        ...

    def naming_records(self, voters: VoterSet, directories: Mapping[int, UUID]) -> list[Control]:
        """The records that say it, by what voters have told; none before all have."""
        ...

    def snapshot_records(self, voters: VoterSet, kraft_version: int) -> list[Control]:
        """What stands behind the header of a snapshot."""
        ...


def policy_of(config: Config) -> Policy:
    """The rules that a replica was told to follow."""
    if config.membership is Membership.KIP_856:
        return Kip856(config.static_voters)
    return _SHIPPED


_SHIPPED = Shipped()
