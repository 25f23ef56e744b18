"""Reads and checks the identity of a node's directories: `meta.properties` in each of them.

Every directory has an id (KIP-858), and that of the metadata log is part of a voter's identity
(KIP-853). So a node refuses a directory without the file until somebody formats it: a voter with an
empty directory and its old id could vote twice. A directory that was formatted before such ids
existed gets one when the node starts.

Version 0 of the file predates KRaft. KIP-856 calls the id `storage.id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid4

from kraftwire.log.errors import CorruptBatch
from kraftwire.log.small_files.properties import (
    MetaProperties,
    decode_meta_properties,
    encode_meta_properties,
)
from kraftwire.node.disk.files import replace_file
from kraftwire.node.settings.storage_properties import StorageProperties
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.uuids import format_uuid, parse_uuid

FILE_NAME = "meta.properties"
VERSION = 1

_RESERVED = 100
"""Lower ids are reserved: 0 for none, 1 for unassigned, 2 for lost (KIP-858)."""


class Problem(NamedTuple):
    """Why a directory cannot be used."""

    directory: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.directory}: {self.reason}"


class UnusableDirectories(KraftwireError):
    """Directories that a node cannot use: `problems` has every reason."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class LogDirectory(NamedTuple):
    """A directory and its `meta.properties`; None if it has none."""

    path: Path
    meta: MetaProperties | None = None
    problem: str | None = None
    """Why it cannot be used; None also for a directory that is not formatted."""

    @property
    def directory_id(self) -> UUID | None:
        """The id; None if it has none."""
        text = self.meta.directory_id if self.meta is not None else None
        return None if text is None or self.problem is not None else parse_uuid(text)


@dataclass(frozen=True)
class Identity:
    """The identity that a node's directories give it."""

    cluster_id: str
    directory_ids: Mapping[Path, UUID]


def random_id() -> UUID:
    """Return a new id whose string does not begin with a dash, as an option does."""
    while True:
        value = uuid4()
        if not is_reserved(value) and not format_uuid(value).startswith("-"):
            return value


def is_reserved(value: UUID) -> bool:
    """Whether no directory may have this id."""
    return value.int < _RESERVED


def read_directory(path: Path) -> LogDirectory:
    """Read the `meta.properties` of a directory; `problem` has the reason if that fails."""
    try:
        data = (path / FILE_NAME).read_bytes()
    except FileNotFoundError:
        return LogDirectory(path)
    except NotADirectoryError:
        return LogDirectory(path, problem="it is a file, or in one: name a directory")
    except OSError as error:
        return LogDirectory(path, problem=f"{FILE_NAME} cannot be read: {error.strerror}")
    try:
        meta = decode_meta_properties(data, str(path / FILE_NAME))
    except CorruptBatch as error:
        return LogDirectory(path, problem=f"{FILE_NAME} is damaged: {error.reason}")
    return LogDirectory(path, meta, _problem_of(meta))


def _problem_of(meta: MetaProperties) -> str | None:
    if meta.version == 0:
        return "it is from before KRaft (version 0), which kraftwire cannot read"
    if meta.version != VERSION:
        return f"version {meta.version} is unknown; kraftwire reads version {VERSION}"
    missing = "cluster.id" if meta.cluster_id is None else "node.id"
    if meta.cluster_id is None or meta.node_id is None:
        return f"{FILE_NAME} has no {missing}"
    if meta.directory_id is None:
        return None
    try:
        value = parse_uuid(meta.directory_id)
    except ValueError:
        return f"directory.id {meta.directory_id[:40]!r} is not an id"
    return f"directory.id {meta.directory_id} is reserved" if is_reserved(value) else None


def problems_of(directories: Iterable[LogDirectory], node_id: int) -> list[Problem]:
    """Return the problems of directories, and contradictions between them."""
    found = []
    first: MetaProperties | None = None
    by_id: dict[UUID, Path] = {}
    for path, meta, problem in directories:
        if problem is not None:
            found.append(Problem(path, problem))
        if meta is None or problem is not None:
            continue
        first = first or meta
        if meta.cluster_id != first.cluster_id:
            clusters = f"{meta.cluster_id}, others belong to {first.cluster_id}"
            found.append(Problem(path, f"it belongs to cluster {clusters}"))
        if meta.node_id != node_id:
            found.append(Problem(path, f"it belongs to node {meta.node_id}, not to {node_id}"))
        if meta.directory_id is not None:
            other = by_id.setdefault(parse_uuid(meta.directory_id), path)
            if other != path:
                found.append(
                    Problem(path, f"it has the same directory.id as {other}: is it a copy?")
                )
    return found


def open_directories(properties: StorageProperties) -> Identity:
    """Return the identity of a node; raise `UnusableDirectories` with all problems.

    Give an id to a directory without one; it is durable when this returns.
    """
    found = [read_directory(path) for path in properties.directories]
    problems = problems_of(found, properties.node_id)
    known = {one.meta.cluster_id for one in found if one.meta is not None}
    for one in found:
        if one.meta is None and one.problem is None:
            problems.append(Problem(one.path, _advice(one.path, known, properties.file)))
    if problems:
        raise UnusableDirectories(problems)
    return Identity(
        cluster_id=str(known.pop()),
        directory_ids={one.path: one.directory_id or _give_id(one) for one in found},
    )


def unformatted_reason(path: Path) -> str:
    """Return why a directory without `meta.properties` is not formatted."""
    return f"it has no {FILE_NAME}" if path.is_dir() else "it does not exist"


def _advice(path: Path, clusters: set[str | None], config: str) -> str:
    """Return how to format a directory."""
    cluster = next((one for one in clusters if one), "CLUSTER_ID")
    options = f"-t {cluster} -c {config}{' -g -N' if clusters else ''}"
    return f"{unformatted_reason(path)}; if it is new: kraftwire storage format {options}"


def _give_id(directory: LogDirectory) -> UUID:
    assert directory.meta is not None, "it is formatted"
    value = random_id()
    write_meta_properties(directory.path, directory.meta._replace(directory_id=format_uuid(value)))
    return value


def write_meta_properties(directory: Path, meta: MetaProperties) -> None:
    """Write or replace the file of a directory."""
    replace_file(directory / FILE_NAME, encode_meta_properties(meta))
