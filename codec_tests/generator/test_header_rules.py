"""Header versions: what a spec says itself, and Kafka's implicit rule where it says nothing."""

from __future__ import annotations

from typing import Any

import pytest

from kraftwire_generator.language.header_versions import header_versions
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.language.versions import VersionRange

from codec_tests.oracle import oracle_section, report_oracle_count


def headers(
    kind: Any, valid: str = "0-3", flexible: str = "2+", key: int = 900, **explicit: int
) -> dict[str, int]:
    """Header version by range of body versions; `explicit` such as v0_1=1 is headerVersions."""
    given = tuple(
        (VersionRange.parse(name[1:].replace("_", "-").replace("to", "+")), header)
        for name, header in explicit.items()
    )
    spec = MessageSpec(
        "Vote",
        kind,
        VersionRange.parse(valid),
        VersionRange.parse(flexible),
        api_key=key,
        header_versions=given or None,
    )
    return {str(body): header for body, header in header_versions(spec)}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (headers("request"), {"0-1": 1, "2-3": 2}),
        (headers("response"), {"0-1": 0, "2-3": 1}),
        (headers("request", flexible="none"), {"0-3": 1}),
        (headers("request", flexible="0+"), {"0-3": 2}),
        (headers("request", valid="2-3"), {"2-3": 2}),
        (headers("response", valid="0-1"), {"0-1": 0}),
        (headers("response", flexible="0+", key=18), {"0-3": 0}),
        (headers("request", flexible="3+", key=7), {"0": 0, "1-2": 1, "3": 2}),
        (headers("request", valid="1-3", flexible="3+", key=7), {"1-2": 1, "3": 2}),
        (headers("request", valid="0", flexible="3+", key=7), {"0": 0}),
        (headers("response", flexible="3+", key=7), {"0-2": 0, "3": 1}),
        (headers("metadata"), {}),
        (headers("data"), {}),
    ],
)
def test_flexible_bodies_have_flexible_headers(
    found: dict[str, int], expected: dict[str, int]
) -> None:
    assert found == expected


def test_what_the_spec_says_goes_before_the_rule() -> None:
    assert headers("request", v0_1=1, v2_2=2, v3to=3) == {"0-1": 1, "2": 2, "3": 3}
    assert headers("request", valid="2-9", v0_1=1, v2to=3) == {"2-9": 3}
    assert headers("response", key=18, flexible="0+", v0to=0) == {"0-3": 0}


def test_every_api_of_kafka_has_the_headers_that_kafka_gives_it() -> None:
    """The flexible versions of the set come from Kafka; this compares the header versions."""
    cases = 0
    for api in oracle_section("header_versions"):
        for kind, classic in (("request", 1), ("response", 0)):
            expected = api[kind]
            flexible = [version for version, header in enumerate(expected) if header > classic]
            start = f"{flexible[0]}+" if flexible else "none"
            if api["apiKey"] == 18 and kind == "response":
                start = "0+"
            lowest, highest = api["lowest"], api["highest"]
            found = header_versions(
                MessageSpec(
                    api["name"],
                    "request" if kind == "request" else "response",
                    VersionRange(lowest, highest),
                    VersionRange.parse(start),
                    api_key=api["apiKey"],
                )
            )
            by_version = [
                next(header for body, header in found if version in body)
                for version in range(lowest, highest + 1)
            ]
            assert by_version == expected[-len(by_version) :], api["name"]
            cases += 1
    report_oracle_count("header_versions", cases, 0)
