"""What the tests of `evolve` share: from specs as JSON objects to what it says of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeVar

from kraftwire_generator.checks.structs import ResolvedMessage, resolve
from kraftwire_generator.comparison.evolution import evolve_message
from kraftwire_generator.comparison.evolution_report import EvolutionFinding
from kraftwire_generator.parser.message_parser import parse_message
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message

M = TypeVar("M", bound=Message)
Spec = dict[str, Any]


def resolved(spec: Spec, file: str = "Foo.json") -> ResolvedMessage:
    """A spec as `evolve` takes it."""
    parsed, findings = parse_message(json.dumps(spec), file)
    assert parsed is not None, findings
    return resolve(parsed)[0]


def judge(old: Spec, new: Spec) -> list[EvolutionFinding]:
    """What `evolve` says of two specs of one message."""
    return evolve_message(resolved(old), resolved(new))


def told(findings: Iterable[EvolutionFinding]) -> list[str]:
    """The findings in short."""
    return [f"{f.severity} {f.rule} {f.path} {f.versions_text}" for f in findings]


def broken_versions(findings: Iterable[EvolutionFinding]) -> set[int]:
    """The versions that have an error."""
    spans = [span for f in findings if f.severity == "error" for span in f.versions]
    return {version for span in spans for version in range(span.lowest, span.highest + 1)}


def read_back(reader: type[M], data: bytes, version: int) -> M | None:
    """The message in the bytes; None where it cannot be read, or has other bytes then."""
    try:
        message = reader.decode(data, version)
        return message if message.encode(version) == data else None
    except KraftwireError:
        return None
