"""The rules of Kafka 4 (KIP-853): a record has the whole set."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from uuid import UUID

from kraftwire.raft.membership.changes import Adding, Change, Refusal, Removing, Updating
from kraftwire.raft.metadata_log.batches import Control
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.history import BEFORE_THE_LOG
from kraftwire.raft.state.voters import Voter, VoterSet, encode_voters
from kraftwire_messages import kafka
from kraftwire_messages.kafka import KRaftVersionRecord
from kraftwire_wire.numbers import ErrorCode
from kraftwire_wire.records import ControlType


class Shipped:
    """Kafka 4: each VotersRecord holds the whole set, in which an id is there once."""

    registry = kafka.registry
    needed_kraft_version = 1
    not_mine = ErrorCode.INVALID_VOTER_KEY
    not_voter = ErrorCode.NONE
    waits = False
    needed_apis: Mapping[int, int] = MappingProxyType({})
    updates = True

    def check_start(self, control: ControlState) -> None:
        """Any log will do."""

    def election_form(self, kraft_version: int) -> int:
        """That of the quorum."""
        return kraft_version

    def leader_change_version(self, kraft_version: int) -> int:
        """Return 0 under every kraft.version, as Kafka writes it.

        Kafka 4.4 decodes each LeaderChangeMessage in version 0. At one in version 1 a controller
        ends, and ends again at each start, since the message is in its log.
        """
        del kraft_version  # the draft would decide by it (KIP-853)
        return 0

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

    def has_named(self, voters: VoterSet) -> bool:
        """Nothing has to be said."""
        return True

    def is_open(self, control: ControlState) -> bool:
        """There is nothing to wait for."""
        return True

    def naming_records(self, voters: VoterSet, directories: Mapping[int, UUID]) -> list[Control]:
        """Nothing is."""
        return []

    def snapshot_records(self, voters: VoterSet, kraft_version: int) -> list[Control]:
        """The set, as in the log, where that has one of its own."""
        if kraft_version < self.needed_kraft_version:
            return []
        return upgrade_records(kraft_version, voters)


def upgrade_records(kraft_version: int, voters: VoterSet) -> list[Control]:
    """The records that raise kraft.version, with the voters as they have described themselves."""
    return [version_record(kraft_version), _voters_record(voters)]


def _voters_record(voters: VoterSet) -> Control:
    return Control(ControlType.KRAFT_VOTERS, encode_voters(voters))


def version_record(kraft_version: int) -> Control:
    """Return the record that raises kraft.version."""
    return Control(ControlType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=kraft_version))
