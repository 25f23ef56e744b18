"""Imports the facts of Kafka's message specs into a spec set; the entry point is `import_specs`.

Rules:
- everything is read and checked before the first byte is written;
- an import replaces whole modules: those in its sources. Other modules of the set keep their files
  and release, unless a source is a complete source tree;
- set.toml names the release. Modules from another release are in its [modules] table, so that
  one set can hold modules that were published one by one;
- an existing folder is written only if an import wrote it (its set.toml starts with `MARKER`).
  Only its module folders lose files, and nothing outside it changes;
- the same sources give the same bytes, and files that do not change are not rewritten.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kraftwire_generator.errors import Finding, raise_errors
from kraftwire_generator.importer.sources import (
    MODULE_NAME,
    RELEASE,
    Source,
    SourceError,
    SpecText,
    read_source,
)
from kraftwire_generator.importer.spec_text import spec_to_json
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.parser.json_text import JsonError, JsonObject, parse_json
from kraftwire_generator.parser.message_parser import message_of
from kraftwire_generator.parser.set_settings import ERROR_CODES_FILE, SETTINGS_FILE

MARKER = "# Written by `kraftwire specs import`; do not edit it, import again."

_RECORD_MODULES = {
    "cluster-metadata": "metadata",
    "remote-log": "storage",
    "group": "group-coordinator",
    "share": "share-coordinator",
    "transaction": "transaction-coordinator",
}

# Braces of JSON. Strings and comments match too, so that braces inside them do not count.
_BRACES = re.compile(r'[{}]|"(?:\\.?|[^"\\])*+(?:"|\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_MESSAGE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,127}")


@dataclass(frozen=True, slots=True)
class ModuleImport:
    """One module of the set; `imported` is False if an earlier import wrote it."""

    module: str
    specs: int
    release: str
    imported: bool = True


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import; files are sorted paths within the set."""

    release: str
    modules: tuple[ModuleImport, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]
    error_codes: int | None
    empty_sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Module:
    release: str
    specs: tuple[MessageSpec, ...]


def import_specs(sources: Sequence[str], out: Path) -> ImportReport:
    """Write the specs of `sources` into the set `out`; raise `SpecError` if that fails."""
    read = [read_source(source) for source in sources]
    modules = _modules(read)
    if not modules:
        raise SourceError(", ".join(sources), "it has no message specs; name other jars")
    try:
        return _write(read, modules, out)
    except OSError as error:
        problem = f"it cannot be written ({error}); fix that and try again"
        raise SourceError(str(out), problem) from None


def _write(read: list[Source], modules: Mapping[str, _Module], out: Path) -> ImportReport:
    earlier = _read_module_releases(out)
    is_whole = any(source.is_whole for source in read)
    replaced = {*modules, *earlier} if is_whole else {*modules}
    kept = {name: release for name, release in earlier.items() if name not in replaced}
    releases = kept | {name: module.release for name, module in modules.items()}
    _check_folders(replaced, out)
    _check_unique_names(modules, out, kept)
    codes = next((source.error_codes for source in read if source.error_codes), None)
    files = {
        f"{name}/{spec.name}.json": spec_to_json(spec)
        for name, module in modules.items()
        for spec in module.specs
    }
    if codes is not None:
        files[ERROR_CODES_FILE] = _error_codes_toml(codes)
    files[SETTINGS_FILE] = _set_toml(releases)
    # Delete first: if the file system ignores case, an old file may have a new one's name.
    stale = _stale_files(out, replaced, files) if earlier else []
    for path in stale:
        (out / path).unlink()
    # set.toml is written before the specs, so that the next import recognises the folder even
    # if this one is interrupted.
    order = sorted(files, key=lambda path: (path != SETTINGS_FILE, path))
    changed = [path for path in order if _write_if_changed(out, path, files[path])]
    return ImportReport(
        release=_newest_release(releases.values()),
        modules=tuple(_module_imports(modules, out, kept)),
        changed=tuple(sorted(changed)),
        removed=tuple(stale),
        unchanged=tuple(sorted(files.keys() - set(changed))),
        error_codes=None if codes is None else len(codes),
        empty_sources=tuple(source.name for source in read if not source.specs),
    )


def _module_imports(
    modules: Mapping[str, _Module], out: Path, kept: Mapping[str, str]
) -> Iterable[ModuleImport]:
    for name in sorted({*modules, *kept}):
        if name in modules:
            yield ModuleImport(name, len(modules[name].specs), modules[name].release)
        else:
            yield ModuleImport(name, len(_spec_files(out, name)), kept[name], imported=False)


def _modules(sources: list[Source]) -> dict[str, _Module]:
    specs: dict[str, list[MessageSpec]] = defaultdict(list)
    releases: dict[str, str] = {}
    findings: list[Finding] = []
    for source in sources:
        for text in source.specs:
            release = releases.setdefault(text.module, source.release)
            if release != source.release:
                raise SourceError(
                    source.name,
                    f"{text.module} comes in two releases, {release} and {source.release}; "
                    "name one of the two sources",
                )
            spec, problems = parse_published(text)
            findings += problems
            if spec is not None:
                specs[text.module].append(spec)
    raise_errors(findings)
    return {
        module: _Module(releases[module], tuple(sorted(found, key=lambda spec: spec.name)))
        for module, found in sorted(specs.items())
    }


def parse_published(text: SpecText) -> tuple[MessageSpec | None, list[Finding]]:
    """Return the spec in a published file, and its problems; (None, []) if the JSON is not a spec.

    Kafka 3.9 published specs that repeat a key; here, as in Kafka's generator, the last one counts.
    """
    try:
        value = parse_json(_outermost_object(text.text), last_key_counts=True)
    except JsonError as error:
        return None, [Finding(text.origin, error.line, "", error.message)]
    if not isinstance(value, JsonObject) or not {"type", "validVersions"} & value.members.keys():
        return None, []
    if "flexibleVersions" not in value.members:  # optional until 2.8
        value.members["flexibleVersions"] = "none"
        value.key_lines["flexibleVersions"] = value.line
    return message_of(value, text.origin)


def _outermost_object(text: str) -> str:
    """Strip surplus brackets at the end, which a spec of Kafka 2.8 has."""
    depth = 0
    for token in _BRACES.finditer(text):
        if token[0] == "{":
            depth += 1
        elif token[0] == "}":
            depth -= 1
            if depth <= 0:
                rest = text[token.end() :]
                return text if rest.strip(" \t\r\n]}") else text[: token.end()]
    return text


def _check_folders(modules: Iterable[str], out: Path) -> None:
    for module in modules:
        if not (out / module).resolve().is_relative_to(out.resolve()):
            raise SourceError(
                str(out / module), "it is a link to a directory outside the set; remove it"
            )


def _check_unique_names(modules: Mapping[str, _Module], out: Path, kept: Iterable[str]) -> None:
    """Refuse messages whose names differ only in case: some file systems ignore case."""
    origins = {path.stem.lower(): str(path) for module in kept for path in _spec_files(out, module)}
    findings: list[Finding] = []
    for spec in (spec for module in modules.values() for spec in module.specs):
        if not _MESSAGE_NAME.fullmatch(spec.name):
            problem = "is not a message name; write letters and digits, a letter first"
            findings.append(Finding(spec.file, spec.line, "", f"{spec.name[:40]!r} {problem}"))
        first = origins.setdefault(spec.name.lower(), spec.file)
        if first != spec.file:
            problem = f"{spec.name} is also in {first}; leave one of the two sources out"
            findings.append(Finding(spec.file, spec.line, "", problem))
    raise_errors(findings)


def _spec_files(out: Path, module: str) -> list[Path]:
    return sorted((out / module).glob("*.json"))


def _stale_files(out: Path, modules: Iterable[str], files: Mapping[str, str]) -> list[str]:
    found = (f"{module}/{path.name}" for module in modules for path in _spec_files(out, module))
    return sorted(path for path in found if path not in files)


def _write_if_changed(out: Path, path: str, text: str) -> bool:
    """Write a file of the set atomically; return False if it has these bytes already."""
    target = out / path
    target.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    if target.is_file() and not target.is_symlink() and target.read_bytes() == data:
        return False
    temporary = target.with_name(f".{target.name}.new")
    temporary.unlink(missing_ok=True)
    with temporary.open("xb") as file:
        file.write(data)
    temporary.replace(target)
    return True


def _newest_release(releases: Iterable[str]) -> str:
    """Return the highest release; snapshots and candidates precede the release itself."""
    return max(releases, key=_release_order)


def _release_order(release: str) -> tuple[list[int], bool, str]:
    numbers = re.match(r"[0-9.]*", release)
    leading = numbers[0] if numbers else ""
    suffix = release[len(leading) :]
    return [int(part) for part in leading.split(".") if part], not suffix, suffix


def _set_toml(releases: Mapping[str, str]) -> str:
    release = _newest_release(releases.values())
    lines = [
        MARKER,
        f'title = "Apache Kafka {release}"',
        f'release = "{release}"',
        "draft = false",
    ]
    records = {kind: module for kind, module in _RECORD_MODULES.items() if module in releases}
    others = {module: other for module, other in sorted(releases.items()) if other != release}
    if records:
        lines += ["", "[records]", *_pairs(records)]
    if others:
        lines += ["", "# Modules that come from another release.", "[modules]", *_pairs(others)]
    return "\n".join(lines) + "\n"


def _pairs(table: Mapping[str, str]) -> list[str]:
    # Keys and values are module names and releases, which need no escapes.
    return [f'{key} = "{value}"' for key, value in table.items()]


def _error_codes_toml(codes: Mapping[str, int]) -> str:
    lines = [MARKER, "[error_codes]"]
    lines += [f"{name} = {code}" for name, code in sorted(codes.items(), key=lambda item: item[1])]
    return "\n".join(lines) + "\n"


def _read_module_releases(out: Path) -> dict[str, str]:
    """Return the modules that earlier imports wrote to `out`, each with its release.

    Empty if no set exists yet. Raises `SourceError` for a set that was written by hand.
    """
    path = out / SETTINGS_FILE
    if not path.exists():
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(str(path), f"it cannot be read ({error}); delete or fix it") from None
    if not text.startswith(MARKER):
        raise SourceError(
            str(path),
            "no import wrote this set, so it will not be overwritten; choose another --out",
        )
    release, modules = table.get("release"), table.get("modules")
    modules = modules if isinstance(modules, dict) else {}
    folders = sorted(folder.name for folder in out.iterdir() if any(folder.glob("*.json")))
    names = [name for name in folders if MODULE_NAME.fullmatch(name)]
    releases = {name: modules.get(name, release) for name in names}
    known = {
        name: text
        for name, text in releases.items()
        if isinstance(text, str) and RELEASE.fullmatch(text)
    }
    if known != releases:
        raise SourceError(str(path), "it names no release; delete it and import the whole set")
    return known
