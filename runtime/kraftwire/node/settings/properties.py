"""Reads all settings of a node from `server.properties`.

    properties = read_properties(Path("server.properties"))
    key = ReplicaKey(properties.node_id, directory_id)
    config = replica_config(properties, key, cluster_id)

A node is a controller: a voter, or an observer that can become one. Without a controller listener
in `listeners`, it is an observer that does not serve requests. Names and defaults are Kafka's;
additional settings begin with `kraftwire.`. Unlike in Kafka, `log.dirs` is required, and a listener
without a host listens on loopback only.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kraftwire.address import Address
from kraftwire.net.limits import Limits
from kraftwire.net.security import ClientSecurity
from kraftwire.net.server import Endpoint
from kraftwire.node.settings.listeners import (
    SecurityProtocol,
    parse_address,
    prefixes,
    read_client_security,
    read_protocols,
    read_server_security,
)
from kraftwire.node.settings.numeric_settings import (
    LogProperties,
    QuorumProperties,
    read_limits,
    read_log,
    read_quorum,
    warn_of_no_effect,
)
from kraftwire.node.settings.property_reader import PropertyReader
from kraftwire.node.settings.storage_properties import (
    Role,
    StorageProperties,
    read_storage,
)
from kraftwire.raft.state.config import Config, Membership
from kraftwire.raft.state.voters import Listener, ReplicaKey

_FETCH_SPREAD = 10
"""A follower waits up to a tenth of its fetch timeout longer, at random."""


@dataclass(frozen=True, kw_only=True)
class NodeProperties(StorageProperties):
    """All settings of a node."""

    endpoints: tuple[Endpoint, ...]
    """The same listeners, for a server."""
    security: ClientSecurity
    """How this node connects to others."""
    limits: Limits
    quorum: QuorumProperties
    log: LogProperties
    membership: Membership = Membership.SHIPPED
    principals: frozenset[str] | None = None
    """Who may change the voters, by the subject of a certificate; None for everybody."""
    prometheus: Address | None = None
    """Where to serve metrics; None for nowhere."""

    @property
    def can_vote(self) -> bool:
        """Whether others can reach this node, so that it may become a voter."""
        return bool(self.listeners)


def read_properties(path: Path) -> NodeProperties:
    """Read a file; raise `OSError`, or `InvalidProperties` with all mistakes."""
    return parse_properties(path.read_bytes(), str(path))


def parse_properties(data: bytes, file: str = "<bytes>") -> NodeProperties:
    """Parse the content of a file, as `read_properties` does."""
    reader = PropertyReader(data, file)
    storage = read_storage(reader)
    _check_role(reader, storage)
    protocols = _read_protocols(reader, storage)
    properties = NodeProperties(
        **vars(storage),
        endpoints=_read_endpoints(reader, storage, protocols),
        security=read_client_security(
            reader, storage.default_listener, protocols[storage.default_listener]
        ),
        limits=read_limits(reader),
        quorum=read_quorum(reader),
        log=read_log(reader),
        membership=reader.choice("kraftwire.membership", Membership.SHIPPED),
        principals=reader.value("kraftwire.voter.change.principals", _parse_principals, None),
        prometheus=reader.value("kraftwire.prometheus.listener", _parse_prometheus, None),
    )
    warn_of_no_effect(reader)
    reader.check()
    return replace(properties, warnings=reader.all_warnings())


def replica_config(
    properties: NodeProperties,
    key: ReplicaKey,
    cluster_id: str | None,
    ports: Mapping[str, int] | None = None,
) -> Config:
    """Return the config of a replica; `ports` has the actual ports of listeners with port 0."""
    quorum = properties.quorum
    return Config(
        key=key,
        can_vote=properties.can_vote,
        cluster_id=cluster_id,
        listeners=advertised_listeners(properties, ports or {}),
        default_listener=properties.default_listener,
        bootstrap=properties.bootstrap_servers,
        static_voters=properties.voters,
        membership=properties.membership,
        fetch_spread_ms=quorum.fetch_timeout_ms // _FETCH_SPREAD,
        retained_snapshots=properties.log.retained_snapshots,
        **vars(quorum),
    )


def advertised_listeners(
    properties: StorageProperties, ports: Mapping[str, int]
) -> tuple[Listener, ...]:
    """Return the advertised listeners, with the actual host name and ports."""
    return tuple(
        Listener(
            one.name,
            one.advertised.host or socket.getfqdn(),
            one.advertised.port or ports.get(one.name, 0),
        )
        for one in properties.listeners
    )


def _check_role(reader: PropertyReader, storage: StorageProperties) -> None:
    if Role.CONTROLLER not in storage.roles:
        reader.wrong("process.roles", "kraftwire is not a broker: set controller")
    elif Role.BROKER in storage.roles:
        reader.warn("process.roles", "kraftwire is not a broker: it acts only as controller")
    is_voter = bool(storage.voters.of_id(storage.node_id))
    if is_voter and not storage.listeners:
        reader.wrong("listeners", f"voter {storage.node_id} needs {storage.default_listener}")
    if len(storage.voters) and storage.listeners and not is_voter:
        reader.wrong("controller.quorum.voters", f"node.id {storage.node_id} is not among them")
    if storage.listeners and storage.listeners[0].name != storage.default_listener:
        reader.wrong("listeners", f"{storage.default_listener}, the default one, is missing")


def _read_protocols(
    reader: PropertyReader, storage: StorageProperties
) -> dict[str, SecurityProtocol]:
    """Return the protocol of each controller listener; by default PLAINTEXT."""
    given = read_protocols(reader)
    found = {}
    for name in storage.controller_listener_names:
        if name not in given and reader.has("listener.security.protocol.map"):
            reader.wrong("listener.security.protocol.map", f"{name} is not in it")
        found[name] = given.get(name, SecurityProtocol.PLAINTEXT)
        reader.used(*(f"{prefix}{kind}." for prefix in prefixes(name) for kind in ("ssl", "sasl")))
    return found


def _read_endpoints(
    reader: PropertyReader, storage: StorageProperties, protocols: Mapping[str, SecurityProtocol]
) -> tuple[Endpoint, ...]:
    found = []
    for name, bound, _ in storage.listeners:
        security = read_server_security(reader, name, protocols[name])
        found.append(Endpoint(name, bound.host, bound.port, security))
    return tuple(found)


def _parse_principals(text: str) -> frozenset[str]:
    """Parse `User:CN=...`, separated by semicolons as in `super.users`, since names have commas."""
    found = []
    for word in filter(None, (part.strip() for part in text.split(";"))):
        kind, colon, name = word.partition(":")
        if kind != "User" or not colon or not name:
            reason = "write User:CN=..., separated by semicolons"
            raise ValueError(f"{word[:80]!r} is not a principal: {reason}")
        found.append(name)
    return frozenset(found)


def _parse_prometheus(text: str) -> Address | None:
    return parse_address(text, least_port=0) if text else None
