"""Releases of Kafka, and the features that their clusters begin with."""

from __future__ import annotations

import pytest

from kraftwire.node.storage.features import (
    METADATA_VERSION,
    METADATA_VERSIONS,
    NEWEST,
    feature_levels,
    parse_metadata_version,
)


def test_levels_count_up() -> None:
    assert [one.level for one in METADATA_VERSIONS] == list(range(7, 34))
    assert METADATA_VERSIONS[0].name == "3.3-IV3"
    assert NEWEST.name == "4.4-IV2"


@pytest.mark.parametrize(
    ("text", "level"), [("4.4", 33), ("4.4.0", 33), ("4.3.1", 30), ("4.0-IV1", 23), ("3.3", 7)]
)
def test_a_release_is_its_last_metadata_version(text: str, level: int) -> None:
    assert parse_metadata_version(text).level == level


@pytest.mark.parametrize("text", ["", "3.2", "4.5", "4", "4.4-IV9", "x.y"])
def test_releases_that_are_not_known(text: str) -> None:
    with pytest.raises(ValueError, match="unknown "):
        parse_metadata_version(text)


def test_features_have_the_level_of_the_release() -> None:
    assert feature_levels(parse_metadata_version("4.3"), {}) == {
        METADATA_VERSION: 30,
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "share.version": 1,
        "streams.version": 1,
        "transaction.version": 2,
    }
    assert feature_levels(parse_metadata_version("3.9"), {}) == {METADATA_VERSION: 21}


def test_a_level_can_be_chosen_and_0_is_left_out() -> None:
    levels = feature_levels(NEWEST, {"group.version": 0, "share.version": 1})
    assert "group.version" not in levels
    assert levels["share.version"] == 1


@pytest.mark.parametrize(
    ("name", "level", "reason"),
    [
        ("tea.version", 1, "unknown "),
        (METADATA_VERSION, 30, "unknown "),
        ("share.version", 3, "only 0 to 2"),
        ("group.version", -1, "only 0 to 1"),
    ],
)
def test_levels_that_cannot_be(name: str, level: int, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        feature_levels(NEWEST, {name: level})


def test_a_level_may_need_a_later_release() -> None:
    with pytest.raises(ValueError, match=r"needs release 4\.0-IV1, later than 4\.0-IV0"):
        feature_levels(parse_metadata_version("4.0-IV0"), {"eligible.leader.replicas.version": 1})
