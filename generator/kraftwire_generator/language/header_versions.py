"""Maps each version of a request or response to the version of its header.

A spec may list them (`headerVersions`, KIP-1313). Otherwise Kafka's implicit rule applies: flexible
bodies have flexible headers (KIP-482), with two exceptions.
"""

from __future__ import annotations

from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.language.versions import VersionRange

_CONTROLLED_SHUTDOWN = 7
_API_VERSIONS = 18

HeaderVersions = tuple[tuple[VersionRange, int], ...]


def header_versions(spec: MessageSpec) -> HeaderVersions:
    """Return pairs of body versions and header version, ascending; empty for other messages."""
    valid = spec.valid_versions
    if spec.type not in ("request", "response"):
        return ()
    if spec.header_versions is not None:
        rules: HeaderVersions = spec.header_versions
    elif spec.type == "response" and spec.api_key == _API_VERSIONS:
        # A client that sent a version unknown to the broker must still be able to read the
        # response, so its header never changes (KIP-511).
        rules = ((valid, 0),)
    else:
        classic, flexible = (1, 2) if spec.type == "request" else (0, 1)
        first_classic = valid.lowest
        first_flexible = (
            spec.flexible_versions.lowest if spec.flexible_versions else 1 + valid.highest
        )
        rules = ()
        if spec.type == "request" and spec.api_key == _CONTROLLED_SHUTDOWN:
            # ControlledShutdown version 0 predates client ids, so its header has no client id.
            rules = ((VersionRange(0, 0), 0),)
            first_classic, first_flexible = max(1, first_classic), max(1, first_flexible)
        rules += (
            (VersionRange(first_classic, first_flexible - 1), classic),
            (VersionRange(first_flexible, valid.highest), flexible),
        )
    pairs = ((valid.intersect(body), header) for body, header in rules)
    return tuple((body, header) for body, header in pairs if body)


def header_version(spec: MessageSpec, version: int) -> int | None:
    """Return the header version of one body version, or None if the message has no header."""
    return next((header for body, header in header_versions(spec) if version in body), None)
