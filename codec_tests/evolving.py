"""Compares specs for the tests of `evolve` and `specs diff`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from kraftwire_generator.comparison.evolution import evolve_message
from kraftwire_generator.comparison.evolution_report import EvolutionFinding
from kraftwire_generator.comparison.sides import ComparedSide, read_side
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message

from codec_tests.spec_files import message_spec, resolve_json, write_set

M = TypeVar("M", bound=Message)
Spec = dict[str, Any]


def foo_spec(*fields: Spec, **keys: Any) -> Spec:
    """Return a spec with the flexible versions 0-2, unless `keys` differ."""
    return message_spec("Foo", *fields, **{"validVersions": "0-2", "flexibleVersions": "0+"} | keys)


def judge(old: Spec, new: Spec) -> list[EvolutionFinding]:
    """Return the findings of `evolve` for two specs of one message."""
    return evolve_message(resolve_json(old), resolve_json(new))


def read_two_sides(
    folder: Path, old: Iterable[Spec], new: Iterable[Spec]
) -> tuple[ComparedSide, ComparedSide]:
    """Write two spec sets below `folder`, and read them as the sides of a comparison."""
    sides = (write_set(folder / name, *specs) for name, specs in (("old", old), ("new", new)))
    before, after = (read_side(str(side)) for side in sides)
    return before, after


def told(findings: Iterable[EvolutionFinding]) -> list[str]:
    """Return the findings without their texts."""
    return [f"{f.severity} {f.rule} {f.path} {f.versions_text}" for f in findings]


def broken_versions(findings: Iterable[EvolutionFinding]) -> set[int]:
    """Return the versions that have an error."""
    spans = [span for f in findings if f.severity == "error" for span in f.versions]
    return {version for span in spans for version in range(span.lowest, span.highest + 1)}


def read_back(reader: type[M], data: bytes, version: int) -> M | None:
    """Return the message in the bytes; None if it cannot be read, or encodes to other bytes."""
    try:
        message = reader.decode(data, version)
        return message if message.encode(version) == data else None
    except KraftwireError:
        return None
