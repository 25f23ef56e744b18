"""Which header version goes before which version of a request or response.

A spec may say so itself (`headerVersions`, KIP-1313). Where it does not, Kafka's implicit
rule holds: flexible bodies have flexible headers (KIP-482), with two exceptions.
"""

from __future__ import annotations

from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.language.versions import HIGHEST_VERSION, VersionRange

_CONTROLLED_SHUTDOWN = 7
_API_VERSIONS = 18

HeaderVersions = tuple[tuple[VersionRange, int], ...]


def header_versions(spec: MessageSpec) -> HeaderVersions:
    """Pairs of body versions and header version, ascending; empty for other messages."""
    valid = spec.valid_versions
    if spec.type not in ("request", "response"):
        return ()
    if spec.header_versions is not None:
        pairs = ((valid.intersect(body), header) for body, header in spec.header_versions)
        return tuple((body, header) for body, header in pairs if body)
    if spec.type == "response" and spec.api_key == _API_VERSIONS:
        # A client that asked in a version the broker does not know must still be able to
        # read the answer, so its header never changes (KIP-511).
        return ((valid, 0),)
    classic, flexible = (1, 2) if spec.type == "request" else (0, 1)
    older = _before(valid, spec.flexible_versions)
    newer = valid.intersect(spec.flexible_versions)
    rules = [(older, classic), (newer, flexible)]
    if spec.type == "request" and spec.api_key == _CONTROLLED_SHUTDOWN:
        rules = _with_version_zero(rules)
    return tuple((body, header) for body, header in rules if body)


def _before(versions: VersionRange, later: VersionRange) -> VersionRange:
    """The versions before the open-ended range `later`; all of them when that is empty."""
    return versions.intersect(VersionRange(0, later.lowest - 1)) if later else versions


def _with_version_zero(rules: list[tuple[VersionRange, int]]) -> list[tuple[VersionRange, int]]:
    """ControlledShutdown version 0 predates client ids: its header has none."""
    zero = [(body.intersect(VersionRange(0, 0)), 0) for body, _ in rules]
    rest = [(body.intersect(VersionRange(1, HIGHEST_VERSION)), header) for body, header in rules]
    return [*zero, *rest]
