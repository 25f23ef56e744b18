"""Reads the settings of directories and of the quorum, which formatting needs.

It accepts the files of brokers too, since their directories are formatted in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from kraftwire.address import Address
from kraftwire.node.settings.listeners import (
    WILDCARDS,
    NamedAddress,
    parse_endpoints,
    parse_routable,
)
from kraftwire.node.settings.property_reader import PropertyReader, parse_number, parse_words
from kraftwire.raft.state.voters import NO_VOTERS, Listener, ReplicaKey, Voter, VoterSet

DEFAULT_HOST = "localhost"
"""The host of a listener without one; Kafka would bind it to every address."""


class Role(StrEnum):
    """A role of a Kafka node."""

    BROKER = "broker"
    CONTROLLER = "controller"


class ListenerAt(NamedTuple):
    """A listener: the address it is bound to, and the advertised one."""

    name: str
    bound: Address
    """Port 0 picks a free one."""
    advertised: Address
    """An empty host means the name of this machine."""


@dataclass(frozen=True, kw_only=True)
class StorageProperties:
    """Settings of directories and of the quorum; names of listeners are in upper case."""

    file: str
    node_id: int
    roles: frozenset[Role]
    log_dirs: tuple[Path, ...]
    metadata_log_dir: Path
    """The directory of the metadata log: by default the first of `log_dirs`."""
    voters: VoterSet
    """The static voters of `controller.quorum.voters`, without directory ids."""
    bootstrap_servers: tuple[Address, ...]
    controller_listener_names: tuple[str, ...]
    """Replicas use the first one."""
    listeners: tuple[ListenerAt, ...]
    """The controller listeners of this node, the default one first; may be empty."""
    warnings: tuple[str, ...] = ()

    @property
    def directories(self) -> tuple[Path, ...]:
        """All directories of the node, in order."""
        return tuple(sorted({*self.log_dirs, self.metadata_log_dir}))

    @property
    def default_listener(self) -> str:
        """The listener that replicas use."""
        return self.controller_listener_names[0]


def read_storage_properties(path: Path) -> StorageProperties:
    """Read a file; raise `OSError`, or `InvalidProperties` with all mistakes.

    It ignores all other settings without a warning.
    """
    reader = PropertyReader(path.read_bytes(), str(path))
    properties = read_storage(reader)
    reader.check()
    return properties


def read_storage(reader: PropertyReader) -> StorageProperties:
    """Read the settings from a reader; the caller checks it for mistakes."""
    node_id = reader.required("node.id", parse_number, 0, "set the number of this node")
    why = "set controller if this node is one"
    roles = reader.required("process.roles", _parse_roles, frozenset({Role.CONTROLLER}), why)
    log_dirs = _read_log_dirs(reader)
    metadata_log_dir = reader.text("metadata.log.dir")
    names = _read_controller_listeners(reader)
    voters = reader.value(
        "controller.quorum.voters", lambda text: _parse_voters(text, names[0]), NO_VOTERS
    )
    bootstrap = reader.value("controller.quorum.bootstrap.servers", _parse_servers, ())
    if not reader.text("controller.quorum.voters") and not bootstrap:
        key = "controller.quorum.bootstrap.servers"
        reader.wrong(key, "it is missing, and so is controller.quorum.voters: set one of them")
    return StorageProperties(
        file=reader.file,
        node_id=node_id,
        roles=roles,
        log_dirs=log_dirs,
        metadata_log_dir=Path(metadata_log_dir) if metadata_log_dir else log_dirs[0],
        voters=voters,
        bootstrap_servers=bootstrap,
        controller_listener_names=names,
        listeners=_read_listeners(reader, names, roles, voters.of_id(node_id)),
    )


def _parse_roles(text: str) -> frozenset[Role]:
    words = parse_words(text)
    if any(word not in tuple(Role) for word in words) or len(set(words)) < len(words):
        raise ValueError(f"{text[:60]!r} is not controller, broker or both")
    return frozenset(map(Role, words))


def _read_log_dirs(reader: PropertyReader) -> tuple[Path, ...]:
    key = "log.dirs" if reader.has("log.dirs") or not reader.has("log.dir") else "log.dir"
    why = "set the directories for data (Kafka would use /tmp/kafka-logs)"
    words = reader.required(key, parse_words, (".",), why)
    return tuple(dict.fromkeys(map(Path, words)))


def _read_controller_listeners(reader: PropertyReader) -> tuple[str, ...]:
    why = "set the names of the controllers' listeners, such as CONTROLLER"
    names = reader.required("controller.listener.names", parse_words, ("CONTROLLER",), why)
    return tuple(dict.fromkeys(name.upper() for name in names))


def _parse_voters(text: str, listener: str) -> VoterSet:
    """Parse `id@host:port`, separated by commas."""
    voters = []
    for word in parse_words(text):
        number, at, rest = word.partition("@")
        if not at:
            raise ValueError(f"{word[:80]!r} is not a voter: write id@host:port")
        address = parse_routable(rest)
        key = ReplicaKey(parse_number(number))
        voters.append(Voter(key, (Listener(listener, address.host, address.port),)))
    if len({voter.id for voter in voters}) < len(voters):
        raise ValueError("an id occurs twice")
    return VoterSet(voters)


def _parse_servers(text: str) -> tuple[Address, ...]:
    return tuple(map(parse_routable, parse_words(text)))


def _read_listeners(
    reader: PropertyReader, names: tuple[str, ...], roles: frozenset[Role], own: tuple[Voter, ...]
) -> tuple[ListenerAt, ...]:
    """Return the controller listeners of this node, in the order of their names."""
    no_endpoints: tuple[NamedAddress, ...] = ()
    bound = dict(reader.value("listeners", parse_endpoints, no_endpoints))
    advertised = dict(
        reader.value("advertised.listeners", lambda text: parse_endpoints(text, 1), no_endpoints)
    )
    for name, address in advertised.items():
        if address.host in WILDCARDS:
            reader.wrong("advertised.listeners", f"nobody can reach {name} at {address.host}")
    for name in [*bound, *advertised] if roles == {Role.CONTROLLER} else []:
        if name not in names:
            reader.wrong("listeners", f"{name} is not among controller.listener.names")
    found = []
    for name in names:
        if name in bound:
            announced = advertised.get(name) or _default_advertised(
                bound[name], own if name == names[0] else ()
            )
            host = bound[name].host or DEFAULT_HOST
            if not bound[name].host:
                reason = f"{name} has no host, so it is on {host} only; 0.0.0.0 is every address"
                reader.warn("listeners", reason)
            found.append(ListenerAt(name, Address(host, bound[name].port), announced))
    return tuple(found)


def _default_advertised(bound: Address, own: tuple[Voter, ...]) -> Address:
    """Return the default of an advertised address, as Kafka does.

    For a wildcard or an empty host, it is this node's address in `controller.quorum.voters`.
    """
    if bound.host and bound.host != WILDCARDS[0]:
        return bound
    if own:
        return Address(own[0].listeners[0].host, own[0].listeners[0].port)
    return Address("" if bound.host else DEFAULT_HOST, bound.port)
