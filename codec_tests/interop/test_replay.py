"""Clients of a replay see what they saw of a real Kafka."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from kraftwire.address import Address
from kraftwire.capture.frame import Frame
from kraftwire.capture.proxy.proxy import ProxyThread
from kraftwire.capture.replay.server import ReplayThread

from codec_tests.interop.kafka_server import PASSWORD, kafka_cluster
from codec_tests.interop.replay_programs import (
    Seen,
    aiokafka_group,
    aiokafka_session,
    confluent_group,
    confluent_session,
    java_session,
    plain_login,
    share_group,
    transactions,
    warm_up,
)

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("replay")]

PROGRAMS: dict[str, Callable[[str], Seen]] = {
    "confluent, classic group": partial(confluent_session, protocol="classic"),
    "confluent, KIP-848": partial(confluent_session, protocol="consumer"),
    "confluent, KIP-848, two members": confluent_group,
    "aiokafka": aiokafka_session,
    "aiokafka, two members": aiokafka_group,
    "transactions": transactions,
    "Kafka's tools, classic group": java_session,
    "Kafka's tools, KIP-848": partial(java_session, protocol="consumer"),
    "Kafka's tools, share group": share_group,
}

LOGIN = "confluent, PLAIN"

Recording = tuple[list[Frame], Seen]


def address_of(bootstrap: str) -> Address:
    host, _, port = bootstrap.partition(":")
    return Address(host, int(port))


@pytest.fixture(scope="module")
def recordings() -> dict[str, Recording]:
    """Run each program against Kafka; Kafka is stopped before the first test."""
    found: dict[str, Recording] = {}
    with kafka_cluster() as cluster:
        warm_up(cluster.bootstrap)
        for name, program in PROGRAMS.items():
            frames: list[Frame] = []
            with ProxyThread(address_of(cluster.bootstrap), record=frames.append) as proxy:
                seen = program(str(proxy.address))
            assert proxy.problems == []
            found[name] = frames, seen
        frames = []
        upstream = address_of(cluster.bootstrap_sasl)
        with ProxyThread(upstream, record=frames.append) as proxy:
            login = plain_login(PASSWORD)
            seen = confluent_session(str(proxy.address), "classic", login)
        found[LOGIN] = frames, seen
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_client_sees_what_it_saw(name: str, recordings: dict[str, Recording]) -> None:
    frames, expected = recordings[name]
    with ReplayThread(frames) as replay:
        seen = PROGRAMS[name](str(replay.address))
    assert [str(miss) for miss in replay.replay.misses] == []
    assert seen == expected


def test_a_login_is_replayed_without_its_password(recordings: dict[str, Recording]) -> None:
    frames, expected = recordings[LOGIN]
    assert not any(PASSWORD.encode() in frame.data for frame in frames)
    with ReplayThread(frames) as replay:
        seen = confluent_session(str(replay.address), "classic", plain_login("anything"))
    assert [str(miss) for miss in replay.replay.misses] == []
    assert seen == expected
