"""Names, numbers and versions of APIs, errors and messages equal Kafka's."""

from __future__ import annotations

from collections import defaultdict

import pytest

from kraftwire_messages.kafka import registry
from kraftwire_wire import ApiKey, ErrorCode

from codec_tests.interop.kafka_tools import run_oracle

# The first run on a machine waits for Maven to fetch Kafka.
pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("java"), pytest.mark.timeout(1000)]

Facts = dict[str, list[list[str]]]


@pytest.fixture(scope="module")
def facts() -> Facts:
    """Return the fields of the printed lines, by kind."""
    found: Facts = defaultdict(list)
    for line in run_oracle("CodecOracle", ["facts"]):
        kind, *parts = line.split("\t")
        found[kind].append(parts)
    return found


def test_error_codes(facts: Facts) -> None:
    theirs = {int(number): name for number, name in facts["code"]}
    assert {code.value: code.name for code in ErrorCode} == theirs
    assert len(theirs) == len(facts["code"]) == 138


def test_apis(facts: Facts) -> None:
    # Removed APIs keep their names and have no versions.
    theirs = {int(key): (name, int(low), int(high)) for key, name, low, high, _ in facts["api"]}
    assert {key: _screaming(name) for key, (name, _, _) in theirs.items()} == {
        key.value: key.name for key in ApiKey
    }
    ours = {key: registry.request(key).VALID_VERSIONS for key in registry.api_keys}
    assert ours == {
        key: range(low, high + 1) for key, (_, low, high) in theirs.items() if high >= 0
    }


def test_header_versions(facts: Facts) -> None:
    for key, _, low, high, pairs in facts["api"]:
        if int(high) < 0:
            continue
        request, response = registry.request(int(key)), registry.response(int(key))
        versions = range(int(low), int(high) + 1)
        ours = [f"{request.header_version(v)}:{response.header_version(v)}" for v in versions]
        assert pairs.split() == ours, key


def test_we_have_every_message_of_kafka_and_all_its_versions(facts: Facts) -> None:
    theirs = {name: range(int(low), int(high) + 1) for name, low, high in facts["message"]}
    ours = {
        name + "Data" if name + "Data" in theirs else name: registry.message(name).VALID_VERSIONS
        for name in registry
    }
    assert ours == theirs
    assert len(theirs) == len(facts["message"]) == len(registry)


def _screaming(name: str) -> str:
    """`ApiVersions` as `API_VERSIONS`."""
    return "".join("_" + char if char.isupper() else char for char in name).strip("_").upper()
