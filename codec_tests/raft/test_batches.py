"""Batches of a leader, and those taken from responses, beside the readers of `kraftwire.log`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.log import BytesSource, read_batches
from kraftwire.log.errors import CorruptBatch
from kraftwire.raft.metadata_log.batches import (
    ControlRecord,
    control_batch,
    controls_of,
    data_batch,
    split_batches,
)
from kraftwire_messages import kip_856
from kraftwire_messages.kafka import KRaftVersionRecord, LeaderChangeMessage, VotersRecord, registry
from kraftwire_wire.records import ControlType

from codec_tests.stored_files import CONTROLLER

FIRST = [
    ControlRecord(ControlType.LEADER_CHANGE, LeaderChangeMessage(leader_id=1)),
    ControlRecord(ControlType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=1)),
    ControlRecord(ControlType.KRAFT_VOTERS, VotersRecord(voters=[VotersRecord.Voter(voter_id=1)])),
]


def test_what_a_batch_was_made_of_is_in_it() -> None:
    batch = data_batch(7, 3, 1_700_000_000_000, [b"a", b"bc"])
    (read,) = read_batches(BytesSource(batch.data))
    assert [(one.offset, one.timestamp, one.value) for one in read.records] == [
        (7, 1_700_000_000_000, b"a"),
        (8, 1_700_000_000_000, b"bc"),
    ]
    assert (read.header.partition_leader_epoch, read.header.is_control) == (3, False)
    assert list(controls_of(read, registry)) == []


def test_control_records_are_read_as_they_were_written() -> None:
    batch = control_batch(7, 3, 0, FIRST)
    assert batch.header.is_control
    assert list(controls_of(batch, registry)) == list(enumerate(FIRST, 7))


def test_draft_control_records_are_those_of_their_registry() -> None:
    added = ControlRecord(0x7001, kip_856.AddVoterRecord(voter_id=4))
    batch = control_batch(0, 1, 0, [FIRST[0], added])
    assert [one.type for _, one in controls_of(batch, kip_856.registry)][1:] == [0x7001]
    assert list(controls_of(batch, registry)) == [(0, FIRST[0])]


def test_a_real_controllers_log_is_split_into_its_batches() -> None:
    (segment,) = (CONTROLLER / "__cluster_metadata-0").glob("*0.log")
    data = segment.read_bytes()
    batches = list(split_batches(data))
    assert b"".join(batch.data for batch in batches) == data
    first = next(controls_of(batches[0], registry))
    assert isinstance(first[1].message, LeaderChangeMessage)
    for batch in batches:
        list(controls_of(batch, registry))


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.integers(0, 400))
def test_a_batch_that_was_cut_off_is_left_out(counts: list[int], cut: int) -> None:
    whole = [data_batch(at * 10, 1, 0, [b"x"] * count).data for at, count in enumerate(counts)]
    data = b"".join(whole)[:cut]
    found = [batch.data for batch in split_batches(data)]
    assert b"".join(found) == data[: sum(map(len, found))]
    rest = whole[len(found) :]
    assert len(data) - sum(map(len, found)) < (len(rest[0]) if rest else 1)


def test_what_was_damaged_on_the_way_is_told() -> None:
    data = bytearray(data_batch(0, 1, 0, [b"value"]).data)
    data[-3] ^= 1
    with pytest.raises(CorruptBatch, match="CRC"):
        list(split_batches(bytes(data)))
    data[8:12] = (-5).to_bytes(4, signed=True)
    with pytest.raises(CorruptBatch, match="batch length"):
        list(split_batches(bytes(data)))
