"""What the commands of `quorum` share: where the quorum is, and how to connect to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import click

from kraftwire.address import Address
from kraftwire.log.java_properties import read_entries
from kraftwire.net.security import PLAINTEXT, ClientSecurity
from kraftwire.net.settings import client_security
from kraftwire.node.settings.listeners import parse_endpoints, parse_routable
from kraftwire.node.settings.property_reader import parse_words
from kraftwire.quorum.admin import TIMEOUT_S
from kraftwire.raft.state.voters import Listener
from kraftwire_wire.uuids import format_uuid, parse_uuid

T = TypeVar("T")


_OPTIONS = (
    click.option(
        "--timeout",
        default=TIMEOUT_S,
        show_default=True,
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        help="How long to look for the leader and to wait for it.",
    ),
    click.option(
        "--command-config",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Settings of a client: security.protocol, ssl.*, sasl.*.",
    ),
    click.option(
        "--bootstrap-server",
        multiple=True,
        metavar="HOST:PORT",
        help="A broker, which forwards; several with commas or repeated.",
    ),
    click.option(
        "--bootstrap-controller",
        multiple=True,
        metavar="HOST:PORT",
        help="A controller; several with commas or repeated.",
    ),
)


class Target(NamedTuple):
    """A quorum, as the command line says it."""

    servers: tuple[Address, ...]
    are_brokers: bool
    command_config: Path | None
    security: ClientSecurity
    timeout_s: float


def quorum_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say where a quorum is; the command gets them as `target`."""

    @wraps(command)
    def with_target(
        *,
        bootstrap_controller: tuple[str, ...],
        bootstrap_server: tuple[str, ...],
        command_config: Path | None,
        timeout: float,
        **others: Any,
    ) -> None:
        target = _target(bootstrap_controller, bootstrap_server, command_config, timeout)
        command(target=target, **others)

    for option in _OPTIONS:
        with_target = option(with_target)
    return with_target


def _target(
    bootstrap_controller: tuple[str, ...],
    bootstrap_server: tuple[str, ...],
    command_config: Path | None,
    timeout: float,
) -> Target:
    if bool(bootstrap_controller) == bool(bootstrap_server):
        both = "both were given" if bootstrap_server else "neither was given"
        raise click.UsageError(f"one of --bootstrap-controller and --bootstrap-server, and {both}")
    option = "--bootstrap-controller" if bootstrap_controller else "--bootstrap-server"
    servers: list[Address] = []
    for text in bootstrap_controller + bootstrap_server:
        try:
            servers += map(parse_routable, parse_words(text))
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint=option) from None
    return Target(
        tuple(servers), bool(bootstrap_server), command_config, security_of(command_config), timeout
    )


def security_of(command_config: Path | None) -> ClientSecurity:
    """What a file of a client's settings says; PLAINTEXT without one."""
    if command_config is None:
        return PLAINTEXT
    entries = read_entries(command_config.read_bytes())
    return client_security({entry.key: entry.value for entry in entries})


def to_directory(_: click.Context, __: click.Parameter, value: str | None) -> UUID | None:
    """A directory's id, as Kafka prints it; for `callback`."""
    if value is None:
        return None
    try:
        return parse_uuid(value)
    except ValueError:
        raise click.BadParameter(f"{value[:60]!r} is no id; 22 characters of base64 are") from None


def to_listeners(
    _: click.Context, __: click.Parameter, value: str | None
) -> tuple[Listener, ...] | None:
    """Listeners, as settings have them; for `callback`."""
    if value is None:
        return None
    try:
        found = tuple(Listener(name, *address) for name, address in parse_endpoints(value, 1))
        for one in found:
            parse_routable(str(Address(one.host, one.port)))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return found


def endpoint(listener: Listener) -> str:
    """A listener as settings have it."""
    return f"{listener.name}://{Address(listener.host, listener.port)}"


def directory_text(directory: UUID | None) -> str | None:
    """A directory's id as Kafka prints it; None where it is not known."""
    return None if directory is None else format_uuid(directory)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end."""
    return asyncio.run(work)
