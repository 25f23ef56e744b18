"""Reads Kafka's message specs and error codes from a jar, a source tree or a git revision.

It writes nothing, and runs no program except git (`git_process`). Sources are untrusted: only
entries at expected paths are read, each up to `LARGEST_FILE`, all up to `LARGEST_SOURCE`. Every
problem is a `SourceError` that names the source.

Each kind of source is a container with the methods `sizes` and `read`. The two `_SourceLayout`s
say where files are: a published jar has the specs of one module at its root, a source tree has a
folder per module.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NoReturn, Protocol, TypeVar

from kraftwire_generator.errors import Finding, SpecError
from kraftwire_generator.importer.class_file import enum_constants
from kraftwire_generator.importer.git_process import GitError, run_git

_T = TypeVar("_T")

LARGEST_FILE = 4 * 2**20
LARGEST_SOURCE = 64 * 2**20
LARGEST_LISTING = 64 * 2**20
MODULE_NAME = re.compile(r"[a-z][a-z-]*")
RELEASE = re.compile(r"[0-9][0-9A-Za-z.+_-]{0,63}")

# Specs of modules that Kafka has split up since, and the modules they are in today.
_MOVED_SPECS = {
    ("core", "GroupMetadataKey"): "group-coordinator",
    ("core", "GroupMetadataValue"): "group-coordinator",
    ("core", "OffsetCommitKey"): "group-coordinator",
    ("core", "OffsetCommitValue"): "group-coordinator",
    ("core", "TransactionLogKey"): "transaction-coordinator",
    ("core", "TransactionLogValue"): "transaction-coordinator",
}

_SPEC_PATH = r"(?:common/message|common/metadata|message)/(?P<name>[A-Za-z0-9_.-]+)\.json"
_ERRORS_PATH = "org/apache/kafka/common/protocol/Errors"
_JAR_NAME = re.compile(
    r"kafka(?:-(?P<module>[a-z]+(?:-[a-z]+)*)|_(?P<scala>[0-9.]+))"
    r"(?:-(?P<release>[0-9][0-9A-Za-z.+-]*?))?"
    r"(?:-(?P<classifier>test|test-sources|sources|javadoc|scaladoc))?\.jar"
)
_RELEASE_LINE = re.compile(r"^(?:version=|Version: |Implementation-Version: )(\S+)", re.MULTILINE)
_JAVA_CONSTANT = re.compile(r"^[ \t]+([A-Z][A-Z0-9_]*)\(\s*(-?[0-9]+)\s*,", re.MULTILINE)


class SourceError(SpecError):
    """A source cannot be imported; the message names it and says what to do."""

    def __init__(self, source: str, message: str) -> None:
        super().__init__([Finding(source, 1, "", message)])
        self.source = source
        self.message = message

    def __str__(self) -> str:
        return f"{self.source}: {self.message}"


@dataclass(frozen=True, slots=True)
class SpecText:
    """One spec file: its module in current releases, where it was found, and its text."""

    module: str
    origin: str
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """The contents of one source; `error_codes` is None if it does not list them.

    `is_whole` is True for a source tree, which has every module of its release.
    """

    name: str
    release: str
    specs: tuple[SpecText, ...]
    error_codes: dict[str, int] | None
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class _SourceLayout:
    """Where one kind of source has its files; `spec_path` has a group `name`."""

    spec_path: re.Pattern[str]
    errors_path: str
    read_errors: Callable[[bytes], list[tuple[str, int]]]
    release_path: re.Pattern[str]


class _Container(Protocol):
    """Files by path, with forward slashes."""

    def sizes(self) -> dict[str, int]: ...

    def read(self, paths: Sequence[str]) -> dict[str, bytes]: ...


def read_source(source: str) -> Source:
    """Read one source: the path of a jar or of a directory, or PATH@REVISION."""
    path = Path(source)
    repository, at, revision = source.rpartition("@")
    try:
        if path.is_dir():
            return _read_tree(source, _Directory(path))
        if path.exists():
            return _read_jar(source, path)
        if at and Path(repository).is_dir():
            return _read_tree(source, GitRevision(source, repository, revision))
    except OSError as error:
        raise SourceError(source, f"it cannot be read ({error}); check its permissions") from None
    raise SourceError(
        source,
        "the file or directory does not exist; name a jar, a directory, or PATH@REVISION of a "
        "git checkout",
    )


def is_published_jar(file_name: str) -> bool:
    """Whether a file is named like Kafka's jars, except those with sources, tests or docs."""
    match = _JAR_NAME.fullmatch(file_name)
    return match is not None and not match["classifier"]


def check_sizes(source: str, sizes: Mapping[str, int]) -> None:
    """Raise `SourceError` if the files to read are larger than specs can be."""
    for path, size in sizes.items():
        if size > LARGEST_FILE:
            raise SourceError(
                f"{source}:{path}", f"has {size} bytes; no more than {LARGEST_FILE} are read"
            )
    if sum(sizes.values()) > LARGEST_SOURCE:
        raise SourceError(
            source, f"its specs have more than {LARGEST_SOURCE} bytes in total; name a part of it"
        )


def _java_constants(text: bytes) -> list[tuple[str, int]]:
    found = _JAVA_CONSTANT.findall(text.decode("utf-8", "replace"))
    return [(name, int(code)) for name, code in found]


_JAR_LAYOUT = _SourceLayout(
    re.compile(_SPEC_PATH),
    f"{_ERRORS_PATH}.class",
    enum_constants,
    re.compile(r"kafka/kafka(?:-[a-z]+)?-version\.properties|META-INF/MANIFEST\.MF"),
)
_TREE_LAYOUT = _SourceLayout(
    re.compile(rf"(?P<module>{MODULE_NAME.pattern})/src/main/resources/{_SPEC_PATH}"),
    f"clients/src/main/java/{_ERRORS_PATH}.java",
    _java_constants,
    re.compile(r"gradle\.properties"),
)


def _read_jar(source: str, path: Path) -> Source:
    match = _JAR_NAME.fullmatch(path.name)
    if match is None or match["classifier"]:
        raise SourceError(
            source,
            "the file name does not say which of Kafka's modules this is; name it as published, "
            "such as kafka-clients-4.4.0.jar",
        )
    reader = _Contents(source, _Jar(source, path), _JAR_LAYOUT)
    return reader.source(match["release"], match["module"] or "core")


def _read_tree(source: str, container: _Container) -> Source:
    found = _Contents(source, container, _TREE_LAYOUT).source(None, None)
    if not found.specs:
        raise SourceError(
            source,
            "it has no message specs; they are in <module>/src/main/resources/common/message "
            "in Kafka's source tree; name the top of that tree, or jars one by one",
        )
    # A sparse checkout lacks modules, which must not be removed from the set.
    return replace(found, is_whole=any(spec.module == "clients" for spec in found.specs))


@dataclass(slots=True)
class _Contents:
    """Picks specs, error codes and release from a container."""

    name: str
    container: _Container
    layout: _SourceLayout

    def source(self, release: str | None, module: str | None) -> Source:
        """Return all contents; `release` and `module` are given if the file name has them."""
        layout = self.layout
        sizes = self.container.sizes()
        spec_paths = sorted(path for path in sizes if layout.spec_path.fullmatch(path))
        extra_paths = [
            path
            for path in sizes
            if path == layout.errors_path or layout.release_path.fullmatch(path)
        ]
        check_sizes(self.name, {path: sizes[path] for path in (*spec_paths, *extra_paths)})
        files = self.container.read([*spec_paths, *extra_paths])
        specs = tuple(self._spec(path, files[path], module) for path in spec_paths)
        return Source(
            self.name,
            self._release(release, files),
            specs,
            self._error_codes(files.get(layout.errors_path)),
        )

    def _spec(self, path: str, data: bytes, module: str | None) -> SpecText:
        match = self.layout.spec_path.fullmatch(path)
        assert match is not None  # `path` was picked by this pattern
        folder = module or match["module"]
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            self._fail(path, f"is not UTF-8 at byte {error.start}")
        today = _MOVED_SPECS.get((folder, match["name"]), folder)
        return SpecText(today, f"{self.name}:{path}", text)

    def _release(self, release: str | None, files: dict[str, bytes]) -> str:
        if release is None:
            texts = (
                files[path].decode("utf-8", "replace")
                for path in sorted(files, reverse=True)  # a version file before the manifest
                if self.layout.release_path.fullmatch(path)
            )
            lines = (_RELEASE_LINE.search(text) for text in texts)
            release = next((line[1] for line in lines if line), None)
        if release is None or not RELEASE.fullmatch(release):
            raise SourceError(
                self.name,
                "it does not say which release of Kafka it is; a jar has the release in its name, "
                "a source tree has `version=` in gradle.properties",
            )
        return release

    def _error_codes(self, data: bytes | None) -> dict[str, int] | None:
        if data is None:
            return None
        path = self.layout.errors_path
        try:
            codes = self.layout.read_errors(data)
        except ValueError as error:
            self._fail(path, f"cannot be read: {error}")
        found = dict(codes)
        if not found or not len(codes) == len(found) == len(set(found.values())):
            self._fail(path, "does not list every error code once")
        return found

    def _fail(self, path: str, problem: str) -> NoReturn:
        raise SourceError(f"{self.name}:{path}", f"{problem}; get the source again")


class _Directory:
    """A source tree on disk; symbolic links are not followed."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def sizes(self) -> dict[str, int]:
        found: dict[str, int] = {}
        patterns = (
            "*/src/main/resources/common/message/*.json",
            "*/src/main/resources/common/metadata/*.json",
            "*/src/main/resources/message/*.json",
            _TREE_LAYOUT.errors_path,
            "gradle.properties",
        )
        for pattern in patterns:
            for path in self._root.glob(pattern):
                if path.is_file() and not path.is_symlink():
                    found[path.relative_to(self._root).as_posix()] = path.stat().st_size
        return found

    def read(self, paths: Sequence[str]) -> dict[str, bytes]:
        return {path: (self._root / path).read_bytes() for path in paths}


class _Jar:
    """A zip file, whose stated sizes are not trusted."""

    def __init__(self, source: str, path: Path) -> None:
        self._source = source
        self._path = path

    def sizes(self) -> dict[str, int]:
        return self._guarded(lambda jar: {info.filename: info.file_size for info in jar.infolist()})

    def read(self, paths: Sequence[str]) -> dict[str, bytes]:
        return self._guarded(lambda jar: {path: self._entry(jar, path) for path in paths})

    def _entry(self, jar: zipfile.ZipFile, path: str) -> bytes:
        if jar.getinfo(path).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise zipfile.BadZipFile(f"{path} is not compressed as jars are")
        with jar.open(path) as entry:
            data = entry.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise zipfile.BadZipFile(f"{path} is larger than it says")
        return data

    def _guarded(self, use: Callable[[zipfile.ZipFile], _T]) -> _T:
        try:
            with zipfile.ZipFile(self._path) as jar:
                return use(jar)
        except (
            zipfile.BadZipFile,
            OSError,
            RuntimeError,
            EOFError,
            ValueError,
            zlib.error,
        ) as error:
            raise SourceError(
                self._source, f"it cannot be read as a jar ({error}); download it again"
            ) from None


class GitRevision:
    """One revision of a git repository, read without a checkout.

    Contents are requested by object id, never by path, since paths are untrusted text.
    """

    def __init__(self, source: str, repository: str, revision: str) -> None:
        self._source = source
        self._repository = Path(repository)
        commit = f"{revision}^{{commit}}"
        found = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", commit)
        self._commit = found.decode().strip()

    def prefix(self) -> str:
        """Return the directory's path in the repository: empty, or ending in a slash."""
        return self._git("rev-parse", "--show-prefix").decode("utf-8", "replace").rstrip("\n")

    def sizes(self) -> dict[str, int]:
        """Return every file of the revision with its size; 0 if its content is missing."""
        return {path: size for path, (_, size) in self._files.items()}

    def read(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Return the contents of files, by path from the top of the repository."""
        files = {path: self._files[path] for path in paths}
        sizes = {path: size for path, (_, size) in files.items()}
        check_sizes(self._source, sizes)
        object_ids = "".join(f"{name}\n" for name, _ in files.values())
        limit = sum(sizes.values()) + 200 * len(sizes)  # a header each
        output = self._git("cat-file", "--batch", stdin=object_ids.encode(), largest_output=limit)
        found: dict[str, bytes] = {}
        start = 0
        for path, (name, _) in files.items():
            head, _, _ = output[start : start + 200].partition(b"\n")
            match head.split():
                case [_, b"blob", size]:
                    first = start + len(head) + 1
                    start = first + int(size) + 1
                    found[path] = output[first : start - 1]
                case _:
                    raise SourceError(
                        f"{self._source}:{path}",
                        f"git object {name} is missing; clone the repository whole, without "
                        "--filter, or name a checkout instead",
                    )
        return found

    @cached_property
    def _files(self) -> dict[str, tuple[str, int]]:
        listing = self._git(
            "ls-tree", "-r", "-l", "-z", "--full-tree", self._commit, largest_output=LARGEST_LISTING
        )
        found: dict[str, tuple[str, int]] = {}
        for line in listing.decode("utf-8", "replace").split("\0")[:-1]:
            facts, _, path = line.partition("\t")
            mode, _, name, size = facts.split()
            if mode.startswith("100"):  # a file, not a link or submodule
                # git prints BAD instead of the size if the object is missing.
                found[path] = name, int(size) if size.isdecimal() else 0
        return found

    def _git(
        self, *arguments: str, stdin: bytes = b"", largest_output: int = LARGEST_FILE
    ) -> bytes:
        try:
            return run_git(self._repository, arguments, stdin=stdin, largest_output=largest_output)
        except GitError as error:
            raise SourceError(
                self._source,
                f"git cannot read this revision ({error}); name a tag, a branch or a commit of "
                "that repository after the @, or a directory with its files",
            ) from None
