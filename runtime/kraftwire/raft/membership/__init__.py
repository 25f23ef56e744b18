"""The rules by which voters are added and removed, and the records that do it.

All differences between the policies are here. Every policy changes one voter at a time. A change
is in force from its record on, and a leader begins no other before the record is committed
(KIP-853, KIP-856), so each majority of a set shares a voter with each majority of the next.

It imports `state` and `metadata_log`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from uuid import UUID

from kraftwire.raft.membership.changes import (
    AddVoter,
    Refusal,
    RemoveVoter,
    UpdateVoter,
    VoterChange,
)
from kraftwire.raft.membership.kip_856 import Kip856
from kraftwire.raft.membership.shipped import Shipped, upgrade_records
from kraftwire.raft.metadata_log.batches import ControlRecord
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.state.config import Config, Membership
from kraftwire.raft.state.voters import Voter, VoterSet
from kraftwire_wire.numbers import ErrorCode
from kraftwire_wire.registry import Registry

__all__ = [
    "AddVoter",
    "Kip856",
    "Policy",
    "Refusal",
    "RemoveVoter",
    "Shipped",
    "UpdateVoter",
    "VoterChange",
    "policy_of",
    "upgrade_records",
]


class Policy(Protocol):
    """The rules of a Kafka release or of a KIP."""

    registry: Registry
    """Decodes the control records of a log."""
    needed_kraft_version: int
    """The least kraft.version at which voters change."""
    wrong_voter: ErrorCode
    """The error that a replica returns for a request to another voter."""
    not_a_voter: ErrorCode
    """The error that an observer returns if the leader believes that it is a voter."""
    queues_changes: bool
    """Whether a change that cannot be made yet waits; otherwise it is refused."""
    needed_apis: Mapping[int, int]
    """The APIs that a new voter has to support, with the version of each that it needs."""
    has_updates: bool
    """Whether voters send UpdateRaftVoter."""

    def check_start(self, control: ControlState) -> None:
        """Raise `KraftwireError` if a replica with this log must not start."""

    def election_form(self, kraft_version: int) -> int:
        """Return the kraft.version whose quorum-state format to write; 1 has directory ids."""

    def leader_change_version(self, kraft_version: int) -> int:
        """Return the version of LeaderChangeMessage to write; 1 has the directories of voters."""

    def refusal(self, voters: VoterSet, change: VoterChange) -> Refusal | None:
        """Return why a change of a set is refused; None if it is allowed."""

    def records(self, voters: VoterSet, change: VoterChange) -> list[ControlRecord]:
        """Return the records that make an allowed change."""

    def first_records(self, control: ControlState, leader: Voter) -> list[ControlRecord]:
        """Return the records that follow LeaderChangeMessage at the start of an epoch."""

    def has_named(self, voters: VoterSet) -> bool:
        """Whether the log has the directory ids of all voters, if it needs them."""

    def is_open(self, control: ControlState) -> bool:
        """Whether state machines may propose from the start of an epoch on."""

    def naming_records(
        self, voters: VoterSet, directories: Mapping[int, UUID]
    ) -> list[ControlRecord]:
        """Return the records with the directory ids; none before all voters have reported them."""

    def snapshot_records(self, voters: VoterSet, kraft_version: int) -> list[ControlRecord]:
        """Return the records that follow the header of a snapshot."""


def policy_of(config: Config) -> Policy:
    """Return the rules that a replica is configured with."""
    if config.membership is Membership.KIP_856:
        return Kip856(config.static_voters)
    return Shipped()
