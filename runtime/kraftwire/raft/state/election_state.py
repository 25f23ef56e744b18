"""What a replica persists about elections: the epoch, its leader and the vote in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kraftwire.log.errors import CorruptBatch
from kraftwire.log.small_files.quorum_state import (
    QuorumState,
    decode_quorum_state,
    encode_quorum_state,
)
from kraftwire.raft.state.bounds import HOW_TO_RESET, MAX_EPOCH, is_epoch
from kraftwire.raft.state.voters import NO_DIRECTORY, ReplicaKey
from kraftwire_messages.kafka import QuorumStateData

_NO_REPLICA = -1


class Election(NamedTuple):
    """An epoch, its leader and this replica's vote in it, if any."""

    epoch: int
    leader_id: int | None = None
    voted: ReplicaKey | None = None


def encode_election(election: Election, kraft_version: int, voter_ids: Iterable[int] = ()) -> bytes:
    """Return the content of the file quorum-state.

    Under kraft.version 0 it lists the voters, which nobody reads, and has no directory id for the
    vote.
    """
    voted = election.voted or ReplicaKey(_NO_REPLICA)
    message = QuorumStateData(
        leader_id=_NO_REPLICA if election.leader_id is None else election.leader_id,
        leader_epoch=election.epoch,
        voted_id=voted.id,
    )
    version = 1 if kraft_version else 0
    if version:
        message.voted_directory_id = voted.directory_id
    else:
        message.current_voters = [QuorumStateData.Voter(voter_id=one) for one in voter_ids]
    return encode_quorum_state(QuorumState(message, version))


def decode_election(data: bytes, file: str = "<bytes>") -> Election:
    """Return the election in a quorum-state file.

    Raises `CorruptBatch` if it cannot be read, or if its epoch is impossible.
    """
    message = decode_quorum_state(data, file).message
    if not is_epoch(message.leader_epoch):
        reason = f"leaderEpoch is {message.leader_epoch}, and epochs are from 0 to {MAX_EPOCH}"
        raise CorruptBatch(file, 0, f"{reason} ({HOW_TO_RESET})")
    if message.voted_id == _NO_REPLICA and message.voted_directory_id != NO_DIRECTORY:
        raise CorruptBatch(file, 0, "votedDirectoryId is set, but votedId is not")
    leader = None if message.leader_id < 0 else message.leader_id
    voted = ReplicaKey(message.voted_id, message.voted_directory_id)
    return Election(message.leader_epoch, leader, voted if message.voted_id >= 0 else None)
