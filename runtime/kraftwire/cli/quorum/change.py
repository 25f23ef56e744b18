"""The commands `quorum add-controller` and `quorum remove-controller`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import click

from kraftwire.cli.options.config import reporting_problems
from kraftwire.cli.options.connection import (
    QuorumTarget,
    format_directory_id,
    format_listener,
    parse_directory_id,
    parse_listeners,
    quorum_options,
)
from kraftwire.console.failures import CouldNotDoIt, Finding
from kraftwire.console.output import output_option, print_rows
from kraftwire.log.small_files.properties import decode_meta_properties
from kraftwire.node.settings.properties import advertised_listeners
from kraftwire.node.settings.storage_properties import read_storage_properties
from kraftwire.quorum.admin import Quorum, add_voter, remove_voter
from kraftwire.raft.state.voters import Listener, ReplicaKey
from kraftwire_wire.uuids import parse_uuid

F = TypeVar("F", bound=Callable[..., Any])

_COLUMNS = ("done", "controller", "directory id", "endpoints")


class _NewVoter(NamedTuple):
    """A controller that becomes a voter, and its listeners."""

    key: ReplicaKey
    listeners: tuple[Listener, ...]


def _key_options(*, required: bool) -> Callable[[F], F]:
    """Make the options that identify a controller, in all their spellings."""
    id_option = click.option(
        "--controller-id",
        "--replicaId",
        "controller_id",
        required=required,
        type=click.IntRange(0),
        metavar="N",
        help="Its node.id.",
    )
    directory_option = click.option(
        "--controller-directory-id",
        "--directory-id",
        "--replicaUuid",
        "directory_id",
        required=required,
        callback=parse_directory_id,
        metavar="ID",
        help="The id of its metadata log's directory.",
    )
    return lambda command: id_option(directory_option(command))


_dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Change nothing; only check whether it would be possible."
)


@click.command("add-controller")
@click.option(
    "-c",
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The server.properties of the new controller, on its machine.",
)
@_key_options(required=False)
@click.option(
    "--listener",
    "listeners",
    callback=parse_listeners,
    metavar="NAME://HOST:PORT",
    help="Where it listens; several with commas.",
)
@_dry_run_option
@quorum_options
@output_option
def add(
    config: Path | None,
    controller_id: int | None,
    directory_id: UUID | None,
    listeners: tuple[Listener, ...] | None,
    dry_run: bool,
    target: QuorumTarget,
    output: str | None,
) -> None:
    """Make a running controller, which observes the quorum, a voter.

    It is identified by its server.properties and the meta.properties of its metadata log, or by
    its id, its directory's id and its listener. The listener defaults to that of the voter with
    the same id: the same controller with a new disk.

    Exit codes: 0 done, 1 --dry-run found an obstacle, 2 could not do it.

    \b
    Examples:
      kraftwire quorum add-controller --bootstrap-controller localhost:9093 -c server.properties
      kraftwire quorum add-controller --bootstrap-controller localhost:9093 \\
        --controller-id 3 --directory-id VXS1qmTCSl-oVc5hLpbWIA \\
        --listener CONTROLLER://localhost:9095
    """
    if config is None and controller_id is None and directory_id is None:
        config = target.command_config  # as in Kafka's tool, which has no other option for it
    if config is not None:
        if controller_id is not None or directory_id is not None:
            raise click.UsageError("--config identifies the controller: leave out the ids")
        found = _read_config(config)
        new = found if listeners is None else found._replace(listeners=listeners)
    elif controller_id is None or directory_id is None:
        raise click.UsageError(
            "identify the controller: give --config, or --controller-id and --directory-id"
        )
    else:
        key = ReplicaKey(controller_id, directory_id)
        new = _NewVoter(key, listeners or _known_listeners(target, key))
    if dry_run:
        _check_adding(asyncio.run(target.describe()), new.key)
    else:
        at, security, timeout_s = target.servers, target.security, target.timeout_s
        asyncio.run(add_voter(at, new.key, new.listeners, security=security, timeout_s=timeout_s))
    _print("would be added" if dry_run else "added", new.key, new.listeners, output)


@click.command("remove-controller")
@_key_options(required=True)
@_dry_run_option
@quorum_options
@output_option
def remove(
    controller_id: int, directory_id: UUID, dry_run: bool, target: QuorumTarget, output: str | None
) -> None:
    """Remove a voter, whether it still runs or is lost.

    `quorum describe --replication` shows the ids.

    Exit codes: 0 done, 1 --dry-run found an obstacle, 2 could not do it.

    \b
    Example:
      kraftwire quorum remove-controller --bootstrap-controller localhost:9093 \\
        --controller-id 3 --controller-directory-id VXS1qmTCSl-oVc5hLpbWIA
    """
    key = ReplicaKey(controller_id, directory_id)
    if dry_run:
        _check_removing(asyncio.run(target.describe()), key)
    else:
        security, timeout_s = target.security, target.timeout_s
        asyncio.run(remove_voter(target.servers, key, security=security, timeout_s=timeout_s))
    _print("would be removed" if dry_run else "removed", key, (), output)


def _read_config(path: Path) -> _NewVoter:
    """Identify a controller by its settings and its metadata log's directory."""
    with reporting_problems():
        properties = read_storage_properties(path)
    if not properties.listeners:
        raise CouldNotDoIt(f"{path}: listeners: no controller listener")
    listeners = advertised_listeners(properties, {})
    if any(not one.port for one in listeners):
        raise CouldNotDoIt(f"{path}: listeners: nobody can connect to port 0; give --listener")
    file = properties.metadata_log_dir / "meta.properties"
    try:
        meta = decode_meta_properties(file.read_bytes(), str(file))
    except FileNotFoundError:
        cure = f"format the directory with kraftwire storage format -c {path}"
        raise CouldNotDoIt(f"{file} does not exist: {cure}") from None
    try:
        directory = parse_uuid(meta.directory_id or "")
    except ValueError:
        raise CouldNotDoIt(f"{file}: directory.id: {meta.directory_id!r} is not an id") from None
    return _NewVoter(ReplicaKey(properties.node_id, directory), listeners)


def _known_listeners(target: QuorumTarget, key: ReplicaKey) -> tuple[Listener, ...]:
    """Return the listeners of the voter with the same id but another directory."""
    for voter in asyncio.run(target.describe()).voters:
        if voter.replica_id == key.id and voter.listeners:
            return voter.listeners
    raise CouldNotDoIt(
        f"no voter has id {key.id}, so its listener is unknown: give --listener NAME://HOST:PORT"
    )


def _check_adding(quorum: Quorum, key: ReplicaKey) -> None:
    """Raise `Finding` if Kafka would refuse a new voter."""
    for voter in quorum.voters:
        if voter.replica_id == key.id:
            directory = format_directory_id(voter.directory_id) or "no directory"
            raise Finding(f"controller {key.id} is a voter with {directory}: remove that first")
    seen = [ReplicaKey(one.replica_id, one.directory_id or UUID(int=0)) for one in quorum.observers]
    if key not in seen:
        known = format_directory_id(key.directory_id)
        raise Finding(
            f"controller {key.id} with {known} is not an observer: start it and let it fetch first"
        )


def _check_removing(quorum: Quorum, key: ReplicaKey) -> None:
    """Raise `Finding` if a voter cannot be removed."""
    keys = [(voter.replica_id, voter.directory_id) for voter in quorum.voters]
    if (key.id, key.directory_id) not in keys:
        known = format_directory_id(key.directory_id)
        raise Finding(f"there is no voter {key.id} with {known}")
    if len(keys) == 1:
        raise Finding(f"controller {key.id} is the last voter")


def _print(done: str, key: ReplicaKey, listeners: Sequence[Listener], output: str | None) -> None:
    endpoints = [format_listener(one) for one in listeners]
    directory = format_directory_id(key.directory_id)
    obj: dict[str, Any] = {"done": done, "controllerId": key.id, "directoryId": directory}
    cells = done, key.id, directory, ", ".join(endpoints)
    print_rows(output, _COLUMNS, [(obj | ({"endpoints": endpoints} if endpoints else {}), cells)])
