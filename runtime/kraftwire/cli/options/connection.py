"""Options for connecting to a quorum, and parsers of its ids and listeners."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import click

from kraftwire.address import Address
from kraftwire.log.small_files.java_properties import read_entries
from kraftwire.net.security import PLAINTEXT, ClientSecurity
from kraftwire.net.settings import client_security
from kraftwire.node.settings.listeners import parse_endpoints, parse_routable
from kraftwire.node.settings.property_reader import parse_words
from kraftwire.quorum.admin import TIMEOUT_S, Quorum, describe_quorum
from kraftwire.raft.state.voters import Listener
from kraftwire_wire.uuids import format_uuid, parse_uuid

F = TypeVar("F", bound=Callable[..., Any])


def client_config_option(name: str) -> Callable[[F], F]:
    """Make an option for a file of client settings, which `read_security` reads."""
    return click.option(
        name,
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Settings of a client: security.protocol, ssl.*, sasl.*.",
    )


_OPTIONS = (
    click.option(
        "--timeout",
        default=TIMEOUT_S,
        show_default=True,
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        help="How long to look for the leader and to wait for it.",
    ),
    client_config_option("--command-config"),
    click.option(
        "--bootstrap-server",
        multiple=True,
        metavar="HOST:PORT",
        help="A broker, which forwards requests; several with commas or repeated.",
    ),
    click.option(
        "--bootstrap-controller",
        multiple=True,
        metavar="HOST:PORT",
        help="A controller; several with commas or repeated.",
    ),
)


class QuorumTarget(NamedTuple):
    """The servers of a quorum and how to connect to them, from the command line."""

    servers: tuple[Address, ...]
    are_brokers: bool
    command_config: Path | None
    security: ClientSecurity
    timeout_s: float

    async def describe(self) -> Quorum:
        return await describe_quorum(self.servers, security=self.security, timeout_s=self.timeout_s)


def quorum_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for connecting to a quorum; the command gets them as `target`."""

    @wraps(command)
    def with_target(
        *,
        bootstrap_controller: tuple[str, ...],
        bootstrap_server: tuple[str, ...],
        command_config: Path | None,
        timeout: float,
        **others: Any,
    ) -> None:
        servers = _servers(bootstrap_controller, bootstrap_server)
        security = read_security(command_config)
        target = QuorumTarget(servers, bool(bootstrap_server), command_config, security, timeout)
        command(target=target, **others)

    for option in _OPTIONS:
        with_target = option(with_target)
    return with_target


def _servers(controllers: tuple[str, ...], brokers: tuple[str, ...]) -> tuple[Address, ...]:
    if bool(controllers) == bool(brokers):
        both = "both were given" if brokers else "neither was given"
        raise click.UsageError(f"give --bootstrap-controller or --bootstrap-server: {both}")
    option = "--bootstrap-controller" if controllers else "--bootstrap-server"
    try:
        words = [word for text in controllers + brokers for word in parse_words(text)]
        return tuple(map(parse_routable, words))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def read_security(command_config: Path | None) -> ClientSecurity:
    """Read a client's settings from a file; without one, connections are PLAINTEXT."""
    if command_config is None:
        return PLAINTEXT
    entries = read_entries(command_config.read_bytes())
    return client_security({entry.key: entry.value for entry in entries})


def parse_directory_id(_: click.Context, __: click.Parameter, value: str | None) -> UUID | None:
    """Parse the id of a directory as Kafka prints it; for `callback`."""
    if value is None:
        return None
    try:
        return parse_uuid(value)
    except ValueError:
        reason = f"{value[:60]!r} is not an id, which has 22 characters of base64"
        raise click.BadParameter(reason) from None


def parse_listeners(
    _: click.Context, __: click.Parameter, value: str | None
) -> tuple[Listener, ...] | None:
    """Parse listeners as in server.properties; for `callback`."""
    if value is None:
        return None
    try:
        listeners = tuple(Listener(name, *address) for name, address in parse_endpoints(value, 1))
        for listener in listeners:
            parse_routable(str(Address(listener.host, listener.port)))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return listeners


def format_listener(listener: Listener) -> str:
    """Return a listener as in server.properties."""
    return f"{listener.name}://{Address(listener.host, listener.port)}"


def format_directory_id(directory: UUID | None) -> str | None:
    """Return the id of a directory as Kafka prints it; None if it is unknown."""
    return None if directory is None else format_uuid(directory)
