"""TLS on both sides."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from kraftwire.net.calls import Call
from kraftwire.net.complaints import Reason
from kraftwire.net.errors import BadSecurity
from kraftwire.net.limits import Limits
from kraftwire.net.security import ClientAuth, ClientSecurity, ServerSecurity, Tls

from codec_tests.net.certificates import Authority
from codec_tests.net.servers import (
    HOST,
    answer,
    connected,
    in_loop,
    number_of,
    raw_peer,
    serving,
    vote,
)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def server_tls(authority: Authority, auth: ClientAuth = ClientAuth.NONE) -> ServerSecurity:
    tls = Tls(certificates=authority.issue("server"), authorities=authority.file)
    return ServerSecurity(tls=tls, client_auth=auth)


def trusting(authority: Authority) -> ClientSecurity:
    return ClientSecurity(tls=Tls(authorities=authority.file))


@in_loop
async def test_questions_go_over_tls(authority: Authority) -> None:
    security = server_tls(authority)
    async with (
        serving(security=security) as server,
        connected(server, trusting(authority)) as connection,
    ):
        assert number_of(await connection.ask(vote(5))) == 5


@in_loop
async def test_the_principal_is_the_subject_of_the_clients_certificate(
    authority: Authority,
) -> None:
    principals: list[str | None] = []

    def handle(call: Call) -> None:
        principals.append(call.principal)
        answer(call)

    company = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Company, Inc.")
    own = Tls(certificates=authority.issue("node", [company]), authorities=authority.file)
    required = server_tls(authority, ClientAuth.REQUIRED)
    async with (
        serving(handle, security=required) as server,
        connected(server, ClientSecurity(tls=own)),
    ):
        assert principals == [r"CN=node,O=Company\, Inc."]


@in_loop
async def test_a_client_without_a_certificate_has_no_principal(authority: Authority) -> None:
    principals: list[str | None] = []

    def handle(call: Call) -> None:
        principals.append(call.principal)
        answer(call)

    requested = server_tls(authority, ClientAuth.REQUESTED)
    async with (
        serving(handle, security=requested) as server,
        connected(server, trusting(authority)),
    ):
        assert principals == [None]


@in_loop
async def test_a_required_certificate_that_is_not_there_ends_the_connection(
    authority: Authority,
) -> None:
    required = server_tls(authority, ClientAuth.REQUIRED)
    async with serving(security=required) as server:
        with pytest.raises(OSError):
            async with connected(server, trusting(authority)):
                pass
        assert server.complaints[Reason.HANDSHAKE] == 1


@in_loop
async def test_a_certificate_of_another_authority_ends_the_connection(
    authority: Authority, tmp_path: Path
) -> None:
    other = Authority(tmp_path, "other")
    own = Tls(certificates=other.issue("stranger"), authorities=authority.file)
    required = server_tls(authority, ClientAuth.REQUIRED)
    async with serving(security=required) as server:
        with pytest.raises(OSError):
            async with connected(server, ClientSecurity(tls=own)):
                pass


@in_loop
async def test_a_server_of_another_authority_is_not_trusted(
    authority: Authority, tmp_path: Path
) -> None:
    async with serving(security=server_tls(authority)) as server:
        with pytest.raises(ssl.SSLCertVerificationError):
            async with connected(server, trusting(Authority(tmp_path, "other"))):
                pass


@in_loop
async def test_a_certificate_of_another_host_is_not_trusted_unless_told(
    authority: Authority,
) -> None:
    tls = Tls(certificates=authority.issue("server", host="10.0.0.1"))
    async with serving(security=ServerSecurity(tls=tls)) as server:
        with pytest.raises(ssl.SSLCertVerificationError, match=r"127\.0\.0\.1"):
            async with connected(server, trusting(authority)):
                pass
        careless = ClientSecurity(tls=Tls(authorities=authority.file), checks_host_name=False)
        async with connected(server, careless) as connection:
            assert number_of(await connection.ask(vote(5))) == 5


@in_loop
async def test_tls_on_a_plaintext_listener_is_refused(authority: Authority) -> None:
    async with serving() as server:
        with pytest.raises(OSError):
            async with connected(server, trusting(authority)):
                pass
        assert server.complaints[Reason.SIZE] == 1


@in_loop
async def test_plaintext_on_a_tls_listener_is_refused(authority: Authority) -> None:
    async with serving(security=server_tls(authority)) as server:
        with pytest.raises(OSError):
            async with connected(server):
                pass
        assert server.complaints[Reason.HANDSHAKE] == 1


@in_loop
async def test_a_giant_length_over_tls_ends_the_connection(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(security=server_tls(authority)) as server:
        port = server.ports["CONTROLLER"]
        reader, writer = await asyncio.open_connection(HOST, port, ssl=trusting(authority).context)
        writer.write(b"\x7f" * 100_000)
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.transport.abort()
        assert server.complaints[Reason.SIZE] == 1
    assert not any(one.exc_info for one in caplog.records)


@in_loop
async def test_a_handshake_that_does_not_come_ends_the_connection(authority: Authority) -> None:
    limits = Limits(frame_s=0.05)
    async with serving(security=server_tls(authority), limits=limits) as server:
        async with raw_peer(server) as peer:
            assert await peer.is_hung_up_on()
        assert server.complaints[Reason.HANDSHAKE] == 1
        assert server.connections == 0


@in_loop
async def test_connections_in_their_handshake_are_closed_with_the_server(
    authority: Authority,
) -> None:
    async with (
        serving(security=server_tls(authority)) as server,
        connected(server, trusting(authority)),
        raw_peer(server) as peer,
    ):
        await server.close()
        assert await peer.is_hung_up_on()
        assert server.connections == 0


def test_an_encrypted_key_needs_its_password(authority: Authority) -> None:
    file = authority.issue("locked", password=b"secret")
    tls = Tls(certificates=file, key_password="secret")
    assert ServerSecurity(tls=tls).context is not None
    for password in (None, "wrong"):
        tls = Tls(certificates=file, key_password=password)
        with pytest.raises(BadSecurity, match=r"locked\.pem"):
            _ = ServerSecurity(tls=tls).context


def test_a_java_key_store_is_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "keystore.jks"
    file.write_bytes(b"\xfe\xed\xfe\xed")
    with pytest.raises(BadSecurity, match="openssl pkcs12"):
        _ = ClientSecurity(tls=Tls(authorities=file)).context


def test_a_file_without_certificates_is_told(tmp_path: Path) -> None:
    file = tmp_path / "empty.pem"
    file.write_text("-----BEGIN NOTHING-----\n")
    with pytest.raises(BadSecurity, match=r"empty\.pem"):
        _ = ClientSecurity(tls=Tls(authorities=file)).context
    with pytest.raises(BadSecurity, match=r"empty\.pem"):
        _ = ServerSecurity(tls=Tls(certificates=file)).context


def test_a_key_that_is_another_certificates_is_told(authority: Authority) -> None:
    tls = Tls(certificates=authority.issue("one"), key=authority.issue("two"))
    with pytest.raises(BadSecurity, match=r"two\.pem: no key that matches .*one\.pem"):
        _ = ServerSecurity(tls=tls).context


def test_a_file_that_is_not_there_is_an_os_error_with_its_name(tmp_path: Path) -> None:
    none = tmp_path / "none.pem"
    for tls in (Tls(authorities=none), Tls(certificates=none), Tls(key=none)):
        with pytest.raises(FileNotFoundError, match=r"none\.pem"):
            _ = ClientSecurity(tls=tls).context


def test_certificates_of_clients_need_an_authority(authority: Authority) -> None:
    tls = Tls(certificates=authority.issue("server"))
    with pytest.raises(BadSecurity, match=r"ssl\.truststore\.location"):
        _ = ServerSecurity(tls=tls, client_auth=ClientAuth.REQUIRED).context
    with pytest.raises(BadSecurity, match="certificate"):
        _ = ServerSecurity(tls=Tls()).context


def test_passwords_are_not_printed() -> None:
    assert "secret" not in repr(Tls(key_password="secret"))
