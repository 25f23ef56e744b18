"""Describes a quorum, and adds and removes voters, over asyncio.

    quorum = await describe_quorum([Address("localhost", 9093)])
    await remove_voter([Address("localhost", 9093)], ReplicaKey(3, lost_directory))

The servers are controllers, of which only the leader answers, or brokers, which forward requests.
They are asked one after another; if a controller names another leader, that one is asked next. The
search waits for an election, and fails immediately if it can reach no server. A change that was
sent but not answered is never sent again: ask `describe_quorum` whether it was made.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar, cast

from kraftwire.address import Address
from kraftwire.log.directories.partition import METADATA_TOPIC
from kraftwire.net.client import Connection
from kraftwire.net.errors import BadAddress, NoCommonVersion
from kraftwire.net.security import PLAINTEXT, ClientSecurity
from kraftwire.quorum.status import Quorum, ReplicaStatus, quorum_of
from kraftwire.raft.state.voters import Listener, ReplicaKey
from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from kraftwire_wire.errors import DecodeError, KraftwireError
from kraftwire_wire.numbers import ApiKey, ErrorCode

__all__ = [
    "NoLeader",
    "OutcomeUnknown",
    "Quorum",
    "Refused",
    "ReplicaStatus",
    "add_voter",
    "describe_quorum",
    "remove_voter",
]

T = TypeVar("T")

TIMEOUT_S = 30.0
_PATIENCE_S = 5.0
"""How long one server may take before the next is asked."""
_PAUSE_S = 0.2
_BROKERS, _CONTROLLERS = 1, 2
_NOT_THE_LEADER = (
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.NOT_CONTROLLER,
)


class Refused(KraftwireError):
    """The quorum answered with an error."""

    def __init__(self, error_code: int, reason: str | None) -> None:
        super().__init__(error_code, reason)
        self.error_code = error_code
        self.reason = reason

    def __str__(self) -> str:
        known = self.error_code in list(ErrorCode)
        name = f"{self.error_code} {ErrorCode(self.error_code).name}" if known else self.error_code
        return f"the quorum refuses: {name}" + (f": {self.reason}" if self.reason else "")


class NoLeader(KraftwireError):
    """No server leads, or knows a leader that can be reached."""

    def __init__(self, when: str, outcomes: dict[Address, str]) -> None:
        """`outcomes` has the answer or error of each server."""
        super().__init__(when, outcomes)
        self.when = when
        self.outcomes = outcomes

    def __str__(self) -> str:
        each = "; ".join(
            f"{host}:{port}: {outcome.removeprefix(f'{host}:{port}: ')}"
            for (host, port), outcome in self.outcomes.items()
        )
        return f"no leader {self.when}: {each}"


class OutcomeUnknown(KraftwireError):
    """A change was sent, but not answered: describe the quorum to see whether it was made."""


async def describe_quorum(
    servers: Sequence[Address],
    *,
    security: ClientSecurity = PLAINTEXT,
    timeout_s: float = TIMEOUT_S,
) -> Quorum:
    """Return the quorum's state; raise `NoLeader`, `Refused`, or what `Connection.open` raises."""

    async def describe(connection: Connection) -> Quorum:
        async with asyncio.timeout(_PATIENCE_S):
            partition = DescribeQuorumRequest.PartitionData()
            topic = DescribeQuorumRequest.TopicData(
                topic_name=METADATA_TOPIC, partitions=[partition]
            )
            answer = await connection.ask(DescribeQuorumRequest(topics=[topic]))
            response = cast(DescribeQuorumResponse, answer)
            return quorum_of(response, _partition(response), await _cluster_id(connection))

    return await _LeaderSearch(servers, security, timeout_s).run(describe)


async def add_voter(
    servers: Sequence[Address],
    replica: ReplicaKey,
    listeners: Iterable[Listener],
    *,
    cluster_id: str | None = None,
    security: ClientSecurity = PLAINTEXT,
    timeout_s: float = TIMEOUT_S,
) -> None:
    """Make an observer that has caught up a voter; the change is committed when this returns.

    `listeners` must include the one that replicas use. The quorum refuses the `cluster_id` of
    another cluster. Raise what `describe_quorum` raises, and `OutcomeUnknown`.
    """
    request = AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=int(timeout_s * 1000),
        voter_id=replica.id,
        voter_directory_id=replica.directory_id,
        listeners=[
            AddRaftVoterRequest.Listener(name=name, host=host, port=port)
            for name, host, port in listeners
        ],
    )
    await _change(servers, request, security, timeout_s)


async def remove_voter(
    servers: Sequence[Address],
    replica: ReplicaKey,
    *,
    cluster_id: str | None = None,
    security: ClientSecurity = PLAINTEXT,
    timeout_s: float = TIMEOUT_S,
) -> None:
    """Remove a voter, which may be offline; raise what `add_voter` raises."""
    request = RemoveRaftVoterRequest(
        cluster_id=cluster_id, voter_id=replica.id, voter_directory_id=replica.directory_id
    )
    await _change(servers, request, security, timeout_s)


async def _change(
    servers: Sequence[Address],
    request: AddRaftVoterRequest | RemoveRaftVoterRequest,
    security: ClientSecurity,
    timeout_s: float,
) -> None:
    asked: str | None = None

    async def change(connection: Connection) -> None:
        nonlocal asked
        connection.version_for(request)  # raises before the change may have been sent
        asked = connection.peer
        try:
            answer = await connection.ask(request)
        except (OSError, DecodeError) as error:
            raise OutcomeUnknown(f"{connection.peer} gave no answer: {error}") from None
        asked = None
        response = cast(AddRaftVoterResponse | RemoveRaftVoterResponse, answer)
        _check(response.error_code, response.error_message)

    try:
        await _LeaderSearch(servers, security, timeout_s).run(change)
    except NoLeader:
        if asked is None:
            raise
        raise OutcomeUnknown(f"{asked} gave no answer within {timeout_s:g} s") from None


# -- finding the leader ----------------------------------------------------------------------------


class _NotTheLeader(Exception):
    """This server is not the leader; another may be the leader, or become it."""


class _LeaderSearch:
    """Finds a connection to the leader, or to a broker, which forwards requests."""

    def __init__(
        self, servers: Sequence[Address], security: ClientSecurity, timeout_s: float
    ) -> None:
        self._servers = servers
        self._security = security
        self._timeout_s = timeout_s
        self._outcomes: dict[Address, str] = {}
        self._next: deque[Address] = deque()

    async def run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Return the result of `work`, which raises `_NotTheLeader` to get another connection."""
        _ = self._security.context  # fail for invalid files before connecting
        try:
            async with asyncio.timeout(self._timeout_s):
                while True:
                    found = await self._round(work)
                    if found:
                        return found[0]
                    await asyncio.sleep(_PAUSE_S)
        except TimeoutError:
            raise NoLeader(f"within {self._timeout_s:g} s", self._outcomes) from None

    async def _round(self, work: Callable[[Connection], Awaitable[T]]) -> list[T]:
        """Ask every server once; return an empty list to try all again."""
        self._next = deque(self._servers)
        done: set[Address] = set()
        is_waiting = False
        while self._next:
            address = self._next.popleft()
            if address in done:
                continue
            done.add(address)
            self._outcomes.setdefault(address, "no answer yet")
            try:
                return [await self._ask(address, work)]
            except _NotTheLeader as error:
                is_waiting = True
                self._outcomes[address] = str(error)
            except TimeoutError:
                is_waiting = True  # it may only be busy
                self._outcomes[address] = f"no answer within {_PATIENCE_S:g} s"
            except (OSError, NoCommonVersion, DecodeError) as error:
                self._outcomes[address] = _reason_of(error)
        if not is_waiting:
            raise NoLeader("was found", self._outcomes)
        return []

    async def _ask(self, address: Address, work: Callable[[Connection], Awaitable[T]]) -> T:
        async with asyncio.timeout(_PATIENCE_S):
            connection = await Connection.open(
                *address, self._security, client_id="kraftwire-admin"
            )
        try:
            return await work(connection)
        except _NotTheLeader:
            await self._ask_for_leader(connection)
            raise
        finally:
            await connection.close()

    async def _ask_for_leader(self, connection: Connection) -> None:
        """Ask the leader next, if this server names one.

        Raise `_NotTheLeader` if the address of that leader is invalid.
        """
        try:
            async with asyncio.timeout(_PATIENCE_S):
                self._next.extendleft(await _known_leader(connection))
        except BadAddress as error:
            raise _NotTheLeader(f"the leader it names cannot be reached: {error}") from None
        except (OSError, KraftwireError):
            pass  # another server may know


def _reason_of(error: Exception) -> str:
    """Return the reason; for an error of the system, its own text."""
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and error.errno:
        return os.strerror(error.errno)
    return str(error)


async def _known_leader(connection: Connection) -> list[Address]:
    """Return the address of the leader that a controller knows (KIP-919), if it knows one."""
    is_broker = ApiKey.VOTE not in connection.spoken
    if is_broker or ApiKey.DESCRIBE_CLUSTER not in connection.spoken:
        return []  # a broker finds the leader itself
    cluster = await _describe_cluster(connection, _CONTROLLERS)
    leaders = [
        Address(one.host, one.port)
        for one in cluster.brokers
        if one.broker_id == cluster.controller_id
    ]
    for leader in leaders:
        if leader.problem is not None:
            raise BadAddress(leader.problem)
    return leaders


async def _describe_cluster(connection: Connection, kind: int) -> DescribeClusterResponse:
    request = DescribeClusterRequest(endpoint_type=kind)
    return cast(DescribeClusterResponse, await connection.ask(request))


async def _cluster_id(connection: Connection) -> str | None:
    """Return the cluster id; None if the server does not report it to this client."""
    if ApiKey.DESCRIBE_CLUSTER not in connection.spoken:
        return None
    kind = _CONTROLLERS if ApiKey.VOTE in connection.spoken else _BROKERS
    try:
        response = await _describe_cluster(connection, kind)
    except KraftwireError:
        return None
    return response.cluster_id if response.error_code == ErrorCode.NONE else None


def _check(error_code: int, reason: str | None) -> None:
    if error_code in _NOT_THE_LEADER:
        raise _NotTheLeader(reason or ErrorCode(error_code).name)
    if error_code != ErrorCode.NONE:
        raise Refused(error_code, reason)


def _partition(response: DescribeQuorumResponse) -> DescribeQuorumResponse.PartitionData:
    _check(response.error_code, response.error_message)
    partitions = [one for topic in response.topics for one in topic.partitions]
    if len(partitions) != 1:
        raise DecodeError(f"{len(partitions)} partitions, but one was requested", "topics")
    (partition,) = partitions
    _check(partition.error_code, partition.error_message)
    return partition
