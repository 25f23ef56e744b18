"""Security settings under Kafka's names."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftwire.net.errors import BadSecurity
from kraftwire.net.security import PLAINTEXT, ClientAuth, Mechanism, Sasl
from kraftwire.net.settings import client_security, server_security

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def test_without_settings_nothing_is_secured() -> None:
    assert client_security({}) is PLAINTEXT


def test_stores_are_pem_files() -> None:
    security = client_security(
        {
            "security.protocol": "SSL",
            "ssl.keystore.location": "/keys.pem",
            "ssl.key.password": "secret",
            "ssl.truststore.location": "/trusted.pem",
        }
    )
    assert security.tls is not None
    assert security.tls.certificates == Path("/keys.pem")
    assert security.tls.key_password == "secret"
    assert security.tls.authorities == Path("/trusted.pem")
    assert security.checks_host_name
    assert security.sasl is None


def test_an_empty_algorithm_leaves_the_host_name_unchecked() -> None:
    name = "ssl.endpoint.identification.algorithm"
    assert not client_security({"security.protocol": "SSL", name: ""}).checks_host_name
    with pytest.raises(BadSecurity, match=name):
        client_security({"security.protocol": "SSL", name: "ldaps"})


@pytest.mark.parametrize(
    "login",
    [
        f'{PLAIN} username="admin" password="p\\"w;=";',
        f"{PLAIN} password='p\"w;=' username=admin ;",
        f'{PLAIN}   username = "admin"\n password = "p\\"w;=" ;',
    ],
)
def test_a_login_is_read_from_its_jaas_form(login: str) -> None:
    security = client_security(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": login,
        }
    )
    assert security.tls is None
    assert security.sasl == Sasl(Mechanism.PLAIN, "admin", 'p"w;=')


def test_a_listeners_own_settings_go_first() -> None:
    settings = {
        "ssl.truststore.location": "/all.pem",
        "listener.name.controller.ssl.truststore.location": "/own.pem",
        "ssl.keystore.location": "/keys.pem",
        "sasl.mechanism.controller.protocol": "SCRAM-SHA-512",
        "listener.name.controller.scram-sha-512.sasl.jaas.config": "x username=a password=b;",
    }
    security = client_security(settings, protocol="SASL_SSL", listener="CONTROLLER")
    assert security.sasl == Sasl(Mechanism.SCRAM_SHA_512, "a", "b")
    for tls in (security.tls, server_security(settings, "CONTROLLER").tls):
        assert tls is not None
        assert tls.authorities == Path("/own.pem")
        assert tls.certificates == Path("/keys.pem")


@pytest.mark.parametrize("auth", ClientAuth)
def test_a_server_says_whether_it_wants_certificates(auth: ClientAuth) -> None:
    settings = {"ssl.keystore.location": "/keys.pem", "ssl.client.auth": auth.upper()}
    assert server_security(settings).client_auth is auth


BAD = {
    "security.protocol": {"security.protocol": "TLS"},
    "sasl.mechanism": {"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"},
    "sasl.mechanism: 'GSSAPI'": {"security.protocol": "SASL_SSL"},
    "sasl.jaas.config": {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"},
    "ssl.keystore.key": {"security.protocol": "SSL", "ssl.keystore.key": "-----BEGIN"},
}


@pytest.mark.parametrize(("named", "settings"), BAD.items(), ids=BAD)
def test_what_is_wrong_is_told_with_its_name(named: str, settings: dict[str, str]) -> None:
    with pytest.raises(BadSecurity, match=named):
        client_security(settings)


def test_a_server_without_a_key_store_is_told() -> None:
    with pytest.raises(BadSecurity, match=r"ssl\.keystore\.location"):
        server_security({})
    with pytest.raises(BadSecurity, match=r"ssl\.client\.auth"):
        server_security({"ssl.client.auth": "maybe"})
