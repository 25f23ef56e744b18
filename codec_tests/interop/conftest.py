"""Clusters that tests share; each starts when a test first needs it.

If a test that uses one fails, its directory stays and the report shows the end of its logs.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from codec_tests.interop.kafka_server import KafkaCluster, kafka_cluster

_SECONDS = 600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests enough time for clusters that start three times on a busy machine."""
    for item in items:
        is_ours = item.get_closest_marker("interop") is not None
        if is_ours and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the logs of the clusters that a failed test used."""
    report = yield
    if report.failed:
        for cluster in getattr(item, "funcargs", {}).values():
            if isinstance(cluster, KafkaCluster):
                cluster.keep_logs = True
                kept = f"properties and logs of Kafka are in {cluster.directory}"
                ends = [f"node {node.number}:\n{node.log_end()}" for node in cluster.nodes]
                report.sections.append(("Kafka", "\n\n".join([kept, *ends])))
    return report


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
