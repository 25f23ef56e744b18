"""Finding the leader, and what is told of it; servers answer what is written down here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kraftwire.address import Address
from kraftwire.net.calls import Call
from kraftwire.quorum import admin
from kraftwire.quorum.admin import (
    NoLeader,
    OutcomeUnknown,
    Refused,
    add_voter,
    describe_quorum,
    remove_voter,
)
from kraftwire.raft.state.voters import Listener, ReplicaKey
from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    DescribeClusterRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RemoveRaftVoterRequest,
)
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode

from codec_tests.held_ports import HOST, held_port
from codec_tests.net.servers import in_loop
from codec_tests.quorum.quorums import DIRECTORIES, Node, described, not_the_leader, start

KEY = ReplicaKey(3, DIRECTORIES[3])
LISTENERS = (Listener("CONTROLLER", "host3", 9093),)


@asynccontextmanager
async def serving(*nodes: Node) -> AsyncIterator[list[Address]]:
    """Servers, and where they are; they close at once, whatever is open."""
    started = [await start(node) for node in nodes]
    try:
        yield [address for _, address in started]
    finally:
        for server, _ in started:
            await server.close()


@in_loop
async def test_the_leader_describes_the_quorum() -> None:
    async with serving(Node()) as servers:
        quorum = await describe_quorum(servers)
    assert (quorum.leader_id, quorum.leader_epoch, quorum.high_watermark) == (1, 7, 95)
    assert quorum.cluster_id == "the-cluster"
    one, two, three = quorum.voters
    assert quorum.leader == one
    assert one.directory_id == DIRECTORIES[0]
    assert one.listeners == (Listener("CONTROLLER", "host1", 9091),)
    assert (two.log_end_offset, two.lag, two.last_fetch_timestamp) == (90, 10, 4400)
    assert (three.log_end_offset, three.lag, three.last_caught_up_timestamp) == (None, None, None)
    assert quorum.furthest_behind == three
    new_disk, broker = quorum.observers
    assert (new_disk.replica_id, new_disk.directory_id) == KEY
    assert new_disk.listeners == ()
    assert broker.directory_id is None


@pytest.mark.parametrize(("kind", "endpoints"), [("controller", 2), ("broker", 1)])
def test_the_clusters_id_is_asked_for_among_nodes_of_a_servers_kind(
    kind: str, endpoints: int
) -> None:
    @in_loop
    async def run() -> None:
        node = Node(kind=kind)
        async with serving(node) as servers:
            assert (await describe_quorum(servers)).cluster_id == "the-cluster"
        (asked,) = (one for one in node.asked if isinstance(one, DescribeClusterRequest))
        assert asked.endpoint_type == endpoints

    run()


@in_loop
async def test_an_old_server_tells_neither_directories_nor_its_cluster() -> None:
    async with serving(Node(kind="old")) as servers:
        quorum = await describe_quorum(servers)
    assert quorum.cluster_id is None
    assert {one.directory_id for one in quorum.voters} == {None}
    assert {one.listeners for one in quorum.voters} == {()}


@in_loop
async def test_a_controller_that_does_not_lead_is_asked_who_does() -> None:
    async with serving(Node()) as (leader,):
        follower = Node(leads=False, leader=leader)
        async with serving(follower) as servers:
            assert (await describe_quorum(servers)).leader_id == 1
            await remove_voter(servers, KEY)


@in_loop
async def test_other_servers_are_asked_where_the_first_ones_do_not_lead() -> None:
    nobody = Address(HOST, held_port())
    nodes = [Node(leads=False), Node(leads=False), Node()]
    async with serving(*nodes) as servers:
        assert (await describe_quorum([nobody, *servers])).leader_id == 1


@pytest.mark.slow
@in_loop
async def test_an_election_is_waited_for() -> None:
    answers = iter([not_the_leader(), not_the_leader(), described()])
    electing = Node(answers={DescribeQuorumRequest: lambda call: next(answers)})
    async with serving(electing) as servers:
        assert (await describe_quorum(servers)).leader_id == 1
    assert electing.asked_for(DescribeQuorumRequest) == 3


@pytest.mark.slow
@in_loop
async def test_an_election_is_not_waited_for_for_ever() -> None:
    async with serving(Node(leads=False)) as servers:
        with pytest.raises(NoLeader, match=r"within 0\.7 s: 127.*NOT_LEADER_OR_FOLLOWER"):
            await describe_quorum(servers, timeout_s=0.7)


@pytest.mark.slow
@pytest.mark.parametrize(
    "leader", [Address("a\0b", 9093), Address("x" * 64, 9093), Address("host", 65536)], ids=ascii
)
def test_a_leader_that_nobody_can_connect_to_is_told(leader: Address) -> None:
    @in_loop
    async def run() -> None:
        async with serving(Node(leads=False, leader=leader)) as servers:
            with pytest.raises(NoLeader, match="the leader it names cannot be reached: ") as told:
                await describe_quorum(servers, timeout_s=0.7)
        assert "\0" not in str(told.value)

    run()


@in_loop
async def test_nobody_there_is_told_at_once() -> None:
    nobody = Address(HOST, held_port())
    with pytest.raises(NoLeader, match=f"{nobody.host}:{nobody.port}: Connection refused"):
        await describe_quorum([nobody])


@in_loop
async def test_a_server_that_knows_no_quorums_is_told() -> None:
    async with serving(Node(kind="strange")) as servers:
        with pytest.raises(NoLeader, match="does not speak DescribeQuorumRequest"):
            await describe_quorum(servers)


@pytest.mark.slow
@in_loop
async def test_a_server_that_says_nothing_is_left_when_the_time_is_over() -> None:
    silent = Node(answers={DescribeQuorumRequest: silence})
    async with serving(silent) as servers:
        with pytest.raises(NoLeader, match=r"within 0\.7 s: .*: no answer yet"):
            await describe_quorum(servers, timeout_s=0.7)


@pytest.mark.slow
@in_loop
async def test_a_server_that_is_busy_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long pause of the only server that is known was taken for its absence."""
    monkeypatch.setattr(admin, "_PATIENCE_S", 0.2)
    answers = iter([None, described()])
    busy = Node(answers={DescribeQuorumRequest: lambda call: next(answers) or silence(call)})
    async with serving(busy) as servers:
        assert (await describe_quorum(servers)).leader_id == 1
    assert busy.asked_for(DescribeQuorumRequest) == 2


def silence(call: Call) -> Message | None:
    """Say nothing, and go away after a while: a server that closes waits for answers."""
    asyncio.get_running_loop().call_later(1.0, call.disconnect)
    return None


@in_loop
async def test_a_refusal_is_told_with_its_name() -> None:
    error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    response = DescribeQuorumResponse(error_code=error, error_message="not you")
    node = Node(answers={DescribeQuorumRequest: lambda call: response})
    async with serving(node) as servers:
        with pytest.raises(Refused, match="31 CLUSTER_AUTHORIZATION_FAILED: not you") as caught:
            await describe_quorum(servers)
    assert caught.value.error_code == 31


@in_loop
async def test_an_unheard_of_error_is_told_by_its_number() -> None:
    response = DescribeQuorumResponse(error_code=3000, error_message=None)
    node = Node(answers={DescribeQuorumRequest: lambda call: response})
    async with serving(node) as servers:
        with pytest.raises(Refused, match="3000"):
            await describe_quorum(servers)


@in_loop
async def test_a_response_without_the_partition_is_no_answer() -> None:
    response = DescribeQuorumResponse(error_message=None)
    node = Node(answers={DescribeQuorumRequest: lambda call: response})
    async with serving(node) as servers:
        with pytest.raises(NoLeader, match="0 partitions"):
            await describe_quorum(servers)


@in_loop
async def test_a_voter_is_added_with_its_listeners() -> None:
    node = Node()
    async with serving(node) as servers:
        await add_voter(servers, KEY, LISTENERS, cluster_id="c", timeout_s=7)
    (asked,) = node.asked
    assert isinstance(asked, AddRaftVoterRequest)
    assert (asked.voter_id, asked.voter_directory_id) == KEY
    assert [(one.name, one.host, one.port) for one in asked.listeners] == list(LISTENERS)
    assert (asked.cluster_id, asked.timeout_ms, asked.ack_when_committed) == ("c", 7000, True)


@in_loop
async def test_a_voter_is_removed() -> None:
    node = Node(kind="broker")
    async with serving(node) as servers:
        await remove_voter(servers, KEY)
    (asked,) = node.asked
    assert isinstance(asked, RemoveRaftVoterRequest)
    assert (asked.voter_id, asked.voter_directory_id) == KEY


@in_loop
async def test_a_change_that_is_refused_is_not_tried_again() -> None:
    node = Node(error=ErrorCode.DUPLICATE_VOTER)
    async with serving(node, Node()) as servers:
        with pytest.raises(Refused, match="126 DUPLICATE_VOTER: so it is"):
            await add_voter(servers, KEY, LISTENERS)
    assert node.asked_for(AddRaftVoterRequest) == 1


@in_loop
async def test_a_change_whose_answer_is_lost_is_not_sent_again() -> None:
    def hang_up(call: Call) -> None:
        call.disconnect()

    node, other = Node(answers={AddRaftVoterRequest: hang_up}), Node()
    async with serving(node, other) as servers:
        with pytest.raises(OutcomeUnknown, match="gave no answer"):
            await add_voter(servers, KEY, LISTENERS)
    assert node.asked_for(AddRaftVoterRequest) == 1
    assert not other.asked


@pytest.mark.slow
@in_loop
async def test_a_change_that_is_not_answered_in_time_may_have_been_made() -> None:
    async with serving(Node(answers={RemoveRaftVoterRequest: silence})) as servers:
        with pytest.raises(OutcomeUnknown, match=r"within 0\.7 s"):
            await remove_voter(servers, KEY, timeout_s=0.7)


@in_loop
async def test_a_change_goes_to_the_leader_after_an_election() -> None:
    answers = iter([ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE])
    node = Node(
        answers={AddRaftVoterRequest: lambda call: AddRaftVoterResponse(error_code=next(answers))}
    )
    async with serving(node) as servers:
        await add_voter(servers, KEY, LISTENERS)
    assert node.asked_for(AddRaftVoterRequest) == 2
