"""KIP-853, both revisions, and KIP-856: what requests, responses and control records look like.

Where shipped Kafka does something else, the test says what.
"""

from __future__ import annotations

import pytest

from kraftwire.raft.core.effects import Append
from kraftwire.raft.core.messages import vote_request
from kraftwire.raft.metadata_log.batches import ControlRecord, control_batch, controls_of
from kraftwire.raft.metadata_log.log_state import UpToDate
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import ReplicaKey, Voter, encode_voters
from kraftwire_messages import kafka, kip_853, kip_856
from kraftwire_wire.message import Message
from kraftwire_wire.records import ControlType
from kraftwire_wire.registry import Registry

from codec_tests.raft.followers import fetch_answered, follower
from codec_tests.raft.message_fields import fields, tagged
from codec_tests.raft.replicas import (
    CLUSTER,
    ME,
    THREE,
    TWO,
    VOTERS,
    ask,
    elected,
    listeners_of,
    replica_of,
    sent,
    win,
)
from codec_tests.raft.voter_changes import FOUR, begin_request, end_request, removing

# -- requests and responses of the drafts -----------------------------------------------------

IN = "topics.partitions"
VOTE = ["candidate_id", f"{IN}.candidate_uuid", "voter_id", f"{IN}.voter_uuid"]
BEGIN = ["leader_id", "voter_id", f"{IN}.voter_uuid"]
END = [*BEGIN, f"{IN}.preferred_successors.replica_uuid"]


@pytest.mark.parametrize("draft", [kip_853.registry, kip_856.registry], ids=["853", "856"])
@pytest.mark.parametrize(
    ("request_name", "place"),
    [("VoteRequest", place) for place in VOTE]
    + [("BeginQuorumEpochRequest", place) for place in BEGIN]
    + [("EndQuorumEpochRequest", place) for place in END],
)
def test_version_1_of_the_drafts_names_both_replicas(
    draft: Registry, request_name: str, place: str
) -> None:
    """KIP-853 early, Vote, Request 1-4; KIP-856, Vote, Request 1-4;
    KIP-853 early, BeginQuorumEpoch, Request 1-3; KIP-856, BeginQuorumEpoch, Request 1-3;
    KIP-853 early, EndQuorumEpoch, Request 1-4; KIP-856, EndQuorumEpoch, Request 1-4.
    """
    kind = draft.message(request_name)
    assert place in fields(kind, 1) - fields(kind, 0)
    moved = {f"{IN}.leader_id", f"{IN}.candidate_id"}
    assert moved & fields(kind, 0)
    assert not moved & fields(kind, 1)


@pytest.mark.parametrize(
    ("kind", "kept", "added"),
    [
        (kafka.VoteRequest, "replica_id", "voter_directory_id"),
        (kafka.BeginQuorumEpochRequest, "leader_id", "voter_directory_id"),
        (kafka.EndQuorumEpochRequest, "leader_id", "preferred_candidates.candidate_directory_id"),
    ],
)
def test_shipped_version_1_leaves_who_asks_where_it_was(
    kind: type[Message], kept: str, added: str
) -> None:
    """KIP-853 early, Vote, Request 1; KIP-856, BeginQuorumEpoch, Request 1.

    Shipped: and the end of an epoch names no voter, but successors with their directories.
    """
    assert f"{IN}.{kept}" in fields(kind, 0) & fields(kind, 1)
    assert f"{IN}.{added}" in fields(kind, 1) - fields(kind, 0)
    assert ("voter_id" in fields(kind, 1)) == (kind is not kafka.EndQuorumEpochRequest)


@pytest.mark.parametrize(
    "kind",
    [
        kip_853.BeginQuorumEpochRequest,
        kip_856.BeginQuorumEpochRequest,
        kafka.BeginQuorumEpochRequest,
        kip_853.EndQuorumEpochRequest,
        kip_856.EndQuorumEpochRequest,
        kafka.EndQuorumEpochRequest,
    ],
)
def test_version_1_may_have_tagged_fields(kind: type[Message]) -> None:
    """KIP-853 early, BeginQuorumEpoch, Request 4; KIP-853 early, EndQuorumEpoch, Request 5;
    KIP-856, BeginQuorumEpoch, Request 4; KIP-856, EndQuorumEpoch, Request 5.
    """
    assert list(kind.FLEXIBLE_VERSIONS) == [1]


@pytest.mark.parametrize(
    ("kind", "version", "place"),
    [
        (kip_853.FetchResponse, 14, "responses.partitions.current_leader.end_point"),
        (kip_853.FetchSnapshotResponse, 1, f"{IN}.current_leader.end_point"),
        (kip_853.VoteResponse, 1, f"{IN}.leader_end_point"),
        (kip_853.BeginQuorumEpochResponse, 1, f"{IN}.leader_end_point"),
        (kip_853.EndQuorumEpochResponse, 1, f"{IN}.leader_end_point"),
    ],
)
def test_responses_of_the_draft_say_where_the_leader_listens(
    kind: type[Message], version: int, place: str
) -> None:
    """KIP-853 early, Fetch, FetchSnapshot, Vote, Begin- and EndQuorumEpoch, Response.

    Shipped: in node_endpoints of the whole response.
    """
    added = fields(kind, version) - fields(kind, version - 1)
    assert {f"{place}.host", f"{place}.port"} < added
    assert any(place.startswith(name) for name in tagged(kind, version))


def test_a_replica_says_where_the_leader_listens() -> None:
    """KIP-853 early, Vote, BeginQuorumEpoch and EndQuorumEpoch, Response."""
    replica = follower()
    vote = vote_request(CLUSTER, THREE, ME, 3, UpToDate(2, 9))
    for message in (vote, begin_request(), end_request()):
        response = ask(replica, message)
        assert [(one.node_id, one.port) for one in response.node_endpoints] == [(2, 9002)]


# -- control records --------------------------------------------------------------------------


@pytest.mark.parametrize("kraft_version", [0, 1])
def test_kraft_version_does_not_decide_the_version_of_leader_changes(kraft_version: int) -> None:
    """KIP-853, kafka.LeaderChangeMessage and kafka.KRaftVersionRecord. Shipped: it stays 0."""
    replica = replica_of(Election(3), kraft_version=kraft_version)
    win(replica.core, TWO)
    (append,) = [one for one in replica.core.effects if isinstance(one, Append)]
    (_, control), *others = controls_of(append.batch, kafka.registry)
    assert (type(control.message), control.version) == (kafka.LeaderChangeMessage, 0)
    assert bool(others) == bool(kraft_version), "only version 1 has records of voters"
    version_1 = fields(kip_853.LeaderChangeMessage, 1) - fields(kip_853.LeaderChangeMessage, 0)
    assert version_1 == {"voters.voter_uuid", "granting_voters.voter_uuid"}


@pytest.mark.parametrize(("kraft_version", "error"), [(0, 35), (1, None)])
def test_kraft_version_decides_whether_voters_change(kraft_version: int, error: int | None) -> None:
    """KIP-853, kafka.KRaftVersionRecord. Shipped: UNSUPPORTED_VERSION under kraft.version 0."""
    replica = elected(kraft_version=kraft_version)
    response = ask(replica, removing(THREE))
    assert (None if response is None else response.error_code) == error


def test_the_newest_kraft_version_in_the_log_is_in_force() -> None:
    """KIP-853, kafka.KRaftVersionRecord."""
    replica = follower(kraft_version=0)
    (fetch,) = sent(replica.start(), kafka.FetchRequest)
    said = ControlRecord(ControlType.KRAFT_VERSION, kafka.KRaftVersionRecord(kraft_version=1))
    fetch_answered(replica, fetch, control_batch(0, 3, 0, [said]).data)
    assert replica.core.control.kraft_version.last == 1


def test_a_voters_record_has_all_that_is_known_of_the_voters() -> None:
    """KIP-853, kafka.VotersRecord. Shipped: by other names, and without a security protocol."""
    record = encode_voters(VOTERS.adding(Voter(FOUR, listeners_of(4), 0, 1)))
    last = record.voters[-1]
    assert ReplicaKey(last.voter_id, last.voter_directory_id) == FOUR
    assert [(one.name, one.port) for one in last.endpoints] == [("CONTROLLER", 9004)]
    assert last.kraft_version_feature.max_supported_version == 1
    renamed = {"voters.voter_uuid": "voters.voter_directory_id"}
    draft = {
        renamed.get(name, name).replace("end_points", "endpoints").replace("k_raft", "kraft")
        for name in fields(kip_853.VotersRecord, 0)
    }
    assert draft - fields(kafka.VotersRecord, 0) == {"voters.endpoints.security_protocol"}
