"""Reads `[tool.kraftwire]` in pyproject.toml: the spec sets and the packages to generate.

    [[tool.kraftwire.sets]]
    specs = "message_specs/kafka"                 # the set's directory
    out = "generated/kraftwire_messages/kafka"    # the package's directory
    package = "kraftwire_messages.kafka"          # its import name
    numbers = "runtime/kraftwire_wire/numbers.py" # optional: ErrorCode and ApiKey

Paths are relative to the file.
"""

from __future__ import annotations

import keyword
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from kraftwire_generator.errors import Finding, SpecError

_KEYS = {"specs", "out", "package", "numbers"}


@dataclass(frozen=True, slots=True)
class PackageTarget:
    """A spec set and the package that is generated from it."""

    specs: Path
    out: Path
    package: str
    numbers: Path | None = None


def find_targets(start: Path) -> tuple[PackageTarget, ...]:
    """Return the targets of the nearest pyproject.toml at or above `start` that has any."""
    for directory in (start, *start.parents):
        file = directory / "pyproject.toml"
        if file.is_file():
            targets = _read(file)
            if targets:
                return targets
    message = "no pyproject.toml here or above has [[tool.kraftwire.sets]]; name --specs and --out"
    raise SpecError([Finding(str(start), 1, "", message)])


def _read(file: Path) -> tuple[PackageTarget, ...]:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SpecError([Finding(file.as_posix(), 1, "", f"cannot be read: {error}")]) from None
    for key in ("tool", "kraftwire"):
        table = table.get(key, {})
        if not isinstance(table, dict):
            raise _problem(file, f"{key} must be a table")
    sets = table.get("sets", [])
    if not isinstance(sets, list) or not all(isinstance(entry, dict) for entry in sets):
        raise _problem(file, "write each set under a line [[tool.kraftwire.sets]]")
    targets = tuple(_target(file, entry) for entry in sets)
    _refuse_shared_files(file, targets)
    return targets


def _refuse_shared_files(file: Path, targets: tuple[PackageTarget, ...]) -> None:
    """Raise if the runs of two sets would write or delete the same files."""
    outs = [os.path.normpath(target.out) for target in targets]
    if len(set(outs)) < len(outs):
        raise _problem(file, "two sets have the same out; name a directory for each")
    seen: set[str] = set()
    for target, out in zip(targets, outs, strict=True):
        if target.numbers is None:
            continue
        numbers = os.path.normpath(target.numbers)
        if numbers in seen:
            raise _problem(file, "two sets have the same numbers; name a file for each")
        seen.add(numbers)
        folder = os.path.normpath(target.numbers.parent)
        if folder != out and folder in outs:
            raise _problem(
                file, f"numbers of {target.package} is in the out directory of another set"
            )


def _problem(file: Path, sentence: str) -> SpecError:
    return SpecError([Finding(file.as_posix(), 1, "tool.kraftwire.sets", sentence)])


def is_package_name(name: str) -> bool:
    """Whether the name can be imported, such as `mine` or `company.messages`."""
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in name.split("."))


def _target(file: Path, entry: dict[str, str]) -> PackageTarget:
    missing = {"specs", "out", "package"} - set(entry)
    unknown = set(entry) - _KEYS
    if missing or unknown:
        what = [f"lacks {', '.join(sorted(missing))}"] if missing else []
        what += [f"has the unknown keys {', '.join(sorted(unknown))}"] if unknown else []
        rule = "its keys are specs, out, package and optionally numbers"
        raise _problem(file, f"an entry {' and '.join(what)}; {rule}")
    for key, value in entry.items():
        if not isinstance(value, str):
            raise _problem(file, f"{key} must be text in double quotes")
    if not is_package_name(entry["package"]):
        raise _problem(file, f"{entry['package']!r} is not the name of a package")
    numbers = entry.get("numbers")
    return PackageTarget(
        specs=file.parent / entry["specs"],
        out=file.parent / entry["out"],
        package=entry["package"],
        numbers=file.parent / numbers if numbers else None,
    )
