"""Elections as `quorum-state` keeps them, beside the bytes that a real controller wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.log.errors import CorruptBatch
from kraftwire.raft.state.bounds import MAX_EPOCH
from kraftwire.raft.state.election_state import Election, decode_election, encode_election
from kraftwire.raft.state.voters import ReplicaKey

from codec_tests.stored_files import CONTROLLER

KEYS = st.builds(ReplicaKey, st.integers(0, 2**31 - 1), st.uuids())
LEADERS = st.none() | st.integers(0, 2**31 - 1)


def test_a_real_controllers_file_is_written_the_same() -> None:
    data = (CONTROLLER / "__cluster_metadata-0" / "quorum-state").read_bytes()
    election = decode_election(data)
    assert election == Election(epoch=1, leader_id=1)
    assert encode_election(election, kraft_version=1) == data


@given(st.integers(0, MAX_EPOCH), LEADERS, st.none() | KEYS)
def test_what_is_written_is_read(epoch: int, leader: int | None, voted: ReplicaKey | None) -> None:
    election = Election(epoch, leader, voted)
    assert decode_election(encode_election(election, kraft_version=1)) == election
    without = election._replace(voted=voted and ReplicaKey(voted.id))
    assert decode_election(encode_election(election, kraft_version=0)) == without


def test_under_kraft_version_0_the_file_has_the_voters_and_nobody_reads_them() -> None:
    election = Election(3, 2)
    data = encode_election(election, 0, [1, 2])
    assert data == (
        b'{"clusterId":"","leaderId":2,"leaderEpoch":3,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}'
    )
    assert decode_election(data) == election
    assert decode_election(data.replace(b'[{"voterId":1},{"voterId":2}]', b"null")) == election


def test_under_kraft_version_1_the_file_has_no_voters() -> None:
    assert encode_election(Election(3), 1, [1, 2]) == encode_election(Election(3), 1)


@pytest.mark.parametrize(
    "data",
    [
        b'{"leaderId":1,"leaderEpoch":-1,"votedId":-1,'
        b'"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}',
        b'{"leaderId":1,"leaderEpoch":1,"votedId":-1,'
        b'"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAQ","data_version":1}',
        b"",
    ],
)
def test_what_is_no_election_is_told(data: bytes) -> None:
    with pytest.raises(CorruptBatch):
        decode_election(data)
