"""DescribeCluster: where the voters listen, and who leads them."""

from __future__ import annotations

from kraftwire.raft.state.election_state import Election
from kraftwire_messages.kafka import DescribeClusterRequest
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.replicas import CLUSTER, ask, elected, replica_of

CONTROLLERS = 2


def test_every_replica_tells_the_voters_and_who_leads_as_far_as_it_knows() -> None:
    known = ((elected(), 1), (replica_of(Election(3, 2)), 2), (replica_of(Election(3)), -1))
    for replica, leader in known:
        response = ask(replica, DescribeClusterRequest(endpoint_type=CONTROLLERS), 2)
        assert (response.error_code, response.cluster_id) == (ErrorCode.NONE, CLUSTER)
        assert response.controller_id == leader
        assert [(one.broker_id, one.port) for one in response.brokers] == [
            (1, 9001),
            (2, 9002),
            (3, 9003),
        ]


def test_a_controller_knows_no_brokers() -> None:
    response = ask(elected(), DescribeClusterRequest(), 2)
    assert response.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert not response.brokers
