"""Where the KIP drafts and what Kafka shipped differ: one test for each row of that table.

The documents' own rules, one by one, are in `test_kip_*`; what the policy kip-856 does is tested
with it.
"""

from __future__ import annotations

from uuid import UUID

import pytest

from kraftwire.log.directories.file_names import FileKind, parse_file_name
from kraftwire.log.segments.segment import read_batches
from kraftwire.log.small_files.properties import decode_meta_properties
from kraftwire.log.small_files.quorum_state import decode_quorum_state
from kraftwire.log.sources.source import BytesSource
from kraftwire.metadata.state.image import MetadataImage
from kraftwire.raft.core.effects import Append, Effect
from kraftwire.raft.core.inputs import Resign, Tick
from kraftwire.raft.core.messages import (
    begin_quorum_epoch_request,
    end_quorum_epoch_request,
    partition_of,
    vote_request,
)
from kraftwire.raft.core.roles import Leader, Resigned
from kraftwire.raft.metadata_log.batches import controls_of
from kraftwire.raft.metadata_log.log_state import UpToDate
from kraftwire.raft.replica import Replica
from kraftwire.raft.self_description.metrics import metrics_of
from kraftwire.raft.state.election_state import Election, decode_election, encode_election
from kraftwire.raft.state.voters import ReplicaKey, encode_voters
from kraftwire_messages import kafka, kip_853, kip_856, kip_951
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode
from kraftwire_wire.records import ControlType
from kraftwire_wire.uuids import format_uuid

from codec_tests.raft.followers import WITHOUT_ME
from codec_tests.raft.message_fields import fields, tagged
from codec_tests.raft.replicas import (
    CLUSTER,
    ME,
    THREE,
    TWO,
    VOTERS,
    ask,
    elected,
    fetched,
    listeners_of,
    replica_of,
    reply_in,
    sent,
    snapshot_request,
    states,
    take_snapshot,
    win,
)
from codec_tests.raft.voter_changes import (
    FOUR,
    adding,
    adding_now,
    error_now,
    flushed,
    newly_elected,
    removing,
    removing_now,
)

OTHER_DISK = ReplicaKey(2, UUID(int=99))
STORAGE_ID = "AAAAAAAAAAAAAAAAAAAAAg"

# -- voters and their changes -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["directory.id", "storage.id"])
def test_a_log_directory_has_a_storage_uuid(name: str) -> None:
    """Its name is directory.id; the draft's is read too."""
    properties = decode_meta_properties(f"version=1\nnode.id=2\n{name}={STORAGE_ID}\n".encode())
    assert properties.directory_id == STORAGE_ID == format_uuid(TWO.directory_id)


def test_a_voter_is_an_id_and_a_uuid() -> None:
    """In a set that is keyed by id: an id is there once, with one directory."""
    assert VOTERS.find(TWO) is not None
    assert VOTERS.find(OTHER_DISK) is None
    assert error_now(elected(), adding(OTHER_DISK)) == ErrorCode.DUPLICATE_VOTER


def controls_in(effects: list[Effect]) -> list[tuple[int, Message]]:
    """The control records that were appended, by their types."""
    return [
        (control.type, control.message)
        for one in effects
        if isinstance(one, Append)
        for _, control in controls_of(one.batch, kafka.registry)
    ]


def test_a_change_is_a_record_of_the_whole_set() -> None:
    """Instead of AddVoterRecord and RemoveVoterRecord."""
    for effects, ids in (
        (removing_now(elected(), THREE), [1, 2]),
        (adding_now(elected()), [1, 2, 3, 4]),
    ):
        ((kind, record),) = controls_in(effects)
        assert kind == ControlType.KRAFT_VOTERS
        assert isinstance(record, kafka.VotersRecord)
        assert [voter.voter_id for voter in record.voters] == ids


def test_one_change_at_a_time_in_force_at_once_and_taken_back_with_the_log() -> None:
    replica = elected()
    end = replica.core.log.end
    adding_now(replica)
    assert error_now(replica, removing(TWO)) == ErrorCode.REQUEST_TIMED_OUT
    assert FOUR in replica.core.voters.keys
    replica.core.become_follower(9, 2, listeners_of(2))
    replica.core.truncate(end)
    assert replica.core.voters.keys == VOTERS.keys


def test_a_change_waits_for_the_leader_change_of_the_epoch() -> None:
    """Until that is committed, the answer is REQUEST_TIMED_OUT."""
    replica = newly_elected()
    assert error_now(replica, removing(THREE)) == ErrorCode.REQUEST_TIMED_OUT
    fetched(replica, TWO)
    assert error_now(replica, removing(THREE)) is None


def test_a_change_does_not_wait_for_the_one_before_but_is_refused() -> None:
    """And so is a replica that has not caught up: at once, with REQUEST_TIMED_OUT."""
    replica = elected()
    removing_now(replica, THREE)
    assert error_now(replica, adding()) == ErrorCode.REQUEST_TIMED_OUT


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (adding(TWO), ErrorCode.DUPLICATE_VOTER),
        (removing(FOUR), ErrorCode.VOTER_NOT_FOUND),
        (removing(OTHER_DISK), ErrorCode.VOTER_NOT_FOUND),
    ],
    ids=["already added", "already removed", "not that disk"],
)
def test_errors_of_changes(message: Message, error: ErrorCode) -> None:
    assert error_now(elected(), message) == error


def granted(replica: Replica, candidate: ReplicaKey) -> bool:
    message = vote_request(CLUSTER, candidate, ME, 4, UpToDate(3, 9))
    return bool(partition_of(ask(replica, message)).vote_granted)


def test_votes_do_not_depend_on_who_is_a_voter() -> None:
    assert granted(replica_of(Election(3)), FOUR)
    assert granted(replica_of(Election(3), voters=WITHOUT_ME), TWO)


def test_a_removed_leader_is_not_counted_serves_on_and_resigns_after_the_commit() -> None:
    replica = elected()
    snapshot, _ = take_snapshot(replica)
    removing_now(replica, ME)
    flushed(replica)
    before = replica.core.committed
    assert partition_of(reply_in(fetched(replica, TWO), "fetch")).error_code == 0
    assert partition_of(ask(replica, snapshot_request(snapshot))).error_code == 0
    assert (replica.core.committed, isinstance(replica.core.role, Leader)) == (before, True)
    fetched(replica, THREE)
    assert replica.core.committed > before
    assert isinstance(replica.core.role, Resigned)


def test_a_failed_disk_is_removed_before_the_new_one_is_added() -> None:
    """The draft adds first."""
    replica = elected()
    assert error_now(replica, adding(OTHER_DISK)) == ErrorCode.DUPLICATE_VOTER
    assert error_now(replica, removing(TWO)) is None


def test_a_quorum_is_described_with_the_dead_voter_and_the_new_observer() -> None:
    replica = elected()
    fetched(replica, OTHER_DISK)
    voters, observers = states(replica)
    keys = [ReplicaKey(one.replica_id, one.replica_directory_id) for one in (*voters, *observers)]
    assert keys == [ME, TWO, THREE, OTHER_DISK]


# -- what is kept -----------------------------------------------------------------------------


def test_a_vote_is_kept_with_its_directory_and_without_the_voters() -> None:
    """votedDirectoryId is VotedUuid in the draft."""
    message = decode_quorum_state(encode_election(Election(4, None, TWO), 1, [1, 2])).message
    assert (message.voted_id, message.voted_directory_id) == TWO
    assert not message.current_voters


def test_kraft_version_and_voters_have_record_types() -> None:
    """And a voter's endpoints have no security protocol any more."""
    assert (ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS) == (5, 6)
    protocol = "voters.endpoints.security_protocol"
    assert protocol in {
        name.replace("end_points", "endpoints") for name in fields(kip_853.VotersRecord, 0)
    }
    assert protocol not in fields(kafka.VotersRecord, 0)


@pytest.mark.parametrize(
    ("kraft_version", "error"), [(0, ErrorCode.UNSUPPORTED_VERSION), (1, None)]
)
def test_kraft_version_decides_whether_voters_change(
    kraft_version: int, error: ErrorCode | None
) -> None:
    """Not which LeaderChangeMessage is written, as in the draft."""
    replica = elected(kraft_version=kraft_version)
    assert error_now(replica, removing(THREE)) == error


def test_a_snapshot_has_the_voters_behind_its_header() -> None:
    """In one record; the draft says twice, and differently, which of its records it has."""
    _, content = take_snapshot(elected())
    first = next(iter(read_batches(BytesSource(content, "snapshot"))))
    kinds = [control.type for _, control in controls_of(first, kafka.registry)]
    assert kinds == [
        ControlType.SNAPSHOT_HEADER,
        ControlType.KRAFT_VERSION,
        ControlType.KRAFT_VOTERS,
    ]


def test_ids_that_are_not_configured_come_and_go() -> None:
    """Under kraft.version 1; the drafts refuse them."""
    replica = elected(static_voters=VOTERS.removing(THREE))
    adding_now(replica)
    flushed(replica)
    for key in (TWO, FOUR):
        fetched(replica, key)
    assert error_now(replica, removing(TWO)) is None


DRAFT_STATE = (
    b'{"clusterId":"c","leaderId":-1,"leaderEpoch":4,"votedId":2,'
    b'"votedUuid":"AAAAAAAAAAAAAAAAAAAAAg","appliedOffset":0,"data_version":1}'
)


def test_the_quorum_state_of_the_draft_is_read() -> None:
    """Its file is quorum-state.json; ours is quorum-state."""
    for name in ("quorum-state", "quorum-state.json"):
        file = parse_file_name(name)
        assert file is not None
        assert file.kind is FileKind.QUORUM_STATE
    assert decode_election(DRAFT_STATE) == Election(4, None, TWO)


# -- requests and responses -------------------------------------------------------------------


def test_a_request_for_another_replica_is_refused_with_its_own_error() -> None:
    """INVALID_VOTER_KEY; INVALID_REQUEST in the drafts."""
    replica = replica_of(Election(3))
    for message in (
        vote_request(CLUSTER, TWO, THREE, 4, UpToDate(3, 9)),
        begin_quorum_epoch_request(CLUSTER, 2, THREE, 4, listeners_of(2)),
    ):
        assert partition_of(ask(replica, message)).error_code == ErrorCode.INVALID_VOTER_KEY


def test_epochs_begin_and_end_for_those_that_are_no_voters_too() -> None:
    """NOT_VOTER in the drafts."""
    replica = replica_of(Election(3), voters=WITHOUT_ME)
    for message in (
        begin_quorum_epoch_request(CLUSTER, 2, ME, 4, listeners_of(2)),
        end_quorum_epoch_request(CLUSTER, 2, 4, [THREE], ()),
    ):
        assert partition_of(ask(replica, message)).error_code == ErrorCode.NONE


def test_only_leaders_end_an_epoch() -> None:
    """Candidates too in the draft, with no leader and with their id."""
    replica = replica_of(Election(3))
    replica.core.become_prospective()
    replica.core.become_candidate()
    effects = replica.step(replica.core.now, Resign())
    assert sent(effects, kafka.EndQuorumEpochRequest) == []
    message = end_quorum_epoch_request(CLUSTER, -1, 4, [], ())
    assert partition_of(ask(replica, message)).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "kind",
    [
        kip_853.AddVoterRequest,
        kip_853.RemoveVoterRequest,
        kip_856.AddVoterRequest,
        kip_856.RemoveVoterRequest,
        kafka.AddRaftVoterRequest,
        kafka.RemoveRaftVoterRequest,
    ],
)
def test_brokers_take_voter_changes_to_forward_them(kind: type[Message]) -> None:
    assert "broker" in kind.LAYOUT.listeners


def test_the_control_records_of_a_log_can_be_shown() -> None:
    """By `kraftwire metadata`, whose image takes them in."""
    image = MetadataImage()
    image.apply(encode_voters(VOTERS))
    assert sorted(image.voters) == [1, 2, 3]


IN = "topics.partitions"


@pytest.mark.parametrize(
    ("kind", "version", "place", "is_tagged"),
    [
        (kafka.FetchRequest, 17, f"{IN}.replica_directory_id", True),
        (kafka.FetchSnapshotRequest, 1, f"{IN}.replica_directory_id", True),
        (kafka.VoteRequest, 1, f"{IN}.replica_directory_id", False),
        (kafka.VoteRequest, 1, f"{IN}.voter_directory_id", False),
        (kafka.BeginQuorumEpochRequest, 1, f"{IN}.voter_directory_id", False),
        (
            kafka.EndQuorumEpochRequest,
            1,
            f"{IN}.preferred_candidates.candidate_directory_id",
            False,
        ),
    ],
)
def test_requests_have_the_directories_of_replicas(
    kind: type[Message], version: int, place: str, is_tagged: bool
) -> None:
    """As replica, voter and candidate uuids in the drafts."""
    assert place in fields(kind, version) - fields(kind, version - 1)
    assert (place in tagged(kind, version)) == is_tagged


def test_responses_say_where_new_leaders_listen() -> None:
    """In node_endpoints of Fetch 16 and Produce 10; in each partition in the draft."""
    for kind, version in ((kafka.FetchResponse, 16), (kafka.ProduceResponse, 10)):
        assert "node_endpoints" in tagged(kind, version) - tagged(kind, version - 1)
    place = "responses.partitions.current_leader_broker"
    assert place in tagged(kip_951.FetchResponse, 15)
    snapshot, leader = (
        next(
            one.tag for one in kip_951.FetchResponse.PartitionData.LAYOUT.fields if one.name == name
        )
        for name in ("snapshot_id", "current_leader_broker")
    )
    assert (snapshot, leader) == (2, 3), "both have tag 2 in the document"


# -- leaders ----------------------------------------------------------------------------------


def test_a_leader_without_a_majority_resigns() -> None:
    """After 1.5 times the fetch timeout, and asks first before it stands again."""
    replica = elected()
    replica.step(8000, Tick())
    assert isinstance(replica.core.role, Resigned)
    effects = replica.step(10_000, Tick())
    asked = [partition_of(one.message).pre_vote for one in sent(effects, kafka.VoteRequest)]
    assert asked == [True, True]


def test_the_first_leader_writes_the_voters_of_the_bootstrap_checkpoint() -> None:
    """In one batch with its LeaderChangeMessage; the draft has a batch of AddVoterRecords."""
    replica = replica_of(Election(0))
    assert replica.core.voters == VOTERS
    win(replica.core, TWO)
    kinds = [kind for kind, _ in controls_in(replica.core.effects)]
    assert kinds == [ControlType.LEADER_CHANGE, ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS]
    assert len([one for one in replica.core.effects if isinstance(one, Append)]) == 1


@pytest.mark.parametrize(
    "name",
    [
        "number-of-voters",
        "number-of-observers",
        "uncommitted-voter-change",
        "number-of-possible-voters",
        "pending-add-voter",
        "pending-remove-voter",
    ],
)
def test_metrics_of_both(name: str) -> None:
    assert name in metrics_of(elected().core)
