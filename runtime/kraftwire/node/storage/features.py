"""The features of a new Kafka cluster: `metadata.version`, and the default levels of others.

A release of Kafka has one or more metadata versions, and each of them has default levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"

_FIRST_LEVEL = 7
_RELEASES = {
    "3.3": range(3, 4),
    "3.4": range(1),
    "3.5": range(3),
    "3.6": range(3),
    "3.7": range(5),
    "3.8": range(1),
    "3.9": range(1),
    "4.0": range(4),
    "4.1": range(2),
    "4.2": range(2),
    "4.3": range(1),
    "4.4": range(3),
}
"""The numbers of each release's metadata versions; over all releases, levels count up by one."""


class MetadataVersion(NamedTuple):
    """A level of `metadata.version` and its name."""

    level: int
    name: str


_NAMES = [f"{release}-IV{number}" for release in _RELEASES for number in _RELEASES[release]]
METADATA_VERSIONS = tuple(MetadataVersion(*one) for one in enumerate(_NAMES, _FIRST_LEVEL))
NEWEST = METADATA_VERSIONS[-1]
_BY_NAME = {one.name: one for one in METADATA_VERSIONS}

_FEATURES = {
    "eligible.leader.replicas.version": {1: "4.1-IV0"},
    "group.version": {1: "4.0-IV0"},
    "share.version": {1: "4.2-IV0", 2: "4.4-IV0"},
    "streams.version": {1: "4.2-IV1"},
    "transaction.version": {1: "4.0-IV2", 2: "4.0-IV2"},
}
"""The metadata version from which on a level is the default."""

_NEEDS = {("eligible.leader.replicas.version", 1): "4.0-IV1"}
"""The metadata version that a level requires."""


def parse_metadata_version(text: str) -> MetadataVersion:
    """Parse a release such as `4.3` or `4.3.1`, or a name; raise `ValueError` if unknown."""
    if text in _BY_NAME:
        return _BY_NAME[text]
    release = ".".join(text.split(".")[:2])
    if release not in _RELEASES:
        raise ValueError(f"unknown release {text[:40]!r}: it is not one of {', '.join(_RELEASES)}")
    return _BY_NAME[f"{release}-IV{_RELEASES[release][-1]}"]


def feature_levels(version: MetadataVersion, chosen: Mapping[str, int]) -> dict[str, int]:
    """Return the levels of a new cluster in Kafka's order, without those of level 0.

    Raise `ValueError` if a chosen level does not exist.
    """
    for name, level in chosen.items():
        if name not in _FEATURES:
            raise ValueError(
                f"unknown feature {name[:60]!r}: it is not one of {', '.join(_FEATURES)}"
            )
        _check(version, name, level)
    levels = {METADATA_VERSION: version.level}
    for name, since in _FEATURES.items():
        default = max((one for one in since if version >= _BY_NAME[since[one]]), default=0)
        levels[name] = chosen.get(name, default)
    return {name: level for name, level in levels.items() if level}


def _check(version: MetadataVersion, name: str, level: int) -> None:
    most = max(_FEATURES[name])
    if not 0 <= level <= most:
        raise ValueError(f"{name} has no level {level}, only 0 to {most}")
    needed = _NEEDS.get((name, level))
    if needed is not None and version < _BY_NAME[needed]:
        raise ValueError(f"{name} {level} needs release {needed}, later than {version.name}")
