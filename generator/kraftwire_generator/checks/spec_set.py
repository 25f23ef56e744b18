"""A directory of specs -> `SpecSet`, with every finding of every file in one run.

The set's files are all `*.json` below the directory; the first sub-directory on the way to
a file is its module ("" for files in the directory itself). `set.toml` may tell more, see
set_settings.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kraftwire_generator.checks.message_rules import check_message
from kraftwire_generator.checks.set_rules import check_set
from kraftwire_generator.checks.structs import ResolvedMessage, resolve
from kraftwire_generator.errors import Finding
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.parser.message_parser import read_message
from kraftwire_generator.parser.set_settings import (
    SETTINGS_FILE,
    SetSettings,
    line_of,
    read_settings,
)

_KeyPath = tuple[str, str]


@dataclass(frozen=True)
class SpecSet:
    """The messages of a directory, each with its module, and what `set.toml` says of them."""

    directory: Path
    title: str
    release: str
    base_release: str | None
    draft: bool
    records: Mapping[str, str]
    modules: Mapping[str, str]
    control_records: Mapping[str, int]
    messages: tuple[tuple[str, ResolvedMessage], ...]


def load_set(directory: Path) -> tuple[SpecSet | None, list[Finding]]:
    """The set in a directory, and all that is wrong with it, in the order of its files.

    Messages with errors are in the set as far as they could be read; only a directory that
    holds no specs gives no set.
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
    findings.extend(_settings_findings(settings, directory, files))
    findings.extend(_control_record_findings(settings, directory, messages, unread))
    place = {file.as_posix(): index for index, file in enumerate(files)}
    findings.sort(key=lambda finding: (place.get(finding.file, -1), finding.line))
    return _spec_set(directory, settings, messages), findings


def _spec_files(directory: Path) -> tuple[list[Path], list[Finding]]:
    """The spec files of a set, and the folders that cannot be looked into."""
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
    resolved, problems = resolve(spec)
    return resolved, [*findings, *problems, *check_message(resolved)]


def _module(file: Path, directory: Path) -> str:
    return file.relative_to(directory).parts[0] if file.parent != directory else ""


def _settings_findings(settings: SetSettings, directory: Path, files: list[Path]) -> list[Finding]:
    """Modules that `set.toml` names wrongly."""
    known = {_module(file, directory) for file in files}
    problems = (*_unknown_modules(settings, known), *_shared_logs(settings, known))
    return [_settings_finding(settings, directory, path, problem) for path, problem in problems]


def _control_record_findings(
    settings: SetSettings,
    directory: Path,
    messages: list[tuple[str, ResolvedMessage]],
    unread: set[str],
) -> list[Finding]:
    """Control records that `set.toml` names wrongly."""
    specs = {message.spec.name: message.spec for _, message in messages}
    found: list[Finding] = []
    holders: dict[int, str] = {}
    for name, control_type in settings.control_records.items():
        first = holders.setdefault(control_type, name)
        problem = ""
        if name not in specs and name not in unread:
            problem = "no message of this set; remove the line or add its spec"
        elif first != name:
            problem = f"{control_type:#x} is the type of {first} already"
        elif name in specs and not _tells_its_version(specs[name]):
            problem = "readers go by its first field, which must be an int16 named Version"
        if problem:
            path = ("control_records", name)
            found.append(_settings_finding(settings, directory, path, problem))
    return found


def _tells_its_version(spec: MessageSpec) -> bool:
    first = next(iter(spec.fields), None)
    return first is not None and (first.name, str(first.type)) == ("Version", "int16")


def _settings_finding(
    settings: SetSettings, directory: Path, path: _KeyPath, problem: str
) -> Finding:
    file = (directory / SETTINGS_FILE).as_posix()
    return Finding(file, line_of(settings.text, path), ".".join(path), problem)


def _unknown_modules(settings: SetSettings, known: set[str]) -> Iterator[tuple[_KeyPath, str]]:
    named = [(("records", log), module) for log, module in settings.records.items()]
    named += [(("modules", module), module) for module in settings.modules]
    there = ", ".join(sorted(known - {""})) or "none"
    for path, module in named:
        if module not in known:
            yield path, f"there is no module {module!r} in this set; its modules are: {there}"


def _shared_logs(settings: SetSettings, known: set[str]) -> Iterator[tuple[_KeyPath, str]]:
    """Logs and modules go together one by one, or the records of one would hide another's."""
    logs: dict[str, str] = {}
    for log, module in settings.records.items():
        first = logs.setdefault(module, log)
        if first != log:
            yield ("records", log), f"{first} is the log of {module} already; remove one of the two"
        elif log != module and log in known and log not in settings.records.values():
            yield ("records", log), f"a module {log} has a log of that name; choose another name"


def _spec_set(
    directory: Path, settings: SetSettings, messages: list[tuple[str, ResolvedMessage]]
) -> SpecSet:
    return SpecSet(
        directory=directory,
        title=settings.title,
        release=settings.release,
        base_release=settings.base_release,
        draft=settings.draft,
        records=settings.records,
        modules=settings.modules,
        control_records=settings.control_records,
        messages=tuple(messages),
    )
