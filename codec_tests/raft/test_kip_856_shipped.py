"""KIP-856, disk failure recovery: what shipped Kafka has kept of it, beside its requests.

Requests are in `test_kip_853` and `test_kip_853_voters`, whose tests name both documents. What
only the policy kip-856 does, and Kafka does not, is tested with that policy. Where Kafka does
the same by other means, the test says what.
"""

from __future__ import annotations

import json
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.log.segments.segment import read_batches
from kraftwire.log.small_files.properties import (
    MetaProperties,
    decode_meta_properties,
    encode_meta_properties,
)
from kraftwire.log.sources.source import BytesSource
from kraftwire.raft.core.effects import Committed
from kraftwire.raft.core.inputs import Flushed, Propose, Request, Tick
from kraftwire.raft.core.messages import vote_request
from kraftwire.raft.core.roles import Follower, Leader, Prospective, Resigned, Unattached
from kraftwire.raft.metadata_log.batches import ControlRecord, control_batch
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.log_state import UpToDate
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.replica import Replica
from kraftwire.raft.self_description.api_versions import APIS
from kraftwire.raft.self_description.metrics import metrics_of
from kraftwire.raft.state.config import Config
from kraftwire.raft.state.election_state import Election, encode_election
from kraftwire.raft.state.voters import NO_VOTERS, ReplicaKey, Voter, VoterSet, encode_voters
from kraftwire_messages import kip_856
from kraftwire_messages.kafka import FetchRequest, QuorumStateData
from kraftwire_wire.numbers import ApiKey, ErrorCode
from kraftwire_wire.records import ControlType
from kraftwire_wire.uuids import format_uuid

from codec_tests.raft.followers import WITHOUT_ME, Following, fetch_answered, follower, piece, role
from codec_tests.raft.message_fields import fields
from codec_tests.raft.replicas import (
    CLUSTER,
    LISTENER,
    ME,
    THREE,
    TWO,
    VOTERS,
    ask,
    elected,
    fetched,
    lead,
    listeners_of,
    reply_in,
    sent,
    states,
    take_snapshot,
)
from codec_tests.raft.voter_changes import (
    FOUR,
    adding,
    answered,
    begun,
    flushed,
    removing,
    versions,
)


def voters_said(voters: VoterSet) -> bytes:
    """The first batch of a log, which says a voter set."""
    said = ControlRecord(ControlType.KRAFT_VOTERS, encode_voters(voters))
    return control_batch(0, 3, 0, [said]).data


def told(replica: Replica, voters: VoterSet) -> None:
    """Let a follower of replica 2 fetch a voter set, which is not committed."""
    (fetch,) = sent(replica.start(), FetchRequest)
    fetch_answered(replica, fetch, voters_said(voters))
    assert replica.core.committed == 0


# -- Voter Changes ----------------------------------------------------------------------------


def test_a_replica_that_reads_that_a_voter_was_added_has_it_in_its_set_at_once() -> None:
    """KIP-856, AddVoter Voters; KIP-856, AddVoterRecord, Handling."""
    replica = follower()
    told(replica, VOTERS.adding(Voter(FOUR, listeners_of(4))))
    assert FOUR in replica.core.voters.keys


def test_a_replica_that_reads_that_a_voter_was_removed_has_it_no_more_at_once() -> None:
    """KIP-856, RemoveVoter Voters; KIP-856, RemoveVoterRecord, Handling."""
    replica = follower()
    told(replica, VOTERS.removing(THREE))
    assert THREE not in replica.core.voters.keys


def test_one_change_comes_after_the_other() -> None:
    """KIP-856, AddVoter Voters. Shipped: who asks while one is pending has to ask again."""
    replica = elected()
    question = begun(replica)
    assert ask(replica, removing(THREE)).error_code == ErrorCode.REQUEST_TIMED_OUT, "it is asked"
    answered(replica, question, versions())
    assert ask(replica, removing(THREE)).error_code == ErrorCode.REQUEST_TIMED_OUT, "it is added"
    flushed(replica)
    fetched(replica, TWO)
    fetched(replica, FOUR)
    assert ask(replica, removing(THREE)) is None


def test_followers_go_on_fetching_from_a_leader_that_is_no_voter_any_more() -> None:
    """KIP-856, RemoveVoter Voters."""
    replica = follower()
    (fetch,) = sent(replica.start(), FetchRequest)
    effects = fetch_answered(replica, fetch, voters_said(VOTERS.removing(TWO)))
    assert [one.address.port for one in sent(effects, FetchRequest)] == [9002]


def test_a_voter_stands_when_no_fetch_was_answered_in_time() -> None:
    """KIP-856, RemoveVoter Voters."""
    replica = follower()
    replica.step(6999, Tick())
    assert isinstance(replica.core.role, Follower)
    replica.step(7000, Tick())
    assert isinstance(replica.core.role, Prospective)


# -- High Watermark ---------------------------------------------------------------------------


def test_the_high_watermark_does_not_fall_with_the_voters() -> None:
    """KIP-856, High Watermark."""
    replica = elected()
    for number in range(3):
        replica.step(5000, Propose(number, [b"value"]))
    flushed(replica)
    fetched(replica, TWO)
    before = replica.core.committed
    ask(replica, removing(TWO))
    behind = lead(replica).progress[THREE].end_offset
    assert behind is not None
    assert behind < before == replica.core.committed == lead(replica).high_watermark
    fetched(replica, THREE, behind + 1)
    assert replica.core.committed == before


def test_the_high_watermark_of_a_follower_does_not_fall_with_its_leaders() -> None:
    """KIP-856, High Watermark."""
    node = Following()
    node.answer_fetch(records=b"", high_watermark=2)
    assert Committed(2) in node.done
    node.answer_fetch(records=b"", high_watermark=1)
    assert node.replica.core.committed == 2
    assert not [one for one in node.done if isinstance(one, Committed)]


@given(st.lists(st.sampled_from(["two", "three", "four", "add", "remove", "propose"])))
def test_whatever_becomes_of_the_voters_the_high_watermark_does_not_fall(steps: list[str]) -> None:
    """KIP-856, High Watermark."""
    replica = elected()
    keys = {"two": TWO, "three": THREE, "four": FOUR}
    for step in steps:
        before = replica.core.committed
        if step in keys:
            fetched(replica, keys[step], min(before + 1, replica.core.log.end))
        elif step == "propose":
            replica.step(5000, Propose("p", [b"value"]))
            replica.step(5000, Flushed(replica.core.log.end))
        elif lead(replica).pending is None:
            ask(replica, adding() if step == "add" else removing(TWO))
        assert replica.core.committed >= before
        assert lead(replica).high_watermark == replica.core.committed


# -- Snapshots, Internal Listener -------------------------------------------------------------


def test_a_snapshot_says_who_the_voters_are() -> None:
    """KIP-856, Snapshots. Shipped: by one record that has them all."""
    snapshot, content = take_snapshot(elected())
    state = ControlState(NO_VOTERS)
    state.load(snapshot, read_batches(BytesSource(content, "snapshot")))
    assert state.voters.last.keys == VOTERS.keys


def test_voters_that_are_not_committed_are_read_from_the_log_at_the_start() -> None:
    """KIP-856, Internal Listener; KIP-856, AddVoterRecord, Handling."""
    store = MemoryStore(VOTERS)
    store.log += voters_said(WITHOUT_ME)
    replica = Replica(Config(key=ME), store.recover(), Random(1), 0)
    assert (replica.core.voters, replica.core.committed) == (WITHOUT_ME, 0)


def test_voters_are_read_from_snapshots_that_are_fetched() -> None:
    """KIP-856, Internal Listener; KIP-856, AddVoterRecord, Handling."""
    node = Following()
    node.name()
    assert node.replica.core.voters != VOTERS
    node.answer(piece(0))
    assert node.replica.core.voters == VOTERS


def test_what_is_truncated_is_taken_back() -> None:
    """KIP-856, Internal Listener."""
    replica = follower()
    told(replica, WITHOUT_ME)
    replica.core.truncate(0)
    assert replica.core.voters == VOTERS


# -- AddVoterRecord, RemoveVoterRecord, Handling ----------------------------------------------


def test_an_observer_that_is_added_stands_when_its_fetch_timer_is_over() -> None:
    """KIP-856, AddVoterRecord, Handling."""
    replica = follower(WITHOUT_ME)
    told(replica, VOTERS)
    replica.step(7000, Tick())
    assert isinstance(replica.core.role, Prospective)


def test_an_observer_does_not_stand() -> None:
    """KIP-856, AddVoterRecord, Handling."""
    replica = follower(WITHOUT_ME)
    replica.step(60_000, Tick())
    assert isinstance(replica.core.role, Unattached)
    assert (replica.core.epoch, replica.core.leader_id) == (3, 2)


def test_a_fetch_that_is_answered_sets_the_fetch_timer() -> None:
    """KIP-856, AddVoterRecord, Handling."""
    replica = follower()
    (fetch,) = sent(replica.start(), FetchRequest)
    replica.core.now = 6000
    fetch_answered(replica, fetch)
    assert role(replica).fetch_deadline == 8000


def test_a_piece_of_a_snapshot_sets_the_fetch_timer() -> None:
    """KIP-856, AddVoterRecord, Handling."""
    node = Following()
    node.name()
    node.answer(piece(0, 100), more_ms=700)
    assert node.follower.fetch_deadline == 7700


def removed_leader() -> Replica:
    """A leader that is no voter any more, which is not committed."""
    replica = elected()
    ask(replica, removing(ME))
    assert isinstance(replica.core.role, Leader)
    return replica


def test_a_leader_that_is_removed_stays_until_that_is_committed() -> None:
    """KIP-856, RemoveVoterRecord, Handling."""
    replica = removed_leader()
    fetched(replica, TWO)
    assert isinstance(replica.core.role, Leader)
    fetched(replica, THREE)
    assert isinstance(replica.core.role, Resigned)


def test_a_leader_that_is_removed_stays_until_there_is_a_later_epoch() -> None:
    """KIP-856, RemoveVoterRecord, Handling."""
    replica = removed_leader()
    message = vote_request(CLUSTER, TWO, ME, 9, UpToDate(4, 99))
    replica.step(5000, Request("vote", message, 2, LISTENER))
    assert replica.core.voted == TWO


# -- LeaderChangeMessage, Quorum State, meta.properties ---------------------------------------


def test_a_leader_change_may_have_the_directories_of_voters() -> None:
    """KIP-856, LeaderChangeMessage. Shipped: there is room for them, and they are not written."""
    draft = kip_856.LeaderChangeMessage
    names = {"voters.voter_uuid", "granting_voters.voter_uuid"}
    assert fields(draft, 1) - fields(draft, 0) == names


def test_the_directory_of_a_vote_is_kept() -> None:
    """KIP-856, Quorum State. Shipped: as votedDirectoryId."""
    kept = json.loads(encode_election(Election(4, None, TWO), 1))
    assert (kept["votedId"], kept["votedDirectoryId"]) == (2, format_uuid(TWO.directory_id))
    draft = kip_856.QuorumStateData
    assert fields(draft, 1) - fields(draft, 0) == {"voted_uuid"}


def test_the_voters_are_not_kept_with_the_vote() -> None:
    """KIP-856, Quorum State."""
    assert "currentVoters" not in json.loads(encode_election(Election(4), 1, [1, 2, 3]))
    for kind in (kip_856.QuorumStateData, QuorumStateData):
        assert "current_voters" in fields(kind, 0) - fields(kind, 1)


def test_the_id_of_a_log_directory_is_in_its_meta_properties() -> None:
    """KIP-856, Log Directory Storage UUID. Shipped: as directory.id."""
    properties = MetaProperties(1, CLUSTER, 1, format_uuid(ME.directory_id))
    content = encode_meta_properties(properties)
    assert b"directory.id=AAAAAAAAAAAAAAAAAAAAAQ\n" in content
    assert decode_meta_properties(content) == properties


# -- Disk Failure Recovery Scenario -----------------------------------------------------------

NEW_DISK = ReplicaKey(3, UUID(int=33))


def described(replica: Replica) -> tuple[list[ReplicaKey], list[ReplicaKey]]:
    """The keys of voters and observers, as DescribeQuorum tells them."""
    voters, observers = states(replica)
    return (
        [ReplicaKey(one.replica_id, one.replica_directory_id) for one in voters],
        [ReplicaKey(one.replica_id, one.replica_directory_id) for one in observers],
    )


def test_a_replica_with_a_new_disk_takes_the_place_of_the_one_with_the_old() -> None:
    """KIP-856, Disk Failure Recovery Scenario. Shipped: the old one is removed first."""
    replica = elected()
    for now in (7000, 7020):  # what replica 3 was asked is given up, and the pause behind that over
        replica.step(now, Tick())
    fetched(replica, NEW_DISK)
    assert described(replica) == ([ME, TWO, THREE], [NEW_DISK])
    assert ask(replica, adding(NEW_DISK)).error_code == ErrorCode.DUPLICATE_VOTER
    assert ask(replica, removing(THREE)) is None
    flushed(replica)
    assert reply_in(fetched(replica, TWO)).error_code == ErrorCode.NONE
    answered(replica, begun(replica, adding(NEW_DISK)), versions())
    flushed(replica)
    assert reply_in(fetched(replica, NEW_DISK)).error_code == ErrorCode.NONE
    assert described(replica)[0] == [ME, TWO, NEW_DISK]


# -- Monitoring, Compatibility ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number-of-voters", 2),
        ("number-of-possible-voters", 2),
        ("pending-add-voter", 0),
        ("pending-remove-voter", 1),
    ],
)
def test_metrics_of_voters(name: str, value: int) -> None:
    """KIP-856, Monitoring. Shipped: number-of-observers and uncommitted-voter-change too."""
    replica = elected()
    ask(replica, removing(THREE))
    fetched(replica, FOUR)
    assert metrics_of(replica.core)[name] == value


def test_a_replica_speaks_versions_with_directories_alone() -> None:
    """KIP-856, Compatibility."""
    for key in (ApiKey.VOTE, ApiKey.BEGIN_QUORUM_EPOCH, ApiKey.FETCH_SNAPSHOT):
        assert min(APIS[key]) == 1
    assert min(APIS[ApiKey.FETCH]) == 17
