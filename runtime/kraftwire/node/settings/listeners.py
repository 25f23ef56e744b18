"""Reads the listeners of a node, and how their connections are protected.

    listeners=CONTROLLER://127.0.0.1:9093
    listener.security.protocol.map=CONTROLLER:SSL
    listener.name.controller.ssl.keystore.location=/etc/kraftwire/node.pem

`kraftwire.net.settings` reads `ssl.*` and `sasl.*`. The prefix `listener.name.<name>.` overrides a
setting for one listener.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from kraftwire.address import Address
from kraftwire.net.errors import BadSecurity
from kraftwire.net.security import PLAINTEXT, ClientSecurity, ServerSecurity
from kraftwire.net.settings import client_security, server_security
from kraftwire.node.settings.property_reader import PropertyReader, parse_number, parse_words

_ADDRESS = re.compile(r"(?:\[([0-9a-zA-Z.:%]+)\]|([0-9a-zA-Z\-%._]*)):([0-9]{1,5})", re.ASCII)
_LISTENER = re.compile(r"([0-9a-zA-Z\-_.]+)://(.*)", re.ASCII)
_MAX_PORT = 65535
_STORE_TYPES = ("ssl.keystore.type", "ssl.truststore.type")

WILDCARDS = ("0.0.0.0", "::")  # noqa: S104
"""Hosts that mean every address of the machine."""


class SecurityProtocol(StrEnum):
    """How connections of a listener are protected."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def has_sasl(self) -> bool:
        """Whether a client logs in."""
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class NamedAddress(NamedTuple):
    """A listener's name and an address."""

    name: str
    address: Address


def parse_address(text: str, least_port: int = 1) -> Address:
    """Parse `host:port` or `[host]:port`; raise `ValueError` with advice."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text[:80]!r} is not an address: write host:port, or [host]:port for IPv6"
        )
    return Address(match[1] or match[2], parse_number(match[3], least_port, _MAX_PORT))


def parse_routable(text: str) -> Address:
    """Parse the address of another node; raise `ValueError` with advice."""
    address = parse_address(text)
    if not address.host or address.host in WILDCARDS:
        raise ValueError(f"{text!r} has no host that others can reach: write its name")
    return address


def parse_endpoints(text: str, least_port: int = 0) -> tuple[NamedAddress, ...]:
    """Parse `NAME://host:port`, separated by commas; no name or address may repeat."""
    found: list[NamedAddress] = []
    for word in parse_words(text):
        match = _LISTENER.fullmatch(word)
        if match is None:
            raise ValueError(f"{word[:80]!r} is not a listener: write NAME://host:port")
        one = NamedAddress(match[1].upper(), parse_address(match[2], least_port))
        for other in found:
            if other.name == one.name:
                raise ValueError(f"{one.name} occurs twice")
            if other.address == one.address and one.address.port:
                raise ValueError(f"{other.name} and {one.name} have the same address")
        found.append(one)
    return tuple(found)


def read_protocols(reader: PropertyReader) -> dict[str, SecurityProtocol]:
    """Read `listener.security.protocol.map`; by default, names are those of protocols."""
    defaults = {one.value: one for one in SecurityProtocol}
    return reader.value("listener.security.protocol.map", _parse_protocols, defaults)


def _parse_protocols(text: str) -> dict[str, SecurityProtocol]:
    found = {}
    for word in parse_words(text):
        name, colon, protocol = word.rpartition(":")
        if not colon or protocol.upper() not in SecurityProtocol.__members__:
            allowed = ", ".join(SecurityProtocol)
            raise ValueError(f"{word[:80]!r} is not NAME:PROTOCOL with one of {allowed}")
        found[name.upper()] = SecurityProtocol(protocol.upper())
    return found


def read_server_security(
    reader: PropertyReader, name: str, protocol: SecurityProtocol
) -> ServerSecurity | None:
    """Return the TLS of a listener; None for PLAINTEXT."""
    if protocol.has_sasl:
        reason = f"kraftwire accepts no logins ({protocol}): use SSL with ssl.client.auth=required"
        reader.wrong("listener.security.protocol.map", f"{name}: {reason}")
    if protocol is not SecurityProtocol.SSL:
        return None
    _check_stores(reader, name)
    try:
        return server_security(reader.settings(), name)
    except BadSecurity as error:
        _report(reader, error)
        return None


def read_client_security(
    reader: PropertyReader, name: str, protocol: SecurityProtocol
) -> ClientSecurity:
    """Return how this node connects to the same listener of other nodes."""
    _check_stores(reader, name)
    try:
        return client_security(reader.settings(), protocol=protocol, listener=name)
    except BadSecurity as error:
        _report(reader, error)
        return PLAINTEXT


def _check_stores(reader: PropertyReader, name: str) -> None:
    """Refuse stores that are not PEM."""
    for key in (f"{prefix}{kind}" for prefix in prefixes(name) for kind in _STORE_TYPES):
        kind = reader.text(key)
        if kind and kind.upper() != "PEM":
            fix = "keytool -importkeystore with -deststoretype PKCS12, then openssl pkcs12 -nodes"
            reader.wrong(key, f"kraftwire reads only PEM, not {kind}: convert the store ({fix})")


def prefixes(name: str) -> tuple[str, str]:
    """Return the prefixes of the keys of a listener."""
    return f"listener.name.{name.lower()}.", ""


def _report(reader: PropertyReader, error: BadSecurity) -> None:
    key, _, reason = str(error).partition(": ")
    reader.wrong(key, reason)
