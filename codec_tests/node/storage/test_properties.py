"""`server.properties`, as a node understands it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kraftwire.address import Address
from kraftwire.net.security import ClientAuth, Mechanism
from kraftwire.node.settings.properties import parse_properties, read_properties, replica_config
from kraftwire.node.settings.property_reader import InvalidProperties
from kraftwire.node.settings.storage_properties import read_storage_properties
from kraftwire.raft.state.config import Membership
from kraftwire.raft.state.voters import Listener, ReplicaKey, Voter, VoterSet

from codec_tests.node.storage.settings import CONTROLLER, content, findings, parsed, write_settings

VOTERS = "1@127.0.0.1:9093,2@b.example:9094"
KEY = ReplicaKey(1)


def one_finding(**changes: str) -> str:
    (finding,) = findings(**changes)
    return finding


# -- who it is and where ---------------------------------------------------------------------


def test_a_controller() -> None:
    properties = parsed(log_dirs="/a, /b")
    assert properties.node_id == 1
    assert properties.log_dirs == (Path("/a"), Path("/b"))
    assert properties.bootstrap_servers == (Address("127.0.0.1", 9093),)
    assert properties.default_listener == "CONTROLLER"
    assert properties.can_vote
    assert properties.warnings == ()


def test_the_metadata_log_is_in_the_first_directory() -> None:
    assert parsed(log_dirs="/a,/b").metadata_log_dir == Path("/a")


def test_the_metadata_log_may_have_a_directory_of_its_own() -> None:
    properties = parsed(log_dirs="/b,/a", metadata_log_dir="/m")
    assert properties.metadata_log_dir == Path("/m")
    assert properties.directories == (Path("/a"), Path("/b"), Path("/m"))


def test_log_dir_stands_in_for_log_dirs() -> None:
    assert parsed(log_dirs="-", log_dir="/a").log_dirs == (Path("/a"),)
    assert parsed(log_dir="/b").log_dirs == (Path("/data"),)


def test_a_directory_must_be_said() -> None:
    assert "log.dirs: it is missing" in one_finding(log_dirs="-")


@pytest.mark.parametrize("key", ["node_id", "process_roles", "controller_listener_names"])
def test_what_must_be_there(key: str) -> None:
    assert "it is missing" in findings(**{key: "-"})[0]


def test_a_broker_is_refused() -> None:
    finding = one_finding(process_roles="broker", listeners="PLAINTEXT://:9092")
    assert finding.endswith("process.roles: kraftwire is not a broker: set controller")


def test_a_combined_node_is_only_a_controller() -> None:
    properties = parsed(
        process_roles="broker,controller",
        listeners="CONTROLLER://127.0.0.1:9093,PLAINTEXT://127.0.0.1:9092",
    )
    assert [one.name for one in properties.endpoints] == ["CONTROLLER"]
    assert "only as controller" in properties.warnings[0]


# -- the quorum ------------------------------------------------------------------------------


def test_static_voters_have_no_directories() -> None:
    listener = Listener("CONTROLLER", "b.example", 9094)
    assert parsed(controller_quorum_voters=VOTERS).voters.find(ReplicaKey(2)) == Voter(
        ReplicaKey(2), (listener,)
    )


@pytest.mark.parametrize(
    "voters",
    ["1", "1@h", "x@h:1", "1@h:0", "1@h:70000", "1@:1", "1@0.0.0.0:9", "1@a:1,1@b:2", "1@a:1,"],
)
def test_voters_that_are_none(voters: str) -> None:
    assert "controller.quorum.voters: " in one_finding(controller_quorum_voters=voters)


def test_an_ipv6_address_is_in_brackets() -> None:
    servers = parsed(controller_quorum_bootstrap_servers="[::1]:9093").bootstrap_servers
    assert servers == (Address("::1", 9093),)
    assert findings(controller_quorum_bootstrap_servers="::1:9093")


def test_somebody_must_be_known_to_ask() -> None:
    assert "set one of them" in one_finding(controller_quorum_bootstrap_servers="-")


def test_a_controller_is_among_static_voters() -> None:
    assert "node.id 3 is not among them" in one_finding(
        controller_quorum_voters=VOTERS, node_id="3"
    )


# -- listeners -------------------------------------------------------------------------------


def test_a_listener_without_a_host_is_on_loopback_and_that_is_told() -> None:
    properties = parsed(listeners="CONTROLLER://:9093")
    assert properties.endpoints[0].host == "localhost"
    assert properties.listeners[0].advertised == Address("localhost", 9093)
    assert "0.0.0.0 is every address" in properties.warnings[0]


def test_what_is_advertised_goes_first() -> None:
    properties = parsed(
        listeners="CONTROLLER://0.0.0.0:9093", advertised_listeners="CONTROLLER://a.example:1"
    )
    assert properties.listeners[0].advertised == Address("a.example", 1)


def test_the_voters_tell_where_a_listener_is_that_names_no_host() -> None:
    properties = parsed(
        listeners="CONTROLLER://0.0.0.0:9000", controller_quorum_voters="1@a.example:9093"
    )
    assert properties.listeners[0].advertised == Address("a.example", 9093)


def test_nobody_reaches_an_advertised_wildcard() -> None:
    finding = one_finding(advertised_listeners="CONTROLLER://0.0.0.0:9093")
    assert "nobody can reach CONTROLLER at 0.0.0.0" in finding


@pytest.mark.parametrize(
    "listeners",
    [
        "CONTROLLER",
        "CONTROLLER://h",
        "CONTROLLER://h:x",
        "CONTROLLER://h:65536",
        "CONTROLLER://h:1,CONTROLLER://h:2",
        "CONTROLLER://127.0.0.1:1,OTHER://127.0.0.1:1",
        "CONTROLLER://a b:1",
    ],
)
def test_listeners_that_are_none(listeners: str) -> None:
    assert "listeners: " in findings(listeners=listeners)[0]


def test_a_controller_has_no_other_listeners() -> None:
    finding = one_finding(listeners="CONTROLLER://127.0.0.1:1,CLIENTS://127.0.0.1:2")
    assert "CLIENTS is not among controller.listener.names" in finding


def test_the_default_listener_is_the_first_that_is_named() -> None:
    properties = parsed(
        controller_listener_names="INSIDE,OUTSIDE",
        listeners="OUTSIDE://127.0.0.1:1,INSIDE://127.0.0.1:2",
    )
    assert [one.name for one in properties.listeners] == ["INSIDE", "OUTSIDE"]


def test_a_node_that_does_not_listen_is_an_observer() -> None:
    properties = parsed(listeners="-")
    assert not properties.can_vote
    assert not replica_config(properties, KEY, "c").can_vote


def test_a_voter_must_listen() -> None:
    assert "voter 1 needs CONTROLLER" in one_finding(listeners="-", controller_quorum_voters=VOTERS)


# -- security --------------------------------------------------------------------------------


def test_without_a_map_a_controller_listener_is_plaintext() -> None:
    assert parsed().endpoints[0].security is None


def test_a_map_must_have_the_listener() -> None:
    finding = one_finding(listener_security_protocol_map="OTHER:SSL")
    assert "CONTROLLER is not in it" in finding


@pytest.mark.parametrize("text", ["CONTROLLER", "CONTROLLER:TLS", ":SSL:"])
def test_maps_that_are_none(text: str) -> None:
    assert "is not NAME:PROTOCOL" in findings(listener_security_protocol_map=text)[0]


def test_tls_of_a_listener_goes_before_that_of_all() -> None:
    settings = CONTROLLER | {
        "listener.security.protocol.map": "CONTROLLER:SSL",
        "ssl.keystore.location": "/all.pem",
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": "/trust.pem",
        "listener.name.controller.ssl.keystore.location": "/own.pem",
        "listener.name.controller.ssl.client.auth": "required",
    }
    properties = parse_properties(content(settings))
    security = properties.endpoints[0].security
    assert security is not None
    assert security.tls.certificates == Path("/own.pem")
    assert security.client_auth is ClientAuth.REQUIRED
    assert properties.security.tls == security.tls
    assert properties.warnings == ()


def test_java_stores_are_refused_with_what_to_do() -> None:
    (finding,) = findings(
        listener_security_protocol_map="CONTROLLER:SSL",
        ssl_keystore_location="/a.jks",
        ssl_keystore_type="JKS",
    )
    assert "ssl.keystore.type: kraftwire reads only PEM, not JKS: convert the store" in finding


def test_tls_without_a_key_is_refused() -> None:
    finding = one_finding(listener_security_protocol_map="CONTROLLER:SSL")
    assert "ssl.keystore.location: a listener with SSL needs it" in finding


def test_nobody_can_log_in_to_a_node() -> None:
    found = findings(
        listener_security_protocol_map="CONTROLLER:SASL_PLAINTEXT",
        sasl_mechanism_controller_protocol="PLAIN",
        sasl_jaas_config='x required username="me" password="secret";',
    )
    assert "use SSL with ssl.client.auth=required" in found[0]


def test_an_observer_can_log_in() -> None:
    settings = CONTROLLER | {
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT",
        "sasl.mechanism.controller.protocol": "SCRAM-SHA-256",
        "listener.name.controller.scram-sha-256.sasl.jaas.config": (
            'org.apache.kafka.X required username="me" password="secret";'
        ),
    }
    del settings["listeners"]
    properties = parse_properties(content(settings))
    assert properties.security.sasl is not None
    assert properties.security.sasl.mechanism is Mechanism.SCRAM_SHA_256
    assert properties.security.sasl.username == "me"
    assert "secret" not in repr(properties)


# -- numbers ---------------------------------------------------------------------------------


def test_limits_of_connections() -> None:
    limits = parsed(
        connections_max_idle_ms="1500", max_connections="7", max_connections_per_ip="2"
    ).limits
    assert (limits.idle_s, limits.connections, limits.connections_per_address) == (1.5, 7, 2)


def test_places_that_are_kept_free_are_fewer_than_all() -> None:
    usual = parsed().limits
    assert (usual.open_connections, usual.peer_connections) == (450, 32)
    limits = parse_properties(
        content(
            CONTROLLER
            | {
                "max.connections": "7",
                "kraftwire.reserved.connections": "6",
                "kraftwire.peer.connections": "8",
            }
        )
    ).limits
    assert (limits.open_connections, limits.peer_connections) == (1, 8)
    assert parsed(max_connections="7").limits.open_connections == 7


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("kraftwire.reserved.connections", "7", "0 to 6"),
        ("kraftwire.reserved.connections", "-1", "0 to 6"),
        ("kraftwire.peer.connections", "7", "8 to 32"),
        ("kraftwire.peer.connections", "33", "8 to 32"),
    ],
)
def test_places_that_leave_none_are_refused(name: str, value: str, allowed: str) -> None:
    settings = CONTROLLER | {"max.connections": "7", name: value}
    with pytest.raises(InvalidProperties, match=f"{name}.*{allowed}"):
        parse_properties(content(settings))


def test_requests_get_shorter_than_those_of_the_transport_but_not_longer() -> None:
    usual = parsed().limits.request_bytes
    assert parsed(socket_request_max_bytes="1000").limits.request_bytes == 1000
    assert parsed(socket_request_max_bytes="104857600").limits.request_bytes == usual


def test_what_has_no_effect_is_a_warning() -> None:
    properties = parsed(metadata_max_retention_ms="5", controller_quorum_append_linger_ms="9")
    linger, retention = properties.warnings
    assert linger.endswith(
        "it has no effect: records are written immediately, together with others that wait"
    )
    assert retention.endswith("it has no effect: kraftwire.retained.snapshots bounds what is kept")


def test_a_segment_may_be_small_only_for_tests() -> None:
    assert "8388608 to" in one_finding(metadata_log_segment_bytes="1000")
    assert parsed(internal_metadata_log_segment_bytes="1000").log.segment_bytes == 1000


def test_what_is_our_own() -> None:
    properties = parse_properties(
        content(
            CONTROLLER
            | {
                "kraftwire.membership": "kip-856",
                "kraftwire.voter.change.principals": "User:CN=a,O=b; User:CN=c",
                "kraftwire.retained.snapshots": "5",
                "kraftwire.prometheus.listener": "127.0.0.1:0",
            }
        )
    )
    assert properties.membership is Membership.KIP_856
    assert properties.principals == frozenset({"CN=a,O=b", "CN=c"})
    assert properties.log.retained_snapshots == 5
    assert properties.prometheus == Address("127.0.0.1", 0)


def test_an_empty_list_of_principals_is_nobody() -> None:
    settings = CONTROLLER | {"kraftwire.voter.change.principals": ""}
    assert parse_properties(content(settings)).principals == frozenset()


def test_a_principal_has_its_kind() -> None:
    settings = CONTROLLER | {"kraftwire.voter.change.principals": "CN=a"}
    with pytest.raises(InvalidProperties, match=r"'CN=a' is not a principal: write User:CN=\.\.\."):
        parse_properties(content(settings))


# -- the replica -----------------------------------------------------------------------------


def test_what_a_replica_is_told() -> None:
    properties = parsed(
        controller_quorum_election_timeout_ms="300",
        controller_quorum_fetch_timeout_ms="400",
        controller_quorum_request_timeout_ms="500",
        controller_quorum_retry_backoff_ms="6",
        controller_quorum_auto_join_enable="true",
        controller_quorum_fetch_max_bytes="700",
        controller_quorum_fetch_snapshot_max_bytes="800",
    )
    config = replica_config(properties, KEY, "cluster")
    assert config.key == KEY
    assert config.cluster_id == "cluster"
    assert config.listeners == (Listener("CONTROLLER", "127.0.0.1", 9093),)
    assert config.bootstrap == (Address("127.0.0.1", 9093),)
    assert config.static_voters == VoterSet(())
    assert config.auto_join
    assert (config.election_timeout_ms, config.fetch_timeout_ms) == (300, 400)
    assert (config.request_timeout_ms, config.retry_backoff_ms) == (500, 6)
    assert (config.fetch_max_bytes, config.fetch_snapshot_max_bytes) == (700, 800)


def test_a_port_that_was_picked_is_what_others_are_told() -> None:
    properties = parsed(listeners="CONTROLLER://127.0.0.1:0")
    config = replica_config(properties, KEY, None, {"CONTROLLER": 4567})
    assert config.listeners == (Listener("CONTROLLER", "127.0.0.1", 4567),)


def test_every_address_is_advertised_as_this_machine() -> None:
    properties = parsed(listeners="CONTROLLER://0.0.0.0:9093")
    config = replica_config(properties, KEY, None)
    assert config.listeners == (Listener("CONTROLLER", socket.getfqdn(), 9093),)


# -- files -----------------------------------------------------------------------------------


def test_findings_name_the_file_and_the_line(tmp_path: Path) -> None:
    file = write_settings(tmp_path, node_id="x")
    with pytest.raises(InvalidProperties) as caught:
        read_properties(file)
    assert caught.value.findings[0].startswith(f"{file}, line 2, node.id: 'x' is not a number")


def test_storage_is_read_from_a_broker_s_file_whatever_else_is_in_it(tmp_path: Path) -> None:
    file = write_settings(
        tmp_path,
        process_roles="broker",
        listeners="PLAINTEXT://:9092",
        ssl_keystore_type="JKS",
        max_connections="no",
    )
    assert read_storage_properties(file).listeners == ()
