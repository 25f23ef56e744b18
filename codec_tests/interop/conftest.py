"""Clusters that tests share; each is started when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interop.kafka_server import KafkaCluster, kafka_cluster


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaCluster]:
    """One node that is broker and controller."""
    with kafka_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def quorum() -> Iterator[KafkaCluster]:
    """Three controllers and a broker."""
    with kafka_cluster(controllers=3) as cluster:
        yield cluster
