"""Addresses on the command line: where a command listens, and where it connects to."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from kraftwire.address import Address, host_problem
from kraftwire.console.failures import CouldNotDoIt
from kraftwire.node.settings.listeners import parse_address

F = TypeVar("F", bound=Callable[..., Any])
LOOPBACK = "127.0.0.1"


def _to_listen(_: click.Context, __: click.Parameter, value: str) -> Address:
    host, port = _parse(value, least_port=0)
    return Address(host or LOOPBACK, port)


def listen_option(command: F) -> F:
    """`--listen HOST:PORT`: port 0 for a free one, no host for loopback."""
    return click.option(
        "--listen",
        default=f"{LOOPBACK}:0",
        show_default=True,
        metavar="HOST:PORT",
        callback=_to_listen,
        help="Where clients bootstrap; port 0 picks a free one.",
    )(command)


def to_upstream(_: click.Context, __: click.Parameter, value: str) -> Address:
    """HOST:PORT to connect to; for `callback`."""
    host, port = _parse(value, least_port=1)
    if not host:
        raise click.BadParameter(f"{value[:80]!r} has no host; host:port is wanted")
    return Address(host, port)


@contextmanager
def naming_host(listen: Address) -> Iterator[None]:
    """Say which host it was that nobody knows, which the system's own error does not."""
    try:
        yield
    except socket.gaierror as error:
        raise CouldNotDoIt(f"--listen {listen}: {error.strerror}") from None


def _parse(value: str, least_port: int) -> tuple[str, int]:
    try:
        host, port = parse_address(value, least_port)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if host and host_problem(host) is not None:
        raise click.BadParameter(f"{host[:80]!r} is no name of a host")
    return host, port
