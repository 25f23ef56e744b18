"""Paths as Spark's users write them, on this machine and in object stores.

A path is a segment, a partition directory or a data directory, or a glob of them. Without a
scheme it is on this machine; `s3://` (and `s3a://`), `gs://`, `abfss://` and `hdfs://` are
opened with pyarrow. Spark's own credentials do not reach Python workers: the options that
begin with `fs.` are the arguments of the class in `pyarrow.fs`, `fs.access_key` for instance.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from pyarrow import fs

from kraftwire.log.storage import LOCAL, Entry, OpenSource, Storage
from kraftwire_wire.errors import KraftwireError

_MAGIC = re.compile(r"[*?\[{]")
_READ_AHEAD = 8 << 20
"""Bytes asked for at once where a file is read from one end to the other."""
_LEAST = 64 << 10

_FLAGS = ("anonymous", "force_virtual_addressing", "allow_bucket_creation")


class ArrowStorage:
    """A file system of pyarrow's; it is pickled without what it has listed."""

    def __init__(self, file_system: Any) -> None:
        """`file_system` is a `pyarrow.fs.FileSystem`."""
        self._fs = file_system
        self._below: dict[str, list[Any]] = {}
        self._sizes: dict[str, int] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return ArrowStorage, (self._fs,)

    def list_below(self, path: Path) -> None:
        """List a directory and all below it at once, which costs a store the fewest requests."""
        found = self._fs.get_file_info(fs.FileSelector(str(path), recursive=True))
        below: defaultdict[str, list[Any]] = defaultdict(list)
        below[str(path)] = []
        for info in found:
            below[str(Path(info.path).parent)].append(info)
            if info.type == fs.FileType.File:
                self._sizes[info.path] = info.size
        self._below.update(below)

    def is_directory(self, path: Path) -> bool:
        """See `Storage.is_directory`."""
        info = self._fs.get_file_info(str(path))
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError(f"{path}: there is nothing in {self._fs.type_name}")
        return bool(info.type == fs.FileType.Directory)

    def entries(self, directory: Path) -> Iterable[Entry]:
        """See `Storage.entries`."""
        found = self._below.get(str(directory))
        if found is None:
            found = self._fs.get_file_info(fs.FileSelector(str(directory), recursive=False))
        for info in found:
            yield Entry(info.base_name, info.type == fs.FileType.Directory)

    def identity(self, path: Path) -> Path:
        """See `Storage.identity`."""
        return path

    def size(self, path: Path) -> int:
        """See `Storage.size`."""
        if str(path) not in self._sizes:
            self._sizes[str(path)] = self._fs.get_file_info(str(path)).size
        return self._sizes[str(path)]

    def open(self, path: Path) -> OpenSource:
        """See `Storage.open`."""
        return ArrowSource(self._fs.open_input_file(str(path)), str(path))


class ArrowSource:
    """A file of an object store, read ahead where it is read from one end to the other."""

    def __init__(self, file: Any, name: str) -> None:
        """`file` is a `pyarrow.NativeFile` with random access."""
        self.name = name
        self.size = file.size()
        self._file = file
        self._block = b""
        self._begin = 0

    def read_at(self, position: int, size: int) -> bytes:
        """See `Source.read_at`."""
        return bytes(self._view(position, size))

    def read_into(self, position: int, buffer: bytearray) -> int:
        """See `Source.read_into`."""
        data = self._view(position, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _view(self, position: int, size: int) -> memoryview:
        size = max(min(size, self.size - position), 0)
        at = position - self._begin
        if at < 0 or at + size > len(self._block):
            goes_on = 0 < at <= len(self._block)
            wanted = max(size, _READ_AHEAD if goes_on else _LEAST)
            self._begin, at = position, 0
            self._block = self._file.read_at(min(wanted, self.size - position), position)
        return memoryview(self._block)[at : at + size]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._file.close()


def resolve(paths: Iterable[str], options: Mapping[str, str]) -> list[tuple[Storage, list[Path]]]:
    """The storages of some paths, and the paths there, globs expanded; each storage once."""
    found: dict[str, tuple[Storage, list[Path]]] = {}
    for text in paths:
        place, path = _split(text)
        if place not in found:
            found[place] = (_storage(place, options), [])
        storage, below = found[place]
        matches = list(_expand(path, storage))
        if not matches:
            raise KraftwireError(f"{text}: nothing matches")
        for match in matches:
            if isinstance(storage, ArrowStorage) and storage.is_directory(match):
                storage.list_below(match)
            below.append(match)
    return list(found.values())


_LOCAL_PLACE = ""
_SAME_AS = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss"}


def _split(text: str) -> tuple[str, Path]:
    """The scheme and host of a path, and the path there."""
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/", text)
    if match is None:
        return _LOCAL_PLACE, Path(text).absolute()
    url = urlsplit(text, allow_fragments=False)
    scheme = _SAME_AS.get(url.scheme, url.scheme)
    if scheme == "file":
        return _LOCAL_PLACE, Path(url.path)
    path = url.path.strip("/") + (f"?{url.query}" if url.query else "")  # ? is a glob's
    if scheme in ("s3", "gs"):
        return f"{scheme}://", Path(url.netloc) / path
    if scheme == "abfss":
        container, _, host = url.netloc.rpartition("@")
        return f"abfss://{host}", Path(container) / path
    if scheme in ("hdfs", "viewfs"):
        return f"{scheme}://{url.netloc}", Path("/") / path
    known = "s3, s3a, gs, abfss, hdfs, file"
    raise KraftwireError(f"{text}: no file system is known for {url.scheme}://; there are {known}")


def _storage(place: str, options: Mapping[str, str]) -> Storage:
    if place == _LOCAL_PLACE:
        return LOCAL
    scheme, _, host = place.partition("://")
    arguments: dict[str, Any] = dict(options)
    for flag in _FLAGS:
        if flag in arguments:
            arguments[flag] = arguments[flag].lower() == "true"
    try:
        return ArrowStorage(_open(scheme, host, arguments))
    except (TypeError, ValueError, AttributeError) as error:
        given = ", ".join(f"fs.{name}" for name in options) or "no fs. option"
        raise KraftwireError(f"{place}: pyarrow cannot open it with {given}: {error}") from None


def _open(scheme: str, host: str, arguments: dict[str, Any]) -> Any:
    if scheme == "s3":
        return fs.S3FileSystem(**arguments)
    if scheme == "gs":
        return fs.GcsFileSystem(**arguments)
    if scheme == "abfss":
        account = host.partition(".")[0]
        return fs.AzureFileSystem(**{"account_name": account, **arguments})
    name, _, port = host.partition(":")
    arguments.setdefault("host", name or "default")
    arguments["port"] = int(arguments.get("port", port or 0))
    return fs.HadoopFileSystem(**arguments)


def _expand(path: Path, storage: Storage) -> Iterator[Path]:
    """The paths that a glob matches, in their order; a path without one is itself."""
    if not _MAGIC.search(str(path)):
        yield path
        return
    for plain in _alternatives(str(path)):
        parts = Path(plain).parts
        yield from _matches(Path(parts[0]), parts[1:], storage)


def _alternatives(text: str) -> Iterator[str]:
    """`a{b,c}` as `ab` and `ac`."""
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
        # Behind a glob a plain part need not be there: `*/tea-0` is what there is of it.
        if rest or _is_there(below, storage):
            yield from _matches(below, rest, storage)
        return
    try:
        names = sorted(e.name for e in storage.entries(path) if e.is_directory or not rest)
    except OSError:
        return
    for name in names:
        if fnmatchcase(name, first):
            yield from _matches(path / name, rest, storage)


def _is_there(path: Path, storage: Storage) -> bool:
    try:
        storage.is_directory(path)
    except OSError:
        return False
    return True
