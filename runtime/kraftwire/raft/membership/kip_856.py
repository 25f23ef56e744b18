"""The rules of KIP-856: each record adds or removes one voter; ids and listeners are configured.

The configuration does not know the directory ids of voters. A voter is *named* once a record in the
log has its directory id. An id may occur twice, with two directories. That is how operators replace
a lost disk: they add the new one first, then remove the old one.

The draft has no numbers for VOTER_ALREADY_ADDED, VOTER_ALREADY_REMOVED and NOT_VOTER. Replicas
answer with Kafka's DUPLICATE_VOTER (126) for the first and VOTER_NOT_FOUND (127) for the others.

For operators: keep all disks until the first record of the state machine is committed. A leader
accepts no proposals before each voter has the records that name all voters, and a voter on a lost
disk never gets them. A new leader waits again as long as the log has no record of the state
machine. Clients of such a quorum get the error that no leader accepts changes. DescribeQuorum
shows the lost voter without progress and its new disk as an observer. Nothing is lost: for each
lost disk, send AddVoter for the new one and RemoveVoter for the old one, and the leader opens.
Before the voters are named, never replace a disk: the log knows voters by id alone, so the empty
disk would vote again.
"""

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
from kraftwire.raft.membership.shipped import version_record
from kraftwire.raft.metadata_log.batches import ControlRecord
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.state.voters import NO_DIRECTORY, ReplicaKey, Voter, VoterSet
from kraftwire_messages import kip_856
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.numbers import ApiKey, ErrorCode
from kraftwire_wire.registry import Registry

_NAMED = 1
"""The kraft.version of a quorum with named voters."""
_TYPES = {name: number for number, name in kip_856.registry.control_records.items()}

_WITH_DIRECTORIES: Mapping[int, int] = MappingProxyType(
    {
        ApiKey.FETCH: 17,
        ApiKey.FETCH_SNAPSHOT: 1,
        ApiKey.VOTE: 1,
        ApiKey.BEGIN_QUORUM_EPOCH: 1,
        ApiKey.END_QUORUM_EPOCH: 1,
        ApiKey.DESCRIBE_QUORUM: 2,
        ApiKey.ADD_RAFT_VOTER: 0,
        ApiKey.REMOVE_RAFT_VOTER: 0,
    }
)
"""The first versions with directory ids in Kafka; the draft has other numbers, as Fetch 14."""


class Kip856:
    """Changes one voter per record; names all voters once all have reported directory ids."""

    registry = Registry(
        "kraftwire_messages",
        release=kip_856.registry.release,
        messages={
            "LeaderChangeMessage": "kafka.leader_change_message",
            "SnapshotHeaderRecord": "kafka.snapshot_header_record",
            "SnapshotFooterRecord": "kafka.snapshot_footer_record",
            "KRaftVersionRecord": "kafka.kraft_version_record",
            "VotersRecord": "kafka.voters_record",
            "AddVoterRecord": "kip_856.add_voter_record",
            "RemoveVoterRecord": "kip_856.remove_voter_record",
        },
        requests={},
        responses={},
        records={},
        control_records=kip_856.registry.control_records,
    )
    needed_kraft_version = 0
    wrong_voter = ErrorCode.INVALID_REQUEST
    not_a_voter = ErrorCode.VOTER_NOT_FOUND
    queues_changes = True
    needed_apis: Mapping[int, int] = _WITH_DIRECTORIES
    has_updates = False

    def __init__(self, configured: VoterSet) -> None:
        """`configured` is `controller.quorum.voters`."""
        self._configured = configured

    def check_start(self, control: ControlState) -> None:
        named = {voter.id for entry in control.voters.entries for voter in entry.value}
        unlisted = sorted(number for number in named if not self._configured.of_id(number))
        if unlisted:
            reason = "missing in controller.quorum.voters; add them there, with their listeners"
            raise KraftwireError(f"the log has voters with the ids {unlisted}, {reason}")

    def election_form(self, kraft_version: int) -> int:
        return 1  # votes are for a directory id

    def leader_change_version(self, kraft_version: int) -> int:
        """Return 1 exactly if kraft.version is at least 1 (KIP-853)."""
        return min(kraft_version, 1)

    def refusal(self, voters: VoterSet, change: VoterChange) -> Refusal | None:
        match change:
            case AddVoter(voter) if voter.key in voters.keys:
                return Refusal(ErrorCode.DUPLICATE_VOTER, f"{voter.key} is already a voter.")
            case AddVoter(Voter(key)) | RemoveVoter(key) if not self._configured.of_id(key.id):
                reason = f"Id {key.id} is not in controller.quorum.voters."
                return Refusal(ErrorCode.INVALID_REQUEST, reason)
            case RemoveVoter(key) if key not in voters.keys:
                return Refusal(ErrorCode.VOTER_NOT_FOUND, f"{key} is not a voter.")
            case RemoveVoter(key) if len(voters.of_id(key.id)) == 1:
                reason = f"No other voter has the id {key.id}; add one with another disk first."
                return Refusal(ErrorCode.INVALID_REQUEST, reason)
            case UpdateVoter():
                reason = "The listeners of voters come from controller.quorum.voters."
                return Refusal(ErrorCode.UNSUPPORTED_VERSION, reason)
        return None

    def records(self, voters: VoterSet, change: VoterChange) -> list[ControlRecord]:
        match change:
            case AddVoter(voter):
                return [_add_record(voter.key)]
            case RemoveVoter(key):
                return [_remove_record(key)]
        return []

    def first_records(self, control: ControlState, leader: Voter) -> list[ControlRecord]:
        return []  # `naming_records` come later

    def has_named(self, voters: VoterSet) -> bool:
        return all(voter.key.directory_id != NO_DIRECTORY for voter in voters)

    def is_open(self, control: ControlState) -> bool:
        # The state machine has records only if each voter had the records that name all voters.
        return self.has_named(control.voters.last) and control.first_data is not None

    def naming_records(
        self, voters: VoterSet, directories: Mapping[int, UUID]
    ) -> list[ControlRecord]:
        """Return a record for each voter, after one that raises kraft.version to 1.

        The records go into one batch, to be committed together. A voter that has reported its
        directory id supports this KIP, and so kraft.version 1.
        """
        if not all(voter.id in directories for voter in voters):
            return []
        keys = [ReplicaKey(voter.id, directories[voter.id]) for voter in voters]
        return [version_record(_NAMED), *map(_add_record, keys)]

    def snapshot_records(self, voters: VoterSet, kraft_version: int) -> list[ControlRecord]:
        if not self.has_named(voters):
            return []
        raised = [version_record(kraft_version)] if kraft_version else []
        return [*raised, *(_add_record(voter.key) for voter in voters)]


def _add_record(key: ReplicaKey) -> ControlRecord:
    record = kip_856.AddVoterRecord(voter_id=key.id, voter_uuid=key.directory_id)
    return ControlRecord(_TYPES["AddVoterRecord"], record)


def _remove_record(key: ReplicaKey) -> ControlRecord:
    record = kip_856.RemoveVoterRecord(voter_id=key.id, voter_uuid=key.directory_id)
    return ControlRecord(_TYPES["RemoveVoterRecord"], record)
