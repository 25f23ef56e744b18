"""Decides whether a new spec, or set, still reads and writes the wire format of an old one.

In each version that both specs have, `field_match` pairs the fields and `evolution_rules` judges
the pairs. Versions that only one spec has may differ. A finding says what changed, where, and in
which versions.

Rules for a whole message; the first four are errors:
- type, api-key   another type or key; only a warning if `data` became a coordinator record,
                  whose bytes stay the same (see `record_keys`)
- flexible        another flexible range within the versions of both
- header          another header version (headerVersions)
- removed         the message was removed, or its validVersions became `none`
- versions        removed at the upper end: an error. Removed at the lower end: a warning for
                  requests, responses and headers; an error for data and stored records, whose
                  versions nobody negotiates
- versions        added at the lower end: a warning, since earlier releases may have had these
                  versions in another form
- message-renamed a warning

A break in a version that the old spec marks as unstable (latestVersionUnstable of the request, also
for its response) is a warning, since that version could always change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kraftwire_generator.checks.structs import ResolvedMessage
from kraftwire_generator.comparison.evolution_report import EvolutionFinding, EvolutionReport
from kraftwire_generator.comparison.field_evolution import FieldJudge, message_bounds
from kraftwire_generator.comparison.pairs import pair_messages
from kraftwire_generator.comparison.record_keys import (
    as_record_key,
    became_record_key,
    became_record_value,
    keys_in,
    record_keys,
)
from kraftwire_generator.comparison.sides import ComparedSide
from kraftwire_generator.language.header_versions import header_version
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.language.versions import VersionRange

_NEGOTIATED = ("request", "response", "header")


def evolve_sides(old: ComparedSide, new: ComparedSide) -> list[EvolutionFinding]:
    """Return everything that changed between two sides, in the order of messages."""
    unstable = {
        message.spec.api_key: message.spec.valid_versions.highest
        for message in old.messages.values()
        if message.spec.latest_version_unstable
    }
    found: list[EvolutionFinding] = []
    for before, after in pair_messages(old, new):
        if before is None:
            continue
        if after is None:
            found += _removed(before.spec, _unstable(before.spec, unstable))
        elif became_record_key(before.spec, after.spec):
            found += _judge_record_key(before.resolved, record_keys(new, after.module))
        else:
            versions = _unstable(before.spec, unstable)
            found += evolve_message(before.resolved, after.resolved, versions)
    return found


def evolve_message(
    old: ResolvedMessage, new: ResolvedMessage, unstable: VersionRange = VersionRange.NONE
) -> list[EvolutionFinding]:
    """Return everything that changed between two specs of one message."""
    report = EvolutionReport(new.spec.name, unstable)
    _judge(old, new, report)
    return report.findings()


def _judge(old: ResolvedMessage, new: ResolvedMessage, report: EvolutionReport) -> None:
    _judge_specs(old.spec, new.spec, report)
    FieldJudge(old, new, report).run()


def _removed(old: MessageSpec, unstable: VersionRange) -> list[EvolutionFinding]:
    report = EvolutionReport(old.name, unstable)
    if old.valid_versions:
        text = "the message was removed: none of its versions can be read"
        report.add("removed", "error", text, old, old.valid_versions)
    return report.findings()


def _judge_record_key(
    old: ResolvedMessage, keys: Mapping[int, ResolvedMessage]
) -> Iterator[EvolutionFinding]:
    """Compare a key that was a `data` message with the keys that its versions became."""
    for part in keys_in(old.spec.valid_versions, keys):
        if isinstance(part, VersionRange):
            report = EvolutionReport(old.spec.name, VersionRange.NONE)
            text = f"no coordinator-key has the apiKey {part}: these records can no longer be read"
            report.add("removed", "error", text, old.spec, part)
        else:
            new = keys[part]
            report = EvolutionReport(new.spec.name, VersionRange.NONE)
            text = (
                f"was version {part} of a data message, is the coordinator-key {part}: "
                "the bytes are the same"
            )
            report.add("type", "warning", text, new.spec, new.spec.valid_versions)
            _judge(as_record_key(old, part), new, report)
        yield from report.findings()


def _unstable(spec: MessageSpec, unstable: Mapping[int | None, int]) -> VersionRange:
    """Return the unstable version of a request or response, if its API has one."""
    highest = unstable.get(spec.api_key) if spec.type in ("request", "response") else None
    return VersionRange.NONE if highest is None else VersionRange(highest, highest)


# -- the message as a whole ------------------------------------------------------------------


def _judge_specs(old: MessageSpec, new: MessageSpec, report: EvolutionReport) -> None:
    before, after = old.valid_versions, new.valid_versions
    if not before:
        return
    is_same_record = became_record_value(old, new)
    if is_same_record:
        text = "was a data message, is a coordinator-value: the bytes are the same"
        report.add("type", "warning", text, new, before)
    elif old.type != new.type:
        report.add("type", "error", f"was a {old.type}, is a {new.type}", new, before)
    if old.api_key != new.api_key and not is_same_record:
        key, other = ("none" if key is None else key for key in (old.api_key, new.api_key))
        report.add("api-key", "error", f"the apiKey was {key}, is {other}", new, before)
    if old.name != new.name:
        report.add("message-renamed", "warning", f"was called {old.name}", new, before)
    if not after:
        text = "validVersions is now none: none of its versions can be read"
        report.add("removed", "error", text, new, before)
        return
    _judge_valid_versions(old, new, report)
    for span in before.intersect(after).split(message_bounds(old, new)):
        version = span.lowest
        if (version in old.flexible_versions) != (version in new.flexible_versions):
            word = "flexible now" if version in new.flexible_versions else "no longer flexible"
            report.add("flexible", "error", f"is {word}", new, span)
            continue
        was, now = header_version(old, version), header_version(new, version)
        if old.type == new.type and was != now:
            text = f"the header version was {was}, is {now}"
            report.add("header", "error", text, new, span)


def _judge_valid_versions(old: MessageSpec, new: MessageSpec, report: EvolutionReport) -> None:
    before, after = old.valid_versions, new.valid_versions
    text = f"validVersions were {before}, are {after}"
    below = before.intersect(VersionRange(0, after.lowest - 1))
    above = VersionRange(max(before.lowest, after.highest + 1), before.highest)
    back = after.intersect(VersionRange(0, before.lowest - 1))
    if below and old.type in _NEGOTIATED:
        why = "peers that support no later version are refused"
        report.add("versions", "warning", f"{text}: {why}", new, below)
    elif below:
        why = "nobody negotiates them, so existing data can no longer be read"
        report.add("versions", "error", f"{text}: {why}", new, below)
    if above:
        report.add("versions", "error", f"{text}: the newest were removed", new, above)
    if back:
        why = "compare these with the last release that had them"
        report.add("versions", "warning", f"{text}: {why}", new, back)
