"""Collects the findings of an evolution check, and merges those of different versions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from kraftwire_generator.errors import Severity
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.language.versions import VersionRange


@dataclass(frozen=True, slots=True)
class EvolutionFinding:
    """One change; `versions` has the affected versions as ascending spans.

    `path` is the field's path, or "" for the message itself; a path in a common struct starts with
    the name of the struct. `file` and `line` are in the new spec, or in the old one if the new one
    lacks the field.
    """

    message: str
    path: str
    rule: str
    severity: Severity
    versions: tuple[VersionRange, ...]
    file: str
    line: int
    text: str

    @property
    def first_version(self) -> int:
        """The first affected version."""
        return self.versions[0].lowest

    @property
    def versions_text(self) -> str:
        """The affected versions, such as `0-3, 5`."""
        return ", ".join(map(str, self.versions))


@dataclass(slots=True)
class EvolutionReport:
    """Collects findings, and merges those that differ only in their versions."""

    message: str
    unstable: VersionRange
    _spans: dict[EvolutionFinding, list[VersionRange]] = field(default_factory=dict)

    def add(
        self,
        rule: str,
        severity: Severity,
        text: str,
        spec: MessageSpec,
        versions: VersionRange,
        path: str = "",
        line: int = 0,
    ) -> None:
        """Add a finding; an error in unstable versions only becomes a warning."""
        if severity == "error" and self.unstable.covers(versions):
            severity, text = "warning", f"{text} (the version was marked as unstable)"
        elif severity == "error" and (both := versions.intersect(self.unstable)):
            stable = versions.subtract(both)
            assert stable is not None  # an unstable version is the highest
            self.add(rule, severity, text, spec, both, path, line)
            versions = stable
        at = line or spec.line
        key = EvolutionFinding(self.message, path, rule, severity, (), spec.file, at, text)
        self._spans.setdefault(key, []).append(versions)

    def findings(self) -> list[EvolutionFinding]:
        """Return the findings: those of the message first, then in the order of their lines."""
        found = [replace(key, versions=_joined(spans)) for key, spans in self._spans.items()]
        return sorted(found, key=lambda item: (bool(item.path), item.line, item.first_version))


def _joined(spans: Iterable[VersionRange]) -> tuple[VersionRange, ...]:
    joined: list[VersionRange] = []
    for span in sorted(spans, key=lambda span: span.lowest):
        if joined and span.lowest <= joined[-1].highest + 1:
            highest = max(joined[-1].highest, span.highest)
            joined[-1] = VersionRange(joined[-1].lowest, highest)
        else:
            joined.append(span)
    return tuple(joined)
