"""Resolves paths and globs, on this machine and in object stores.

A path is a segment, a partition directory, a data directory or one above it, or a glob of them.
Without a scheme it is on this machine; `s3://` (and `s3a://`), `gs://`, `abfss://` and `hdfs://`
are opened with pyarrow. Spark's own credentials do not reach Python workers: the options that
begin with `fs.`, `fs.access_key` for instance, are the arguments of the class in `pyarrow.fs`.

A named path is read, or an error says why not. A glob selects Kafka's files and directories among
its matches; it selects files with other names, or marked for deletion, only if it ends in their
suffix.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self

from pyarrow import fs

from kraftwire.log.directories.file_names import parse_file_name
from kraftwire.log.sources.storage import LOCAL, DirectoryEntry, OpenSource, Storage
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.options import FILE_SYSTEM, parse_flag

_MAGIC = re.compile(r"[*?\[{]")
_READ_AHEAD = 8 << 20
"""Bytes to request at a time if a file is read sequentially."""
_MIN_READ = 64 << 10

_PARSERS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("anonymous", "force_virtual_addressing", "background_writes"), parse_flag),
    **dict.fromkeys(("allow_bucket_creation", "allow_bucket_deletion"), parse_flag),
    **dict.fromkeys(("connect_timeout", "request_timeout"), float),
    **dict.fromkeys(("port", "replication", "buffer_size", "default_block_size"), int),
}
"""Parsers of the arguments of pyarrow's classes that are not strings."""


class ArrowStorage:
    """A pyarrow file system; it is pickled without its listings."""

    def __init__(self, file_system: Any, place: str) -> None:
        """`file_system` is a `pyarrow.fs.FileSystem`; `place` is the prefix of its paths."""
        self._fs = file_system
        self._place = place
        self._below: dict[str, list[DirectoryEntry]] = {}
        self._known: dict[str, Any] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return ArrowStorage, (self._fs, self._place)

    def list_below(self, path: Path) -> None:
        """List a directory recursively, which takes a store the fewest requests."""
        below: defaultdict[str, list[DirectoryEntry]] = defaultdict(list)
        below[str(path)] = []
        for found, entry in self._listed(path, recursive=True):
            below[str(found.parent)].append(entry)
        self._below.update(below)

    def _listed(self, directory: Path, *, recursive: bool) -> Iterator[tuple[Path, DirectoryEntry]]:
        for info in self._fs.get_file_info(fs.FileSelector(str(directory), recursive=recursive)):
            # Some file systems leave out the root that others have.
            path = Path(directory.root) / info.path.lstrip("/")
            self._known[str(path)] = info
            yield path, DirectoryEntry(info.base_name, info.type == fs.FileType.Directory)

    def _info(self, path: Path) -> Any:
        if str(path) not in self._known:
            info = self._fs.get_file_info(str(path))
            if info.type == fs.FileType.NotFound:
                raise FileNotFoundError(f"{path}: it does not exist in {self._fs.type_name}")
            self._known[str(path)] = info
        return self._known[str(path)]

    def is_directory(self, path: Path) -> bool:
        return bool(self._info(path).type == fs.FileType.Directory)

    def entries(self, directory: Path) -> Iterable[DirectoryEntry]:
        found = self._below.get(str(directory))
        if found is None:
            found = [entry for _, entry in self._listed(directory, recursive=False)]
        return found

    def identities(self, paths: Iterable[Path]) -> Iterator[Path]:
        yield from paths

    def size(self, path: Path) -> int:
        size: int = self._info(path).size
        return size

    def open(self, path: Path) -> OpenSource:
        return ArrowSource(self._fs.open_input_file(str(path)), self.name_of(path))

    def name_of(self, path: Path) -> str:
        """Return the full name of a path, which `resolve` accepts."""
        if self._place.startswith("abfss:"):
            container, *rest = path.parts
            return "/".join([self._place.replace("//", f"//{container}@").rstrip("/"), *rest])
        return f"{self._place}{path}"


class ArrowSource:
    """A file of an object store, with read-ahead if it is read sequentially."""

    def __init__(self, file: Any, name: str) -> None:
        """`file` is a `pyarrow.NativeFile` with random access."""
        self.name = name
        self.size = file.size()
        self._file = file
        self._block = b""
        self._begin = 0

    def read_at(self, position: int, size: int) -> bytes:
        return bytes(self._view(position, size))

    def read_into(self, position: int, buffer: bytearray) -> int:
        data = self._view(position, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _view(self, position: int, size: int) -> memoryview:
        size = max(min(size, self.size - position), 0)
        at = position - self._begin
        if at < 0 or at + size > len(self._block):
            is_sequential = 0 < at <= len(self._block)
            length = max(size, _READ_AHEAD if is_sequential else _MIN_READ)
            self._begin, at = position, 0
            self._block = self._file.read_at(min(length, self.size - position), position)
        return memoryview(self._block)[at : at + size]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


@dataclass
class PathSet:
    """A storage, and the paths in it to read."""

    storage: Storage
    paths: list[Path] = field(default_factory=list)
    matched: set[Path] = field(default_factory=set)
    """The paths that a glob matched."""
    explicit: set[Path] = field(default_factory=set)
    """The paths to read whatever their state: named, or matched by a glob with their suffix."""


def resolve(paths: Iterable[str], options: Mapping[str, str]) -> list[PathSet]:
    """Return the storages of some paths, each once, with the paths there; globs are expanded."""
    found: dict[str, PathSet] = {}
    for text in paths:
        name, path = _split(text)
        if name not in found:
            found[name] = PathSet(_storage(name, options))
        try:
            _add(found[name], path, text)
        except FileNotFoundError:
            raise
        except OSError as error:
            if name == _LOCAL_PLACE:
                raise
            advice = "pass credentials as options like fs.access_key, named as in pyarrow.fs"
            raise KraftwireError(f"{text}: {error}; {advice}") from None
    return list(found.values())


def _add(place: PathSet, path: Path, text: str) -> None:
    """Add a path, or what a glob matches."""
    storage = place.storage
    if _MAGIC.search(str(path)):
        found = list(_expand(path, storage))
        if not found:
            raise KraftwireError(f"{text}: no file or directory of Kafka matches")
        place.matched.update(match for match, _ in found)
    else:
        found = [(path, True)]
    for match, is_explicit in found:
        if isinstance(storage, ArrowStorage) and storage.is_directory(match):
            storage.list_below(match)
        place.paths.append(match)
        if is_explicit:
            place.explicit.add(match)


_LOCAL_PLACE = ""
_SAME_AS = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss"}


def _split(text: str) -> tuple[str, Path]:
    """Return the scheme and host of a path, and the path there."""
    match = re.fullmatch(r"(?s)([A-Za-z][A-Za-z0-9+.-]+):(?://([^/]*))?(/.*)?", text)
    if match is None or (match[2] is None and match[3] is None):
        return _LOCAL_PLACE, Path(text).absolute()
    scheme, host, path = match[1].lower(), match[2] or "", Path(match[3] or "/")
    scheme = _SAME_AS.get(scheme, scheme)
    if scheme == "file":
        return _LOCAL_PLACE, path
    if scheme in ("hdfs", "viewfs"):
        return f"{scheme}://{host}", path
    if scheme not in ("s3", "gs", "abfss"):
        known = "s3, s3a, gs, abfss, hdfs, file"
        raise KraftwireError(f"{text}: unknown file system {scheme}://; there are {known}")
    container, at, account = host.rpartition("@") if scheme == "abfss" else (host, "@", "")
    if not (container and at):
        form = "container@account.dfs.core.windows.net" if scheme == "abfss" else "bucket"
        raise KraftwireError(f"{text}: it has no {form} after {scheme}://")
    within = Path(container) / path.relative_to("/")
    return (f"{scheme}://{account}/", within) if account else (f"{scheme}://", within)


def _storage(place: str, options: Mapping[str, str]) -> Storage:
    if place == _LOCAL_PLACE:
        return LOCAL
    scheme, _, host = place.partition("://")
    try:
        arguments = {name: _argument(name, text) for name, text in options.items()}
        return ArrowStorage(_open(scheme, host, arguments), place)
    except (TypeError, ValueError, AttributeError, ImportError, OSError) as error:
        given = ", ".join(FILE_SYSTEM + name for name in options) or f"no {FILE_SYSTEM} option"
        reason = str(error).partition("\n")[0]
        raise KraftwireError(f"{place}: pyarrow cannot open it with {given}: {reason}") from None


def _argument(name: str, text: str) -> object:
    try:
        return _PARSERS.get(name, str)(text.strip())
    except ValueError as error:
        raise ValueError(f"{FILE_SYSTEM}{name}: {error}") from None


def _open(scheme: str, host: str, arguments: dict[str, Any]) -> Any:
    if scheme == "s3":
        return fs.S3FileSystem(**arguments)
    if scheme == "gs":
        return fs.GcsFileSystem(**arguments)
    if scheme == "abfss":
        account = host.removesuffix("/").partition(".")[0]
        return fs.AzureFileSystem(**{"account_name": account, **arguments})
    name, _, port = host.partition(":")
    arguments.setdefault("host", name or "default")
    arguments.setdefault("port", int(port or 0))
    return fs.HadoopFileSystem(**arguments)


def _expand(path: Path, storage: Storage) -> Iterator[tuple[Path, bool]]:
    """Yield the paths that a glob matches, and for each whether the glob ends in its suffix."""
    for plain in _alternatives(str(path)):
        parts = Path(plain).parts
        suffix = Path(plain).suffix
        for match in _matches(Path(parts[0]), parts[1:], storage):
            is_explicit = match.suffix == suffix and suffix in _SUFFIXES
            if is_explicit or storage.is_directory(match) or _is_kafka_file(match.name):
                yield match, is_explicit


def _is_kafka_file(name: str) -> bool:
    return parse_file_name(name) is not None


_SUFFIXES = (".log", ".checkpoint", ".deleted")


def _alternatives(text: str) -> Iterator[str]:
    """Yield `ab` and `ac` for `a{b,c}`."""
    match = re.search(r"\{([^{}]*)\}", text)
    if match is None:
        yield text
        return
    for choice in match[1].split(","):
        yield from _alternatives(text[: match.start()] + choice + text[match.end() :])


def _matches(path: Path, parts: tuple[str, ...], storage: Storage) -> Iterator[Path]:
    if not parts:
        yield path
        return
    first, rest = parts[0], parts[1:]
    if not _MAGIC.search(first):
        below = path / first
        # Not every match of a glob needs the rest: `*/tea-0` skips directories without tea-0.
        if rest or _exists(below, storage):
            yield from _matches(below, rest, storage)
        return
    try:
        names = sorted(
            entry.name
            for entry in storage.entries(path)
            if entry.is_directory
            or not (rest or (entry.problem and not _is_kafka_file(entry.name)))
        )
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if fnmatchcase(name, first):
            yield from _matches(path / name, rest, storage)


def _exists(path: Path, storage: Storage) -> bool:
    try:
        storage.is_directory(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
