"""Reads the two sides of a comparison, for `specs diff` and `evolve`.

A side is named by one string:
- the directory of a spec set, the top of Kafka's source tree, or a directory of Kafka's jars;
- one of Kafka's jars, or one spec file (`*.json`);
- PATH@REVISION, any of these except jars in a git revision. PATH may have been deleted since.
  PATH@REVISION:BELOW names a path below PATH, for repositories without a checkout.

Rules:
- each spec must be free of errors; the rules for whole sets are not applied;
- a side may be a part of a release (jars, one file). Then `common_part` removes what that side
  cannot have from the other side, and returns the names of the removed modules.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from kraftwire_generator.checks.message_rules import check_spec
from kraftwire_generator.checks.structs import ResolvedMessage
from kraftwire_generator.errors import Finding, raise_errors
from kraftwire_generator.importer.set_writer import parse_published
from kraftwire_generator.importer.sources import (
    GitRevision,
    Source,
    SourceError,
    SpecText,
    is_published_jar,
    read_source,
)
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.parser.message_parser import parse_message
from kraftwire_generator.parser.set_settings import ERROR_CODES_FILE, SETTINGS_FILE

Extent = Literal["whole", "modules", "file"]
_Parse = Callable[[SpecText], tuple[MessageSpec | None, list[Finding]]]
_SOURCE_TREE = "/src/main/resources/"


@dataclass(frozen=True, slots=True)
class SideMessage:
    """A message and its module."""

    module: str
    resolved: ResolvedMessage

    @property
    def spec(self) -> MessageSpec:
        return self.resolved.spec


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One side: its messages by name, and how much of a release it is.

    `error_codes` is None if the side does not list them.
    """

    name: str
    title: str
    messages: Mapping[str, SideMessage]
    error_codes: Mapping[str, int] | None
    extent: Extent = "whole"

    @property
    def modules(self) -> set[str]:
        return {message.module for message in self.messages.values()}


def read_side(name: str) -> ComparedSide:
    """Read the side called `name`; raise `SpecError` if it is bad."""
    if not name:
        raise SourceError("''", "the name of a side is empty; write . for the current directory")
    path = Path(name)
    try:
        if path.is_dir():
            return _read_directory(name, path)
        if path.suffix == ".json" and path.is_file():
            return _read_texts(name, {path.name: path.read_bytes()}, path.parent.as_posix(), "file")
        if not path.exists() and "@" in name:
            return _read_revision(name)
    except OSError as error:
        raise SourceError(name, f"it cannot be read ({error}); check its permissions") from None
    if not path.exists():
        raise SourceError(
            name,
            "the file or directory does not exist; name a spec set, a spec file, a jar, or "
            "PATH@REVISION of a git checkout",
        )
    if path.suffix != ".jar":
        raise SourceError(name, "it is neither a spec file (*.json) nor a jar; name one of these")
    return _published(name, [read_source(name)])


def common_part(
    old: ComparedSide, new: ComparedSide
) -> tuple[ComparedSide, ComparedSide, list[str]]:
    """Return both sides without the modules that the other cannot have, and their names."""
    if "file" in (old.extent, new.extent):
        return _restrict(old, new), _restrict(new, old), []
    if old.extent == new.extent == "whole":
        return old, new, []
    shared = old.modules & new.modules
    both = old.messages.keys() & new.messages.keys()

    def part(side: ComparedSide) -> ComparedSide:
        kept = {
            name: message
            for name, message in side.messages.items()
            if message.module in shared or name in both
        }
        return replace(side, messages=kept)

    parts = part(old), part(new)
    left_out = {
        message.module
        for side, rest in zip((old, new), parts, strict=True)
        for name, message in side.messages.items()
        if name not in rest.messages
    }
    return *parts, sorted(left_out)


def _restrict(side: ComparedSide, other: ComparedSide) -> ComparedSide:
    """Reduce a side to the message of the other side, if that is a single file."""
    if side.extent == "file" or other.extent != "file":
        return side
    name = next(iter(other.messages))
    if name not in side.messages:
        raise SourceError(side.name, f"it has no message {name}, the one in {other.name}")
    only = {name: side.messages[name]}
    return replace(side, messages=only, error_codes=None)


def _read_directory(name: str, path: Path) -> ComparedSide:
    jars = [file for file in sorted(path.glob("kafka*.jar")) if is_published_jar(file.name)]
    if jars:
        return _published(name, [read_source(str(jar)) for jar in jars])
    if any(path.glob(f"*{_SOURCE_TREE}common/message/*.json")):
        return _published(name, [read_source(name)])
    files = [file for file in sorted(path.rglob("*.json")) if file.is_file()]
    extra = [path / file for file in (SETTINGS_FILE, ERROR_CODES_FILE) if (path / file).is_file()]
    contents = {file.relative_to(path).as_posix(): file.read_bytes() for file in (*files, *extra)}
    return _read_texts(name, contents, path.as_posix(), "whole")


def _read_revision(name: str) -> ComparedSide:
    where, _, revision = name.rpartition("@")
    revision, _, below = revision.partition(":")
    directory, rest = Path(where or "."), Path(below)
    while not directory.is_dir():
        directory, rest = directory.parent, directory.name / rest
    git = GitRevision(name, str(directory), revision)
    path = git.prefix() + ("" if rest == Path() else rest.as_posix())
    sizes = git.sizes()
    if path in sizes:
        return _read_texts(name, git.read([path]), f"{revision}:", "file")
    path = f"{path.rstrip('/')}/" if path else ""
    inside = [file.removeprefix(path) for file in sizes if file.startswith(path)]
    if not path and any(_SOURCE_TREE in file for file in inside):
        return _published(name, [read_source(f"{where}@{revision}")])
    spec_files = [
        file
        for file in inside
        if file.endswith(".json") or file in (SETTINGS_FILE, ERROR_CODES_FILE)
    ]
    contents = git.read([path + file for file in spec_files])
    texts = {file: contents[path + file] for file in spec_files}
    return _read_texts(name, texts, f"{revision}:{path.rstrip('/')}", "whole")


def _read_texts(
    name: str, contents: Mapping[str, bytes], origin: str, extent: Extent
) -> ComparedSide:
    texts: dict[str, str] = {}
    for path, data in contents.items():
        try:
            texts[path] = data.decode()
        except UnicodeDecodeError as error:
            raise SourceError(
                _within(origin, path), f"is not UTF-8 at byte {error.start}"
            ) from None
    title = _toml(texts.pop(SETTINGS_FILE, ""), _within(origin, SETTINGS_FILE)).get("title")
    codes = texts.pop(ERROR_CODES_FILE, None)
    specs = [
        SpecText(_module(path) if extent == "whole" else "", _within(origin, path), text)
        for path, text in texts.items()
    ]
    return ComparedSide(
        name,
        title if isinstance(title, str) else "",
        _messages(name, specs, lambda spec: parse_message(spec.text, spec.origin)),
        None if codes is None else _error_codes(codes, _within(origin, ERROR_CODES_FILE)),
        extent,
    )


def _module(path: str) -> str:
    return path.split("/")[0] if "/" in path else ""


def _within(origin: str, path: str) -> str:
    if origin.endswith(":"):  # the top of a git revision
        return origin + path
    return path if origin == "." else f"{origin}/{path}"


def _published(name: str, sources: Sequence[Source]) -> ComparedSide:
    texts = [text for source in sources for text in source.specs]
    releases = sorted({source.release for source in sources if source.specs})
    return ComparedSide(
        name,
        f"Apache Kafka {', '.join(releases)}" if releases else "",
        _messages(name, texts, parse_published),
        next((source.error_codes for source in sources if source.error_codes), None),
        "whole" if any(source.is_whole for source in sources) else "modules",
    )


def _messages(name: str, texts: Iterable[SpecText], parse: _Parse) -> dict[str, SideMessage]:
    found: dict[str, SideMessage] = {}
    findings: list[Finding] = []
    for text in texts:
        spec, problems = parse(text)
        findings += problems
        if spec is None:
            continue
        resolved, problems = check_spec(spec)
        findings += problems
        if spec.name in found:
            problem = f"{spec.name} is also in {found[spec.name].spec.file}; remove one of the two"
            findings.append(Finding(spec.file, spec.line, "", problem))
        found[spec.name] = SideMessage(text.module, resolved)
    raise_errors(findings)
    if not found:
        raise SourceError(name, "it has no message specs; name another directory or jar")
    return found


def _toml(text: str, origin: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(origin, f"it cannot be read ({error}); fix it") from None


def _error_codes(text: str, origin: str) -> dict[str, int]:
    codes = _toml(text, origin).get("error_codes")
    if not isinstance(codes, dict) or not all(type(code) is int for code in codes.values()):
        raise SourceError(origin, "it has no table [error_codes] of whole numbers; fix it")
    return codes
