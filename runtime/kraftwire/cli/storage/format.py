"""The command `storage format`: writes meta.properties and the first voters."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from kraftwire.cli.options.config import config_option, reporting_problems
from kraftwire.console.output import output_option, print_rows
from kraftwire.node.settings.property_reader import parse_number
from kraftwire.node.settings.storage_properties import StorageProperties, read_storage_properties
from kraftwire.node.storage.directories import FILE_NAME
from kraftwire.node.storage.features import NEWEST, MetadataVersion, parse_metadata_version
from kraftwire.node.storage.format_options import (
    FormatOptions,
    parse_cluster_id,
    parse_initial_controllers,
    standalone_voters,
)
from kraftwire.node.storage.formatting import FormatPlan, plan_format, write_format
from kraftwire.raft.state.voters import NO_VOTERS, VoterSet

T = TypeVar("T")

_COLUMNS = ("directory", "what was done", "directory id", "files")
_NO_RELEASE = "none"
_MAX_LEVEL = 0x7FFF


@click.command("format")
@click.option("-t", "--cluster-id", required=True, metavar="ID", help="The cluster's id.")
@config_option
@click.option("-s", "--standalone", is_flag=True, help="This controller is the only voter.")
@click.option(
    "-I",
    "--initial-controllers",
    metavar="VOTERS",
    help="The first voters, id@host:port:directory-id,...; the same for each of them.",
)
@click.option(
    "-N",
    "--no-initial-controllers",
    is_flag=True,
    help="Find the voters by asking bootstrap servers.",
)
@click.option(
    "-g", "--ignore-formatted", is_flag=True, help="Leave formatted directories as they are."
)
@click.option(
    "-r",
    "--release-version",
    default=NEWEST.name,
    show_default=True,
    metavar="RELEASE",
    help=f"The release of Kafka that will start on it, such as 4.3, or {_NO_RELEASE}.",
)
@click.option(
    "-f",
    "--feature",
    "features",
    multiple=True,
    metavar="NAME=LEVEL",
    help="A feature's level, if it differs from that of the release.",
)
@click.option("--dry-run", is_flag=True, help="Change nothing; only print what would be done.")
@output_option
def format_(
    cluster_id: str,
    config: Path,
    standalone: bool,
    initial_controllers: str | None,
    no_initial_controllers: bool,
    ignore_formatted: bool,
    release_version: str,
    features: tuple[str, ...],
    dry_run: bool,
    output: str | None,
) -> None:
    """Format the directories of a node, and name the first voters.

    The directories are those of log.dirs and metadata.log.dir; missing ones are created if
    their parents exist. Each gets an id, in meta.properties. The files are those that
    kafka-storage writes, and a node of Kafka can start on them. With --release-version none
    there are no records for Kafka's controller: the log belongs to another state machine.

    \b
    A controller needs controller.quorum.voters in its settings, or one of
      --standalone, --initial-controllers, --no-initial-controllers

    Exit codes: 0 done, 2 could not do it; then nothing has changed.

    \b
    Examples:
      kraftwire storage format -t "$(kraftwire storage random-uuid)" -s -c server.properties
      kraftwire storage format -t MkU3OEVBNTcwNTJENDM2Qk -N -c server.properties --dry-run
    """
    if standalone + (initial_controllers is not None) + no_initial_controllers > 1:
        names = "--standalone, --initial-controllers and --no-initial-controllers"
        raise click.UsageError(f"{names} exclude each other")
    with reporting_problems():
        properties = read_storage_properties(config)
        options = FormatOptions(
            cluster_id=_parse_option("-t", cluster_id, parse_cluster_id),
            initial_controllers=_voters(properties, initial_controllers, standalone=standalone),
            no_initial_controllers=no_initial_controllers,
            ignore_formatted=ignore_formatted,
            release=_parse_option("-r", release_version, _parse_release),
            features=dict(_parse_option("-f", one, _parse_feature) for one in features),
        )
        plan = plan_format(properties, options, time.time_ns() // 1_000_000)
        if not dry_run:
            write_format(plan)
    _print(plan, "would be formatted" if dry_run else "formatted", output)


def _voters(
    properties: StorageProperties, initial_controllers: str | None, *, standalone: bool
) -> VoterSet:
    if standalone:
        return standalone_voters(properties)
    if initial_controllers is None:
        return NO_VOTERS
    listener = properties.default_listener
    return _parse_option(
        "-I", initial_controllers, lambda text: parse_initial_controllers(text, listener)
    )


def _parse_option(option: str, text: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def _parse_release(text: str) -> MetadataVersion | None:
    return None if text == _NO_RELEASE else parse_metadata_version(text)


def _parse_feature(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    if not equals:
        raise ValueError(f"{text[:60]!r} is not name=level, such as group.version=1")
    return name.strip(), parse_number(level.strip(), 0, _MAX_LEVEL)


def _print(plan: FormatPlan, done: str, output: str | None) -> None:
    rows: list[tuple[str, str, str | None, list[str]]] = [
        (str(one.path), done, one.meta.directory_id, [*one.files, FILE_NAME]) for one in plan.new
    ]
    rows += [(str(path), "was formatted already", None, []) for path in plan.formatted]
    keys = ("directory", "done", "directoryId", "files")
    printed = [(dict(zip(keys, row, strict=True)), (*row[:3], ", ".join(row[3]))) for row in rows]
    print_rows(output, _COLUMNS, printed)
