"""Formats directories for a node, as `kafka-storage format` does.

    plan = plan_format(properties, FormatOptions(cluster_id=...), now_ms)     # changes nothing
    write_format(plan)

`meta.properties` is written last, and that of the metadata log's directory last of all, so an
interrupted format leaves nothing that counts as formatted. A failed one removes its files. Up to
release 4.3, Kafka's controller finds its first features in a `bootstrap.checkpoint` in every
directory; since 4.4 they are in the checkpoint of offset 0 of the metadata log. A controller of 4.4
reads both, an earlier one only the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from kraftwire.log.directories.file_names import snapshot_name
from kraftwire.log.directories.partition import METADATA_TOPIC
from kraftwire.log.small_files.properties import MetaProperties
from kraftwire.node.disk.files import TEMPORARY, make_directory, replace_file
from kraftwire.node.settings.storage_properties import Role, StorageProperties
from kraftwire.node.storage.directories import (
    FILE_NAME,
    VERSION,
    LogDirectory,
    Problem,
    UnusableDirectories,
    problems_of,
    random_id,
    read_directory,
    write_meta_properties,
)
from kraftwire.node.storage.features import parse_metadata_version
from kraftwire.node.storage.format_options import (
    FormatOptions,
    check_voters,
    first_kraft_version,
    first_levels,
)
from kraftwire.node.storage.initial_checkpoints import (
    BOOTSTRAP_NAME,
    bootstrap_checkpoint,
    first_checkpoint,
)
from kraftwire_wire.uuids import format_uuid

LOG_NAME = f"{METADATA_TOPIC}-0"
FIRST_CHECKPOINT = f"{LOG_NAME}/{snapshot_name(0, 0)}"
_SINCE_ONE_CHECKPOINT = parse_metadata_version("4.4-IV0")


class NewDirectory(NamedTuple):
    """A directory to format, and the files to write before `meta.properties`."""

    path: Path
    meta: MetaProperties
    files: Mapping[str, bytes]


class FormatPlan(NamedTuple):
    """The directories to format, in order, and those that are formatted already."""

    new: tuple[NewDirectory, ...]
    formatted: tuple[Path, ...]


def plan_format(properties: StorageProperties, options: FormatOptions, now: int) -> FormatPlan:
    """Plan a format; raise `FormatRefused`, or `UnusableDirectories` with all reasons."""
    check_voters(properties, options)
    levels = first_levels(properties, options)
    found = [read_directory(path) for path in properties.directories]
    problems = [*problems_of(found, properties.node_id), *_problems(found, properties, options)]
    if problems:
        raise UnusableDirectories(problems)
    # The directory of the metadata log comes last.
    missing = sorted(
        (one.path for one in found if one.meta is None),
        key=lambda path: path == properties.metadata_log_dir,
    )
    new = tuple(
        NewDirectory(
            path,
            _meta(path, properties, options),
            _files(path, properties, options, levels, now),
        )
        for path in missing
    )
    return FormatPlan(new, tuple(one.path for one in found if one.meta is not None))


def write_format(plan: FormatPlan) -> None:
    """Write the files of a plan; if that fails, remove them and raise the error."""
    with _undo_on_failure() as written:
        for path, _, files in plan.new:
            for name, data in files.items():
                _make_directory((path / name).parent, written)
                written.append(path / name)
                replace_file(path / name, data)
            _make_directory(path, written)
        for path, meta, _ in plan.new:
            written.append(path / FILE_NAME)
            write_meta_properties(path, meta)


def _meta(path: Path, properties: StorageProperties, options: FormatOptions) -> MetaProperties:
    own = _own_directory_id(properties, options) if path == properties.metadata_log_dir else None
    directory_id = own or format_uuid(random_id())
    return MetaProperties(VERSION, options.cluster_id, properties.node_id, directory_id)


def _own_directory_id(properties: StorageProperties, options: FormatOptions) -> str | None:
    """Return this node's directory id if it is one of the first voters."""
    own = options.initial_controllers.of_id(properties.node_id)
    return format_uuid(own[0].key.directory_id) if own else None


def _files(
    path: Path,
    properties: StorageProperties,
    options: FormatOptions,
    levels: Mapping[str, int],
    now: int,
) -> dict[str, bytes]:
    voters = options.initial_controllers
    kraft_version = first_kraft_version(properties)
    is_metadata = path == properties.metadata_log_dir
    if options.release is not None and options.release >= _SINCE_ONE_CHECKPOINT:
        if not is_metadata or Role.CONTROLLER not in properties.roles:
            return {}
        return {FIRST_CHECKPOINT: first_checkpoint(voters, kraft_version, levels, now)}
    files = {BOOTSTRAP_NAME: bootstrap_checkpoint(levels, now)} if levels else {}
    if is_metadata and len(voters):
        files[FIRST_CHECKPOINT] = first_checkpoint(voters, kraft_version, {}, now)
    return files


def _problems(
    found: list[LogDirectory], properties: StorageProperties, options: FormatOptions
) -> Iterator[Problem]:
    """Yield why directories cannot be formatted, or left as they are."""
    for path, meta, problem in found:
        if problem is not None:
            continue
        if meta is None:
            reason = _obstacle(path)
        else:
            reason = _contradiction(meta, options)
            own = _own_directory_id(properties, options)
            if path == properties.metadata_log_dir and own not in (None, meta.directory_id):
                has = (
                    f"directory.id {meta.directory_id}" if meta.directory_id else "no directory.id"
                )
                reason = reason or f"it has {has}, but voter {properties.node_id} needs {own}"
        if reason is not None:
            yield Problem(path, reason)


def _contradiction(meta: MetaProperties, options: FormatOptions) -> str | None:
    """Return why a formatted directory cannot be left as it is."""
    if meta.cluster_id != options.cluster_id:
        return f"it belongs to cluster {meta.cluster_id}, not to {options.cluster_id}"
    if not options.ignore_formatted:
        return "it is already formatted; -g skips it"
    return None


def _obstacle(path: Path) -> str | None:
    """Return why a directory without `meta.properties` cannot be formatted."""
    if not path.is_dir():
        if not path.parent.is_dir():
            return f"{path.parent} does not exist: make it, or mount it, first"
        return None if os.access(path.parent, os.W_OK) else f"{path.parent} cannot be written to"
    if not os.access(path, os.W_OK | os.X_OK):
        return "it cannot be written to"
    log = path / LOG_NAME
    if log.is_dir() and {one.name for one in log.iterdir()} - _LEFT_OVER:
        lost = f"it has a {LOG_NAME}, but no {FILE_NAME}: restore that, or move the log away"
        return f"{lost}; a node that continues it under a new id could lose committed records"
    return None


_LEFT_OVER = {snapshot_name(0, 0), snapshot_name(0, 0) + TEMPORARY}
"""What an interrupted format leaves in the directory of the log."""


def _make_directory(path: Path, written: list[Path]) -> None:
    """Make a directory and its missing parents, and add them to `written`."""
    written += reversed([one for one in (path, *path.parents) if not one.exists()])
    make_directory(path)


@contextmanager
def _undo_on_failure() -> Iterator[list[Path]]:
    """Yield a list for new paths; remove them if an exception is raised."""
    written: list[Path] = []
    try:
        yield written
    except BaseException:
        for path in reversed(written):
            with suppress(OSError):
                if path.is_dir():
                    path.rmdir()
                else:
                    path.with_name(path.name + TEMPORARY).unlink(missing_ok=True)
                    path.unlink(missing_ok=True)
        raise
