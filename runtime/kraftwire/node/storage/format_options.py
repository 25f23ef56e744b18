"""The options of `storage format`, and the first voters and features that they result in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv6Address

from kraftwire.node.settings.listeners import parse_routable
from kraftwire.node.settings.property_reader import parse_number, parse_words
from kraftwire.node.settings.storage_properties import DEFAULT_HOST, Role, StorageProperties
from kraftwire.node.storage.directories import is_reserved, random_id, read_directory
from kraftwire.node.storage.features import KRAFT_VERSION, NEWEST, MetadataVersion, feature_levels
from kraftwire.raft.state.voters import NO_VOTERS, Listener, ReplicaKey, Voter, VoterSet
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.uuids import parse_uuid

KRAFT_VERSIONS = range(2)


class FormatRefused(KraftwireError):
    """Options that contradict one another, or the settings of the node."""


@dataclass(frozen=True, kw_only=True)
class FormatOptions:
    """The options."""

    cluster_id: str
    initial_controllers: VoterSet = NO_VOTERS
    """The first voters."""
    no_initial_controllers: bool = False
    """Whether the controller may start without knowing voters."""
    ignore_formatted: bool = False
    """Whether to leave formatted directories as they are instead of failing."""
    release: MetadataVersion | None = NEWEST
    """The release of Kafka; None for a log that Kafka's controller does not use."""
    features: Mapping[str, int] = field(default_factory=dict)
    """Levels other than those of the release."""


def parse_cluster_id(text: str) -> str:
    """Return a string of visible ASCII characters, as in Kafka; raise `ValueError` otherwise."""
    if not text or not all("!" <= char <= "~" for char in text):
        raise ValueError(
            f"{text[:60]!r} is not a cluster id; kraftwire storage random-uuid prints one"
        )
    return text


def parse_initial_controllers(text: str, listener: str) -> VoterSet:
    """Parse `id@host:port:directory-id`, separated by commas; raise `ValueError` with advice."""
    voters = []
    for word in parse_words(text):
        number, at, rest = word.partition("@")
        place, colon, directory = rest.rpartition(":")
        if not at or not colon:
            raise ValueError(f"{word[:80]!r} is not a controller: write id@host:port:directory-id")
        try:
            directory_id = parse_uuid(directory)
        except ValueError:
            raise ValueError(f"{directory[:40]!r} of {word[:80]!r} is not a directory id") from None
        if is_reserved(directory_id):
            raise ValueError(
                f"{directory} is a reserved id; kraftwire storage random-uuid prints another"
            )
        host, port = parse_routable(place)
        key = ReplicaKey(parse_number(number), directory_id)
        voters.append(_voter(key, listener, _as_java_prints(host), port))
    for kind in ({voter.id for voter in voters}, {voter.key.directory_id for voter in voters}):
        if len(kind) < len(voters):
            raise ValueError("an id or a directory id occurs twice")
    return VoterSet(voters)


def _as_java_prints(host: str) -> str:
    """Return an IPv6 address with all groups, so that every node formats the same voters."""
    try:
        address = IPv6Address(host)
    except ValueError:
        return host
    if address.scope_id is not None:
        return host
    groups = address.packed.hex(":", 2).split(":")
    return ":".join(f"{int(group, 16):x}" for group in groups)


def standalone_voters(properties: StorageProperties) -> VoterSet:
    """Return this controller as the only voter, with a new directory id if it has none."""
    if Role.CONTROLLER not in properties.roles:
        raise FormatRefused("--standalone is for controllers: add controller to process.roles")
    if not properties.listeners or not properties.listeners[0].advertised.port:
        name = properties.default_listener
        raise FormatRefused(f"--standalone needs a listener {name} with a port that others know")
    host, port = properties.listeners[0].advertised
    directory_id = read_directory(properties.metadata_log_dir).directory_id
    key = ReplicaKey(properties.node_id, directory_id or random_id())
    return VoterSet([_voter(key, properties.default_listener, host or DEFAULT_HOST, port)])


def _voter(key: ReplicaKey, listener: str, host: str, port: int) -> Voter:
    return Voter(key, (Listener(listener, host, port),), KRAFT_VERSIONS[0], KRAFT_VERSIONS[-1])


def first_kraft_version(properties: StorageProperties) -> int:
    """Return the newest `kraft.version`; 0 if the settings have static voters."""
    return 0 if len(properties.voters) else KRAFT_VERSIONS[-1]


def check_voters(properties: StorageProperties, options: FormatOptions) -> None:
    """Raise `FormatRefused` if there are no voters, or both static and other ones."""
    if len(properties.voters) and len(options.initial_controllers):
        reason = "it has controller.quorum.voters, which never change: remove that, and set"
        raise FormatRefused(f"{properties.file}: {reason} controller.quorum.bootstrap.servers")
    known = len(properties.voters) or len(options.initial_controllers)
    if not known and not options.no_initial_controllers and Role.CONTROLLER in properties.roles:
        reason = "give --standalone, --initial-controllers or --no-initial-controllers"
        raise FormatRefused(f"{properties.file}: it has no controller.quorum.voters: {reason}")


def first_levels(properties: StorageProperties, options: FormatOptions) -> dict[str, int]:
    """Return the first feature levels, in the order of their records."""
    kraft_version = first_kraft_version(properties)
    chosen = dict(options.features)
    if chosen.pop(KRAFT_VERSION, kraft_version) != kraft_version:
        which = "without" if kraft_version else "with"
        raise FormatRefused(f"{KRAFT_VERSION} is {kraft_version} {which} controller.quorum.voters")
    if options.release is not None:
        try:
            return feature_levels(options.release, chosen)
        except ValueError as error:
            raise FormatRefused(str(error)) from None
    if chosen:
        raise FormatRefused("features need a release of Kafka: give one, or no features")
    return {}
