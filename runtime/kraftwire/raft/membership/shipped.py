"""The rules of Kafka 4 (KIP-853): each VotersRecord holds the whole set."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from uuid import UUID

from kraftwire.raft.membership.changes import (
    AddVoter,
    Refusal,
    RemoveVoter,
    UpdateVoter,
    VoterChange,
)
from kraftwire.raft.metadata_log.batches import ControlRecord
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.history import BEFORE_THE_LOG
from kraftwire.raft.state.voters import Voter, VoterSet, encode_voters
from kraftwire_messages import kafka
from kraftwire_messages.kafka import KRaftVersionRecord
from kraftwire_wire.numbers import ErrorCode
from kraftwire_wire.records import ControlType


class Shipped:
    """Writes the whole set for each change; an id occurs once in it."""

    registry = kafka.registry
    needed_kraft_version = 1
    wrong_voter = ErrorCode.INVALID_VOTER_KEY
    not_a_voter = ErrorCode.NONE
    queues_changes = False
    needed_apis: Mapping[int, int] = MappingProxyType({})
    has_updates = True

    def check_start(self, control: ControlState) -> None:
        pass

    def election_form(self, kraft_version: int) -> int:
        return kraft_version

    def leader_change_version(self, kraft_version: int) -> int:
        """Return 0 under every kraft.version, as Kafka writes it.

        KIP-853 specifies version 1 from kraft.version 1 on. But Kafka 4.4 decodes each
        LeaderChangeMessage in version 0. Version 1 crashes a controller, and again at each start,
        since the message is in its log.
        """
        del kraft_version
        return 0

    def refusal(self, voters: VoterSet, change: VoterChange) -> Refusal | None:
        match change:
            case AddVoter(voter) if voters.of_id(voter.id):
                reason = f"Another voter has the id {voter.id}; remove it first."
                return Refusal(ErrorCode.DUPLICATE_VOTER, reason)
            case RemoveVoter(key) if key not in voters.keys or len(voters) == 1:
                is_last = key in voters.keys
                reason = "It is the last voter." if is_last else f"{key} is not a voter."
                return Refusal(ErrorCode.VOTER_NOT_FOUND, reason)
            case UpdateVoter(voter) if voters.find(voter.key) is None:
                return Refusal(ErrorCode.VOTER_NOT_FOUND, f"{voter.key} is not a voter.")
        return None

    def records(self, voters: VoterSet, change: VoterChange) -> list[ControlRecord]:
        match change:
            case AddVoter(voter):
                voters = voters.adding(voter)
            case RemoveVoter(key):
                voters = voters.removing(key)
            case UpdateVoter(voter):
                voters = voters.updating(voter)
        return [_voters_record(voters)]

    def first_records(self, control: ControlState, leader: Voter) -> list[ControlRecord]:
        """Return the voter set if the log lacks it or describes the leader differently."""
        kraft_version, voters = control.kraft_version.last, control.voters.last
        if kraft_version < self.needed_kraft_version:
            return []
        before = voters.find(leader.key)
        if before is None:  # its removal is in the log, but not committed
            return []
        if before.describes_same_as(leader) and control.voters.last_offset != BEFORE_THE_LOG:
            return []
        return upgrade_records(kraft_version, voters.updating(leader))

    def has_named(self, voters: VoterSet) -> bool:
        return True

    def is_open(self, control: ControlState) -> bool:
        return True

    def naming_records(
        self, voters: VoterSet, directories: Mapping[int, UUID]
    ) -> list[ControlRecord]:
        return []  # has_named is always true

    def snapshot_records(self, voters: VoterSet, kraft_version: int) -> list[ControlRecord]:
        if kraft_version < self.needed_kraft_version:
            return []
        return upgrade_records(kraft_version, voters)


def upgrade_records(kraft_version: int, voters: VoterSet) -> list[ControlRecord]:
    """Return the records that raise kraft.version and write the voters to the log."""
    return [version_record(kraft_version), _voters_record(voters)]


def _voters_record(voters: VoterSet) -> ControlRecord:
    return ControlRecord(ControlType.KRAFT_VOTERS, encode_voters(voters))


def version_record(kraft_version: int) -> ControlRecord:
    """Return the record that raises kraft.version."""
    return ControlRecord(ControlType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=kraft_version))
