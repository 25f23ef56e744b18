"""The commands `quorum add-controller` and `quorum remove-controller`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import click

from kraftwire.cli.options.config import telling_all
from kraftwire.cli.options.connection import (
    Target,
    directory_text,
    endpoint,
    quorum_options,
    run,
    to_directory,
    to_listeners,
)
from kraftwire.console.failures import CouldNotDoIt, Finding
from kraftwire.console.output import output_option, print_json, print_table, wants_json
from kraftwire.log.properties import decode_meta_properties
from kraftwire.node.settings.properties import advertised_listeners
from kraftwire.node.settings.storage_properties import read_storage_properties
from kraftwire.quorum.admin import Quorum, add_voter, describe_quorum, remove_voter
from kraftwire.raft.state.voters import Listener, ReplicaKey
from kraftwire_wire.uuids import parse_uuid

F = TypeVar("F", bound=Callable[..., Any])

_COLUMNS = ("done", "controller", "directory id", "endpoints")


class _Controller(NamedTuple):
    """A controller that is to vote, and where it listens."""

    key: ReplicaKey
    listeners: tuple[Listener, ...]


def _id_option(*, required: bool) -> Callable[[F], F]:
    return click.option(
        "--controller-id",
        "--replicaId",
        "controller_id",
        required=required,
        type=click.IntRange(0),
        metavar="N",
        help="Its node.id.",
    )


def _directory_option(*, required: bool) -> Callable[[F], F]:
    return click.option(
        "--controller-directory-id",
        "--directory-id",
        "--replicaUuid",
        "directory_id",
        required=required,
        callback=to_directory,
        metavar="ID",
        help="The id of the directory of its metadata log.",
    )


_dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Only look whether it could be done, and say what would be."
)


@click.command("add-controller")
@click.option(
    "-c",
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The server.properties of the new controller, on its machine.",
)
@_id_option(required=False)
@_directory_option(required=False)
@click.option(
    "--listener",
    "listeners",
    callback=to_listeners,
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
    target: Target,
    output: str | None,
) -> None:
    """Let a controller vote, which runs already and observes.

    Who it is stands in its server.properties and in meta.properties of its metadata log, or is
    given by its id, its directory's id and its listener. A listener that is not given is the
    one that the quorum has for a voter of that id: the same controller with a new disk.

    Exit codes: 0 done, 1 --dry-run found what is in the way, 2 could not do it.

    \b
    Examples:
      kraftwire quorum add-controller --bootstrap-controller localhost:9093 -c server.properties
      kraftwire quorum add-controller --bootstrap-controller localhost:9093 \\
        --controller-id 3 --directory-id VXS1qmTCSl-oVc5hLpbWIA \\
        --listener CONTROLLER://localhost:9095
    """
    if config is None and controller_id is None and directory_id is None:
        config = target.command_config  # as with Kafka's tool, which has no other
    if config is not None:
        if controller_id is not None or directory_id is not None:
            raise click.UsageError("--config says who the controller is: leave the ids away")
        found = _configured(config)
        new = found if listeners is None else found._replace(listeners=listeners)
    elif controller_id is None or directory_id is None:
        raise click.UsageError("who is to vote? --config, or --controller-id and --directory-id")
    else:
        key = ReplicaKey(controller_id, directory_id)
        new = _Controller(key, listeners or _known_listeners(target, key))
    if dry_run:
        _check_adding(_described(target), new.key)
    else:
        run(
            add_voter(
                target.servers,
                new.key,
                new.listeners,
                security=target.security,
                timeout_s=target.timeout_s,
            )
        )
    _print("would be added" if dry_run else "added", new.key, new.listeners, output)


@click.command("remove-controller")
@_id_option(required=True)
@_directory_option(required=True)
@_dry_run_option
@quorum_options
@output_option
def remove(
    controller_id: int,
    directory_id: UUID,
    dry_run: bool,
    target: Target,
    output: str | None,
) -> None:
    """Let a controller vote no more, be it there or lost.

    `quorum describe --replication` shows the ids.

    Exit codes: 0 done, 1 --dry-run found what is in the way, 2 could not do it.

    \b
    Example:
      kraftwire quorum remove-controller --bootstrap-controller localhost:9093 \\
        --controller-id 3 --controller-directory-id VXS1qmTCSl-oVc5hLpbWIA
    """
    key = ReplicaKey(controller_id, directory_id)
    if dry_run:
        _check_removing(_described(target), key)
    else:
        run(remove_voter(target.servers, key, security=target.security, timeout_s=target.timeout_s))
    _print("would be removed" if dry_run else "removed", key, (), output)


def _configured(path: Path) -> _Controller:
    """Who a controller is by its settings and its metadata log's directory."""
    with telling_all():
        properties = read_storage_properties(path)
    if not properties.listeners:
        raise CouldNotDoIt(f"{path}: listeners: no listener of a controller is there")
    listeners = advertised_listeners(properties, {})
    if any(not one.port for one in listeners):
        raise CouldNotDoIt(f"{path}: listeners: port 0 is no place to be found at; say --listener")
    file = properties.metadata_log_dir / "meta.properties"
    try:
        meta = decode_meta_properties(file.read_bytes(), str(file))
    except FileNotFoundError:
        mend = f"kraftwire storage format -c {path}"
        raise CouldNotDoIt(
            f"{file} is not there: the controller has no directory; {mend}"
        ) from None
    try:
        directory = parse_uuid(meta.directory_id or "")
    except ValueError:
        raise CouldNotDoIt(f"{file}: directory.id: {meta.directory_id!r} is no id") from None
    return _Controller(ReplicaKey(properties.node_id, directory), listeners)


def _known_listeners(target: Target, key: ReplicaKey) -> tuple[Listener, ...]:
    """Where a controller listens whose other disk votes, or did."""
    for voter in _described(target).voters:
        if voter.replica_id == key.id and voter.listeners:
            return voter.listeners
    raise CouldNotDoIt(
        f"where does controller {key.id} listen? No voter has its id; say --listener NAME://HOST:PORT"
    )


def _described(target: Target) -> Quorum:
    return run(
        describe_quorum(target.servers, security=target.security, timeout_s=target.timeout_s)
    )


def _check_adding(quorum: Quorum, key: ReplicaKey) -> None:
    """Find what would be in the way of a new voter."""
    for voter in quorum.voters:
        if voter.replica_id == key.id:
            directory = directory_text(voter.directory_id) or "no directory"
            reason = f"controller {key.id} votes already, with {directory}"
            raise Finding(f"{reason}: Kafka wants that removed first")
    seen = [ReplicaKey(one.replica_id, one.directory_id or UUID(int=0)) for one in quorum.observers]
    if key not in seen:
        known = directory_text(key.directory_id)
        raise Finding(
            f"controller {key.id} with {known} does not observe: it must run and fetch first"
        )


def _check_removing(quorum: Quorum, key: ReplicaKey) -> None:
    """Find what would be in the way of removing a voter."""
    keys = [(voter.replica_id, voter.directory_id) for voter in quorum.voters]
    if (key.id, key.directory_id) not in keys:
        known = directory_text(key.directory_id)
        raise Finding(f"no controller {key.id} with {known} votes")
    if len(keys) == 1:
        raise Finding(f"controller {key.id} is the last one that votes")


def _print(done: str, key: ReplicaKey, listeners: Sequence[Listener], output: str | None) -> None:
    endpoints = [endpoint(one) for one in listeners]
    directory = directory_text(key.directory_id)
    if wants_json(output):
        row = {"done": done, "controllerId": key.id, "directoryId": directory}
        print_json({**row, "endpoints": endpoints} if endpoints else row)
    else:
        print_table(_COLUMNS, [(done, key.id, directory, ", ".join(endpoints))])
