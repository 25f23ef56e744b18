"""The two sides of a comparison, whatever they are: `specs diff` and `evolve` read them here.

A side is named by one text:
- the directory of a spec set, the top of Kafka's source tree, or a directory of Kafka's jars;
- one of Kafka's jars, or one spec file (`*.json`);
- PATH@REVISION, any of these in a git revision, jars aside. PATH may have been deleted since;
  PATH@REVISION:BELOW names a path below PATH, for repositories without a checkout.

Rules:
- specs must be free of errors, each by itself; what a whole set must be is not asked;
- a side that is a part of a release (jars, one file) says nothing about the rest: `common_part`
  leaves out what such a side cannot have, and tells which modules that were.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from kraftwire_generator.checks.message_rules import check_message
from kraftwire_generator.checks.structs import ResolvedMessage, resolve
from kraftwire_generator.errors import Finding, SpecError
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
    """A message and the module it is in."""

    module: str
    resolved: ResolvedMessage

    @property
    def spec(self) -> MessageSpec:
        """The message's spec."""
        return self.resolved.spec


@dataclass(frozen=True, slots=True)
class Side:
    """One side: its messages by name, and how much of a release it is.

    `error_codes` is None where the side has no list of them.
    """

    name: str
    title: str
    messages: Mapping[str, SideMessage]
    error_codes: Mapping[str, int] | None
    extent: Extent = "whole"

    @property
    def modules(self) -> set[str]:
        """The modules that have messages."""
        return {message.module for message in self.messages.values()}


def read_side(name: str) -> Side:
    """Read what `name` names; `SpecError` says what is wrong with it."""
    if not name:
        raise SourceError("''", "an empty name names nothing; write . for the current directory")
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
            "there is no such file or directory; name a spec set, a spec file, a jar, or "
            "PATH@REVISION of a git checkout",
        )
    if path.suffix != ".jar":
        raise SourceError(name, "it is neither a spec file (*.json) nor a jar; name one of these")
    return _published(name, [read_source(name)])


def common_part(old: Side, new: Side) -> tuple[Side, Side, list[str]]:
    """Both sides without what the other cannot have, and the modules left out for that."""
    if "file" in (old.extent, new.extent):
        return _restrict(old, new), _restrict(new, old), []
    if old.extent == new.extent == "whole":
        return old, new, []
    shared = old.modules & new.modules
    both = old.messages.keys() & new.messages.keys()

    def part(side: Side) -> Side:
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


def _restrict(side: Side, other: Side) -> Side:
    """A side as a partner of one that may be a single file."""
    if side.extent == "file" or other.extent != "file":
        return side
    name = next(iter(other.messages))
    if name not in side.messages:
        raise SourceError(side.name, f"it has no message {name}, which {other.name} is")
    only = {name: side.messages[name]}
    return replace(side, messages=only, error_codes=None)


def _read_directory(name: str, path: Path) -> Side:
    jars = [file for file in sorted(path.glob("kafka*.jar")) if is_published_jar(file.name)]
    if jars:
        return _published(name, [read_source(str(jar)) for jar in jars])
    if any(path.glob(f"*{_SOURCE_TREE}common/message/*.json")):
        return _published(name, [read_source(name)])
    files = [file for file in sorted(path.rglob("*.json")) if file.is_file()]
    extra = [path / file for file in (SETTINGS_FILE, ERROR_CODES_FILE) if (path / file).is_file()]
    contents = {file.relative_to(path).as_posix(): file.read_bytes() for file in (*files, *extra)}
    return _read_texts(name, contents, path.as_posix(), "whole")


def _read_revision(name: str) -> Side:
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
    wanted = [
        file
        for file in inside
        if file.endswith(".json") or file in (SETTINGS_FILE, ERROR_CODES_FILE)
    ]
    contents = git.read([path + file for file in wanted])
    texts = {file: contents[path + file] for file in wanted}
    return _read_texts(name, texts, f"{revision}:{path.rstrip('/')}", "whole")


def _read_texts(name: str, contents: Mapping[str, bytes], origin: str, extent: Extent) -> Side:
    """A side from the files of a spec set, by their paths within it."""
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
    return Side(
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


def _published(name: str, sources: Sequence[Source]) -> Side:
    texts = [text for source in sources for text in source.specs]
    releases = sorted({source.release for source in sources if source.specs})
    return Side(
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
        resolved, problems = resolve(spec)
        findings += [*problems, *check_message(resolved)]
        if spec.name in found:
            problem = f"{spec.name} is also in {found[spec.name].spec.file}; remove one of the two"
            findings.append(Finding(spec.file, spec.line, "", problem))
        found[spec.name] = SideMessage(text.module, resolved)
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        raise SpecError(errors)
    if not found:
        raise SourceError(name, "there are no message specs in it; name another directory or jar")
    return found


def _toml(text: str, origin: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(origin, f"it cannot be read ({error}); mend it") from None


def _error_codes(text: str, origin: str) -> dict[str, int]:
    codes = _toml(text, origin).get("error_codes")
    if not isinstance(codes, dict) or not all(type(code) is int for code in codes.values()):
        raise SourceError(origin, "it has no table [error_codes] of whole numbers; mend it")
    return codes
