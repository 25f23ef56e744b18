"""What the stranger sends, and that its runs can be replayed from their steps."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from uuid import UUID

import pytest

from kraftwire.log.directories.partition import METADATA_TOPIC
from kraftwire.raft.core.messages import partition_of, vote_request
from kraftwire.raft.metadata_log.log_state import UpToDate
from kraftwire.raft.state.bounds import MAX_EPOCH
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import ReplicaKey, VoterSet
from kraftwire.simulation.forged_requests import draw_request
from kraftwire.simulation.ledger import RuleViolation
from kraftwire.simulation.network import STRANGER, Token
from kraftwire.simulation.replay import replay
from kraftwire.simulation.run import simulate
from kraftwire.simulation.scenario import draw_scenario
from kraftwire.simulation.scheduler import Scheduler
from kraftwire.simulation.steps import Action, Step
from kraftwire.simulation.transcript import format_transcript, parse_transcript
from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    FetchRequest,
    UpdateRaftVoterRequest,
    VoteRequest,
    VoteResponse,
)

from codec_tests.raft.replicas import VOTERS, elected

LAST = (1 << 31) - 1
NODES = range(1, 6)


def test_it_asks_everything_with_every_epoch() -> None:
    core = elected().core
    drawn = [draw_request(number, core, NODES) for number in range(5000)]
    kinds = Counter(type(one).__name__ for one in drawn)
    assert len(kinds) == 11
    votes = [partition_of(one) for one in drawn if isinstance(one, VoteRequest)]
    assert {one.pre_vote for one in votes} == {True, False}
    epochs = {one.replica_epoch for one in votes}
    assert {-LAST - 1, 0, core.epoch, core.epoch + 1, MAX_EPOCH + 1, LAST} <= epochs
    assert {one.replica_id for one in votes} >= {-1, 0, 1, 2, 3, 99, LAST}
    assert {(1 << 63) - 1, -1, core.log.end} <= {one.last_offset for one in votes}


def test_a_number_stands_for_one_request() -> None:
    core = elected().core
    assert draw_request(7, core, NODES) == draw_request(7, core, NODES)


def test_it_does_not_fetch_as_a_voter() -> None:
    """Such a fetch looks like the voter's own and would count as an acknowledgement."""
    for voters in (VOTERS, VoterSet(one._replace(key=ReplicaKey(one.id)) for one in VOTERS)):
        core = elected(voters=voters, kraft_version=0).core
        drawn = [draw_request(number, core, NODES) for number in range(5000)]
        fetches = [one for one in drawn if isinstance(one, FetchRequest)]
        assert fetches
        for one in fetches:
            state, partition = one.replica_state, partition_of(one)
            assert state is not None
            key = ReplicaKey(state.replica_id, partition.replica_directory_id)
            assert core.voters.find(key) is None
        changed = [
            ReplicaKey(one.voter_id, one.voter_directory_id)
            for one in drawn
            if isinstance(one, AddRaftVoterRequest | UpdateRaftVoterRequest)
        ]
        assert changed
        assert not any(core.voters.find(key) for key in changed)
        assert {key.directory_id for key in changed} == {UUID(int=0), UUID(int=99)}


@pytest.mark.slow
def test_its_steps_determine_a_run() -> None:
    run = simulate(3, 2000, stranger=True)
    assert run.violation is None
    assert any(step.action is Action.STRANGER for step in run.steps)
    again = replay(run.scenario, run.steps)
    assert (again.steps, again.violation) == (run.steps, None)


def test_a_transcript_shows_its_requests_and_parses() -> None:
    scenario = draw_scenario(3, stranger=True)
    steps = [Step(0, Action.START, 1), *(Step(9, Action.STRANGER, 1, value=n) for n in range(50))]
    text = format_transcript("a stranger", scenario, steps)
    kept = parse_transcript(text)
    assert (kept.scenario, kept.steps) == (scenario, steps)
    assert "\n9 stranger 1 #7\n    " in text
    assert "VoteRequest(" in text


VOTES_AGAIN = """\
seed = 20140
voters = 6
observers = 0
bootstrap = "static"
membership = "shipped"
faults = {"loss": 0.0, "repeat": 0.1, "late": 0.0, "crash": 0.001, "pause_ms": 300}
work_ms = 100
changes = 0.5
rates = [983, 1015, 1010, 980, 1043, 953]
old = [1, 3]
stranger_ms = 20
0 start 3
0 start 5
1 deliver 3<5
2 deliver 5<3
3493 tick 3
3504 deliver 3<5
3725 shutdown 5
10119 deliver 5<3
12640 start 5
13096 stranger 5 #681650088
"""
"""Node 5 votes for node 3, restarts, and votes for 3 again, now without a directory id."""


def test_a_vote_may_be_granted_again_to_an_id_alone() -> None:
    kept = parse_transcript(VOTES_AGAIN)
    found = replay(kept.scenario, kept.steps)
    assert (len(found.steps), found.violation) == (10, None)


@pytest.mark.parametrize(
    ("kraft_version", "candidate", "is_one_vote"),
    [
        (0, ReplicaKey(3), True),
        (0, ReplicaKey(3, UUID(int=99)), True),
        (0, ReplicaKey(2, UUID(int=2)), False),
        (1, ReplicaKey(3), False),
        (1, ReplicaKey(3, UUID(int=99)), False),
    ],
)
def test_votes_are_the_same_if_the_disk_cannot_distinguish_them(
    kraft_version: int, candidate: ReplicaKey, is_one_vote: bool
) -> None:
    world = Scheduler(draw_scenario(3), is_quiet=True).world
    node = world.nodes[1]
    first = ReplicaKey(3, UUID(int=3))
    node.store.save_election(Election(1, None, first), kraft_version)

    def grant(key: ReplicaKey) -> None:
        asked = vote_request(None, key, node.config.key, 1, UpToDate(0, 0))
        partition = VoteResponse.PartitionData(leader_id=-1, leader_epoch=1, vote_granted=True)
        topic = VoteResponse.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        response = VoteResponse(topics=[topic])
        world.ledger.check_reply(node, Token(STRANGER, 0, 0, asked), response)

    grant(first)
    with (
        nullcontext() if is_one_vote else pytest.raises(RuleViolation, match="one vote in an epoch")
    ):
        grant(candidate)


def test_a_removed_voter_follows_a_leader_that_it_does_not_know() -> None:
    """The seed that showed this; `raft.test_candidacy` tests the replica."""
    assert simulate(20270, stranger=True).violation is None


def test_scenarios_without_it_are_unchanged() -> None:
    assert draw_scenario(3).stranger_ms == 0
    assert "stranger" not in format_transcript("none", draw_scenario(3), [])
