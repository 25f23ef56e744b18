"""Servers that answer what a test has written down."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from kraftwire.address import Address
from kraftwire.net.calls import Call
from kraftwire.net.server import Endpoint, Server
from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ApiKey, ErrorCode

HOST = "127.0.0.1"
DIRECTORIES = [UUID(int=number << 64 | 1) for number in range(1, 5)]

_CONTROLLER: dict[int, range] = {
    ApiKey.API_VERSIONS: range(5),
    ApiKey.VOTE: range(1, 3),
    ApiKey.DESCRIBE_QUORUM: range(3),
    ApiKey.DESCRIBE_CLUSTER: range(1, 3),
    ApiKey.ADD_RAFT_VOTER: range(2),
    ApiKey.REMOVE_RAFT_VOTER: range(1),
}
APIS: dict[str, dict[int, range]] = {
    "controller": _CONTROLLER,
    "broker": {key: spoken for key, spoken in _CONTROLLER.items() if key != ApiKey.VOTE},
    "old": {ApiKey.API_VERSIONS: range(5), ApiKey.DESCRIBE_QUORUM: range(1)},
    "strange": {ApiKey.API_VERSIONS: range(5), ApiKey.DESCRIBE_CLUSTER: range(3)},
}

Answer = Callable[[Call], Message | None]


@dataclass
class Node:
    """A server of a quorum, and what it is asked."""

    leads: bool = True
    kind: str = "controller"
    leader: Address | None = None
    """Where it says that the leader is, which has id 1."""
    answers: Mapping[type[Message], Answer] = field(default_factory=dict)
    """What it says in the place of what such nodes say; None leaves a request open."""
    error: int = 0
    """With which error it answers changes."""
    asked: list[Message] = field(default_factory=list)

    def handle(self, call: Call) -> None:
        if not isinstance(call.message, ApiVersionsRequest):
            self.asked.append(call.message)
        answer = self.answers.get(type(call.message), self._answer)(call)
        if answer is not None:
            call.answer(answer)

    def asked_for(self, message: type[Message]) -> int:
        return sum(isinstance(one, message) for one in self.asked)

    def _answer(self, call: Call) -> Message:
        message = call.message
        change_error = self.error if self.leads else ErrorCode.NOT_LEADER_OR_FOLLOWER
        if isinstance(message, ApiVersionsRequest):
            return self._versions()
        if isinstance(message, DescribeQuorumRequest):
            return described(call.version) if self.leads else not_the_leader()
        if isinstance(message, DescribeClusterRequest):
            return self._cluster()
        if isinstance(message, AddRaftVoterRequest):
            return AddRaftVoterResponse(error_code=change_error, error_message="so it is")
        assert isinstance(message, RemoveRaftVoterRequest)
        return RemoveRaftVoterResponse(error_code=change_error, error_message=None)

    def _versions(self) -> ApiVersionsResponse:
        keys = [
            ApiVersionsResponse.ApiVersion(
                api_key=key, min_version=spoken[0], max_version=spoken[-1]
            )
            for key, spoken in APIS[self.kind].items()
        ]
        return ApiVersionsResponse(api_keys=keys)

    def _cluster(self) -> DescribeClusterResponse:
        response = DescribeClusterResponse(cluster_id="the-cluster", controller_id=1)
        if self.leader is not None:
            broker = DescribeClusterResponse.DescribeClusterBroker(
                broker_id=1, host=self.leader.host, port=self.leader.port
            )
            response.brokers.append(broker)
        return response


def not_the_leader() -> DescribeQuorumResponse:
    code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    partition = DescribeQuorumResponse.PartitionData(error_code=code, error_message=None)
    topic = DescribeQuorumResponse.TopicData(partitions=[partition])
    return DescribeQuorumResponse(topics=[topic], error_message=None)


def described(version: int = 2) -> DescribeQuorumResponse:
    """Leader 1 at 100, voter 2 at 90, voter 3 never seen, observer 3 with a new disk, broker 9."""
    state = DescribeQuorumResponse.ReplicaState
    partition = DescribeQuorumResponse.PartitionData(
        leader_id=1, leader_epoch=7, high_watermark=95, error_message=None
    )
    partition.current_voters = [
        state(
            replica_id=number,
            replica_directory_id=DIRECTORIES[number - 1] if version >= 2 else UUID(int=0),
            log_end_offset=end,
            last_fetch_timestamp=at if version else -1,
            last_caught_up_timestamp=at if version else -1,
        )
        for number, end, at in ((1, 100, 5000), (2, 90, 4400), (3, -1, -1))
    ]
    partition.observers = [
        state(
            replica_id=3,
            replica_directory_id=DIRECTORIES[3] if version >= 2 else UUID(int=0),
            log_end_offset=99,
        ),
        state(replica_id=9, log_end_offset=100),
    ]
    topic = DescribeQuorumResponse.TopicData(partitions=[partition])
    node, listener = DescribeQuorumResponse.Node, DescribeQuorumResponse.Listener
    nodes = [
        node(
            node_id=number,
            listeners=[listener(name="CONTROLLER", host=f"host{number}", port=9090 + number)],
        )
        for number in (1, 2, 3)
    ]
    return DescribeQuorumResponse(
        topics=[topic], nodes=nodes if version >= 2 else [], error_message=None
    )


async def start(node: Node) -> tuple[Server, Address]:
    server = Server([Endpoint("CONTROLLER", HOST, 0)], APIS[node.kind], node.handle)
    await server.start()
    return server, Address(HOST, server.ports["CONTROLLER"])


@contextmanager
def running(nodes: Iterable[Node]) -> Iterator[list[str]]:
    """Servers in a thread of their own, for commands; yields their addresses."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    servers = []
    try:
        addresses = []
        for node in nodes:
            started = asyncio.run_coroutine_threadsafe(start(node), loop)
            server, address = started.result(10)
            servers.append(server)
            addresses.append(f"{address.host}:{address.port}")
        yield addresses
    finally:
        for server in servers:
            asyncio.run_coroutine_threadsafe(server.close(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
