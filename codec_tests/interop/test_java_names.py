"""The names and numbers of APIs and errors, and the header versions, are those of Kafka."""

from __future__ import annotations

import pytest

from kraftwire_messages.kafka import registry
from kraftwire_wire import ApiKey, ErrorCode

from interop.java_codec import run_oracle

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("java")]


def test_error_codes() -> None:
    theirs = dict(line.split("\t") for line in run_oracle(["errors"]))
    assert {str(code.value): code.name for code in ErrorCode} == theirs
    assert len(theirs) == len(ErrorCode) == 138


def test_apis() -> None:
    lines = [line.split("\t") for line in run_oracle(["apis"])]
    # Removed APIs keep their names and have no versions.
    theirs = {int(key): (name, int(low), int(high)) for key, name, low, high, _ in lines}
    assert {key: _screaming(name) for key, (name, _, _) in theirs.items()} == {
        key.value: key.name for key in ApiKey
    }
    ours = {key: registry.request(key).VALID_VERSIONS for key in registry.api_keys}
    assert ours == {
        key: range(low, high + 1) for key, (_, low, high) in theirs.items() if high >= 0
    }


def test_header_versions() -> None:
    for key, _, low, high, pairs in [line.split("\t") for line in run_oracle(["apis"])]:
        if int(high) < 0:
            continue
        request, response = registry.request(int(key)), registry.response(int(key))
        versions = range(int(low), int(high) + 1)
        ours = [f"{request.header_version(v)}:{response.header_version(v)}" for v in versions]
        assert pairs.split() == ours, key


def _screaming(name: str) -> str:
    """`ApiVersions` as `API_VERSIONS`."""
    return "".join("_" + char if char.isupper() else char for char in name).strip("_").upper()
