"""Options for addresses: the one to listen on, and the one to connect to."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from kraftwire.address import Address, host_problem
from kraftwire.console.failures import CouldNotDoIt
from kraftwire.console.output import flush_output, print_json
from kraftwire.node.settings.listeners import parse_address

F = TypeVar("F", bound=Callable[..., Any])
_LOOPBACK = "127.0.0.1"


def listen_option(text: str) -> Callable[[F], F]:
    """Make the option `--listen HOST:PORT`; port 0 picks a free one, and no host is loopback."""
    return click.option(
        "--listen",
        default=f"{_LOOPBACK}:0",
        show_default=True,
        metavar="HOST:PORT",
        callback=_parse_listen,
        help=text,
    )


def parse_upstream(_: click.Context, __: click.Parameter, value: str) -> Address:
    """Parse HOST:PORT to connect to; for `callback`."""
    host, port = _parse(value, least_port=1)
    if not host:
        raise click.BadParameter(f"{value[:80]!r} has no host; write HOST:PORT")
    return Address(host, port)


@contextmanager
def naming_host(listen: Address) -> Iterator[None]:
    """Add the address to the system's error about an unknown host, which lacks it."""
    try:
        yield
    except socket.gaierror as error:
        raise CouldNotDoIt(f"--listen {listen}: {error.strerror}") from None


def print_bootstrap(address: Address, facts: dict[str, object], *, as_json: bool) -> None:
    """Print the address for clients, in JSON with `facts`; flush, as a program may wait for it."""
    if as_json:
        print_json({"bootstrap": str(address), **facts})
    else:
        click.echo(f"bootstrap.servers={address}")
    flush_output()


def _parse_listen(_: click.Context, __: click.Parameter, value: str) -> Address:
    host, port = _parse(value, least_port=0)
    return Address(host or _LOOPBACK, port)


def _parse(value: str, least_port: int) -> tuple[str, int]:
    try:
        host, port = parse_address(value, least_port)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if host and host_problem(host) is not None:
        raise click.BadParameter(f"{host[:80]!r} is not a host name")
    return host, port
