"""The commands `storage info` and `storage random-uuid`."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import click

from kraftwire.cli.options.config import config_option, reporting_problems
from kraftwire.console.failures import exit_with_findings
from kraftwire.console.output import output_option, print_rows
from kraftwire.node.settings.storage_properties import StorageProperties, read_storage_properties
from kraftwire.node.storage.directories import (
    LogDirectory,
    problems_of,
    random_id,
    read_directory,
    unformatted_reason,
)
from kraftwire_wire.uuids import format_uuid

_COLUMNS = ("directory", "holds", "cluster id", "node", "directory id", "problem")


@click.command()
@config_option
@output_option
def info(config: Path, output: str | None) -> None:
    """Show to which node each directory belongs, and what is wrong with it.

    The directories are those of log.dirs and metadata.log.dir. Nothing is written.

    Exit codes: 0 all are usable, 1 problems, 2 could not read the settings.

    \b
    Example:
      kraftwire storage info -c server.properties
    """
    with reporting_problems():
        properties = read_storage_properties(config)
    found = [read_directory(path) for path in properties.directories]
    problems = _problems(found, properties)
    rows = [_row(one, properties, problems[one.path]) for one in found]
    print_rows(output, _COLUMNS, rows, folded=("directory", "problem"))
    exit_with_findings(any(problems.values()))


@click.command("random-uuid")
def random_uuid() -> None:
    """Print a random id, for a cluster or a directory.

    \b
    Example:
      kraftwire storage format -t "$(kraftwire storage random-uuid)" -s -c server.properties
    """
    click.echo(format_uuid(random_id()))


def _problems(
    found: list[LogDirectory], properties: StorageProperties
) -> defaultdict[Path, list[str]]:
    problems: defaultdict[Path, list[str]] = defaultdict(list)
    for path, reason in problems_of(found, properties.node_id):
        problems[path].append(reason)
    for one in found:
        if one.problem is not None:
            continue
        if one.meta is None:
            problems[one.path].append(unformatted_reason(one.path))
        elif one.meta.directory_id is None:
            problems[one.path].append("it has no directory.id; a node adds one when it starts")
    return problems


def _row(
    one: LogDirectory, properties: StorageProperties, problems: list[str]
) -> tuple[dict[str, object], tuple[object, ...]]:
    meta = one.meta
    holds = "metadata log" if one.path == properties.metadata_log_dir else "data"
    ids = (meta.cluster_id, meta.node_id, meta.directory_id) if meta else (None, None, None)
    obj: dict[str, object] = {
        "directory": str(one.path),
        "holds": holds,
        "formatted": meta is not None,
        "version": meta.version if meta else None,
        **dict(zip(("clusterId", "nodeId", "directoryId"), ids, strict=True)),
        "problems": problems,
    }
    return obj, (one.path, holds, *ids, "; ".join(problems))
