"""Addresses of servers, and why a malformed one cannot be used."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import NamedTuple

_MAX_HOST = 253
_MAX_PORT = 65535
_NAME = re.compile(rb"[0-9A-Za-z._%:\-]+")
"""Characters of a host name; colons and percent signs are for IPv6."""
_SHOWN = 80


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether the address is on this machine; localhost is the only name that counts."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host.partition("%")[0]).is_loopback
        except ValueError:
            return False

    @property
    def problem(self) -> str | None:
        """Why the address cannot be connected to; None if it is well-formed."""
        reason = host_problem(self.host)
        if reason is None and not 0 < self.port <= _MAX_PORT:
            reason = f"port {self.port} is not between 1 and {_MAX_PORT}"
        return reason

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def host_problem(host: str) -> str | None:
    """Return why a host cannot be looked up; None if it is well-formed.

    For some of these the system's lookup raises `ValueError` instead of `OSError`.
    """
    shown = ascii(host[:_SHOWN])
    if not host:
        return "the host is empty"
    if len(host) > _MAX_HOST:
        return f"host {shown}... has {len(host)} characters, more than {_MAX_HOST}"
    try:
        name = host.encode("idna")
    except UnicodeError:
        return f"host {shown} is not a host name: its labels have 1 to 63 characters"
    if not _NAME.fullmatch(name):
        return f"host {shown} has characters that a host name cannot have"
    return None
