"""What control records say, and records that cannot be read."""

from __future__ import annotations

import pytest

from kraftwire.log.batches.batch import Batch, decode_batch
from kraftwire.log.batches.encoding import BatchSettings, control_record, encode_batch
from kraftwire.log.errors import CorruptBatch
from kraftwire.raft.metadata_log.batches import ControlRecord, control_batch
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.state.voters import ReplicaKey, Voter, VoterSet, encode_voters
from kraftwire_messages.kafka import KRaftVersionRecord, VotersRecord
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.records import ControlType

ONE, TWO = (VoterSet([Voter(ReplicaKey(number))]) for number in (1, 2))
VERSION = ControlRecord(ControlType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=1))
TWICE = ControlRecord(
    ControlType.KRAFT_VOTERS,
    VotersRecord(voters=[VotersRecord.Voter(voter_id=1), VotersRecord.Voter(voter_id=1)]),
)


def gap() -> Batch:
    """A control batch whose second record has not the second offset."""
    records = [
        control_record(offset, 0, ControlType.KRAFT_VOTERS, encode_voters(TWO)) for offset in (0, 2)
    ]
    settings = BatchSettings(partition_leader_epoch=1, is_control=True)
    return decode_batch(encode_batch(records, settings))


BAD = [control_batch(0, 1, 0, [VERSION, TWICE]), gap()]


def test_the_newest_record_is_in_force_and_those_before_come_back() -> None:
    state = ControlState(ONE)
    state.apply(control_batch(0, 1, 0, [VERSION]))
    state.apply(
        control_batch(1, 1, 0, [ControlRecord(ControlType.KRAFT_VOTERS, encode_voters(TWO))])
    )
    assert (state.voters.last, state.voters.last_offset) == (TWO, 1)
    state.truncate(1)
    assert (state.voters.last, state.kraft_version.last) == (ONE, 1)
    state.truncate(0)
    assert state.kraft_version.last == 0


@pytest.mark.parametrize("batch", BAD, ids=["a voter twice", "a gap"])
def test_of_a_batch_that_cannot_be_read_nothing_is_taken_in(batch: Batch) -> None:
    state = ControlState(ONE)
    with pytest.raises(KraftwireError):
        state.apply(batch)
    assert (state.voters.last, state.kraft_version.last) == (ONE, 0)


@pytest.mark.parametrize("batch", BAD, ids=["a voter twice", "a gap"])
def test_a_snapshot_that_cannot_be_read_changes_nothing(batch: Batch) -> None:
    state = ControlState(ONE)
    good = control_batch(0, 1, 0, [ControlRecord(ControlType.KRAFT_VOTERS, encode_voters(TWO))])
    with pytest.raises(CorruptBatch):
        state.load(OffsetAndEpoch(9, 1), [good, batch])
    assert state.voters.last == ONE
    state.load(OffsetAndEpoch(9, 1), [good])
    assert (state.voters.last, state.voters.last_offset) == (TWO, 8)
