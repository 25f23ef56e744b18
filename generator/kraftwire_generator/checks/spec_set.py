"""Loads a directory of specs as a `SpecSet`, and collects the findings of all files.

A set consists of all `*.json` files below the directory. A file's module is the first part of its
path below the directory, or "" for a file in the directory itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kraftwire_generator.checks.message_rules import check_spec
from kraftwire_generator.checks.set_rules import check_set
from kraftwire_generator.checks.structs import ResolvedMessage
from kraftwire_generator.errors import Finding
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.parser.message_parser import read_message
from kraftwire_generator.parser.set_settings import (
    SETTINGS_FILE,
    SetSettings,
    line_of,
    read_settings,
)

_SettingProblems = Iterator[tuple[tuple[str, str], str]]


@dataclass(frozen=True)
class SpecSet:
    """The messages of a directory, each with its module, and the settings in `set.toml`."""

    directory: Path
    settings: SetSettings
    messages: tuple[tuple[str, ResolvedMessage], ...]


def load_set(directory: Path) -> tuple[SpecSet | None, list[Finding]]:
    """Return the set in a directory, and all its problems, in the order of its files.

    Messages with errors are in the set too, if they could be parsed. The set is None only if the
    directory has no specs.
    """
    files, unreadable = _spec_files(directory)
    if not files and not unreadable:
        what = "has no specs" if directory.is_dir() else "is not a directory"
        advice = "name a directory with spec files (*.json) in it"
        return None, [Finding(directory.as_posix(), 1, "", f"{what}; {advice}")]
    settings, findings = read_settings(directory)
    findings.extend(unreadable)
    messages: list[tuple[str, ResolvedMessage]] = []
    unread: set[str] = set()
    for file in files:
        resolved, problems = load_message(file)
        findings.extend(problems)
        if resolved is None:
            unread.add(file.stem)
        else:
            messages.append((_module(file, directory), resolved))
    specs = [(module, resolved.spec) for module, resolved in messages]
    findings.extend(check_set(specs, draft=settings.draft, unread=unread))
    modules = {_module(file, directory) for file in files}
    settings_file = (directory / SETTINGS_FILE).as_posix()
    findings.extend(
        Finding(settings_file, line_of(settings.text, key), ".".join(key), problem)
        for problems in (
            _unknown_modules(settings, modules),
            _shared_logs(settings, modules),
            _control_records(settings, {spec.name: spec for _, spec in specs}, unread),
        )
        for key, problem in problems
    )
    place = {file.as_posix(): index for index, file in enumerate(files)}
    findings.sort(key=lambda finding: (place.get(finding.file, -1), finding.line))
    return SpecSet(directory, settings, tuple(messages)), findings


def _spec_files(directory: Path) -> tuple[list[Path], list[Finding]]:
    findings: list[Finding] = []

    def refuse(error: OSError) -> None:
        problem = f"cannot be read: {error.strerror}; allow it, or its messages are missing"
        findings.append(Finding(Path(error.filename).as_posix(), 1, "", problem))

    walk = os.walk(directory, onerror=refuse) if directory.is_dir() else ()
    found = (Path(folder, name) for folder, _, names in walk for name in names)
    return sorted(path for path in found if path.suffix == ".json"), findings


def load_message(file: Path) -> tuple[ResolvedMessage | None, list[Finding]]:
    """Parse, resolve and check one file."""
    spec, findings = read_message(file)
    if spec is None:
        return None, findings
    resolved, problems = check_spec(spec)
    return resolved, [*findings, *problems]


def _module(file: Path, directory: Path) -> str:
    return file.relative_to(directory).parts[0] if file.parent != directory else ""


def _unknown_modules(settings: SetSettings, known: set[str]) -> _SettingProblems:
    named = [(("records", log), module) for log, module in settings.records.items()]
    named += [(("modules", module), module) for module in settings.modules]
    listed = ", ".join(sorted(known - {""})) or "none"
    for key, module in named:
        if module not in known:
            yield key, f"this set has no module {module!r}; its modules are: {listed}"


def _shared_logs(settings: SetSettings, known: set[str]) -> _SettingProblems:
    """Report logs of two modules: the records of one module would hide those of the other."""
    logs: dict[str, str] = {}
    for log, module in settings.records.items():
        first = logs.setdefault(module, log)
        if first != log:
            yield ("records", log), f"{first} is the log of {module} already; remove one of the two"
        elif log != module and log in known and log not in settings.records.values():
            yield ("records", log), f"a module {log} has a log of that name; choose another name"


def _control_records(
    settings: SetSettings, specs: dict[str, MessageSpec], unread: set[str]
) -> _SettingProblems:
    holders: dict[int, str] = {}
    for name, control_type in settings.control_records.items():
        key = ("control_records", name)
        first = holders.setdefault(control_type, name)
        if name not in specs and name not in unread:
            yield key, "the set has no such message; remove the line or add its spec"
        elif first != name:
            yield key, f"{control_type:#x} is the type of {first} already"
        elif name in specs and not _starts_with_version(specs[name]):
            yield key, "its first field must be an int16 named Version, which readers rely on"


def _starts_with_version(spec: MessageSpec) -> bool:
    first = next(iter(spec.fields), None)
    return first is not None and (first.name, str(first.type)) == ("Version", "int16")
