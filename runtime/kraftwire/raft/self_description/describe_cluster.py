"""Answers DescribeCluster with the voters and the leader, as controllers do (KIP-919).

Clients that are configured with controllers find the leader this way. Every replica answers.
"""

from __future__ import annotations

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.replies import leader_of, reply
from kraftwire_messages.kafka import DescribeClusterRequest, DescribeClusterResponse
from kraftwire_wire.numbers import ErrorCode

_CONTROLLERS = 2
"""The endpoint type of controllers; that of brokers is 1."""


def handle_describe_cluster(core: Core, request: Request, message: DescribeClusterRequest) -> None:
    """Report the voters' listeners with the name of the one that received the request."""
    if message.endpoint_type != _CONTROLLERS:
        response = DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="This is a controller, which does not know the brokers.",
        )
        reply(core, request, response)
        return
    listeners = [
        (voter.id, one)
        for voter in core.voters
        for one in voter.listeners
        if one.name == request.listener
    ]
    response = DescribeClusterResponse(
        endpoint_type=_CONTROLLERS,
        error_message=None,
        cluster_id=core.config.cluster_id or "",
        controller_id=leader_of(core),
        brokers=[
            DescribeClusterResponse.DescribeClusterBroker(
                broker_id=number, host=one.host, port=one.port
            )
            for number, one in listeners
        ],
    )
    reply(core, request, response)
