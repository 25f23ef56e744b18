"""Logging in, to a server that knows one user."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable

import pytest

from kraftwire.net.calls import Call
from kraftwire.net.errors import AuthenticationFailed
from kraftwire.net.security import ClientSecurity, Mechanism, Sasl
from kraftwire_messages.kafka import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kraftwire_wire.numbers import ApiKey, ErrorCode

from codec_tests.net.servers import (
    APIS,
    answer,
    connected,
    in_loop,
    number_of,
    serving,
    tell_versions,
    vote,
)

LOGINS: dict[int, range] = {
    **APIS,
    ApiKey.SASL_HANDSHAKE: range(2),
    ApiKey.SASL_AUTHENTICATE: range(3),
}
_USER, _PASSWORD = "admin", "se,cr=et"
_SALT, _ITERATIONS = b"salt of a test", 4096

Step = Callable[[bytes], bytes]


class Refused(Exception):
    """The server takes no such login."""


class Gate:
    """A server's side of logging in, by one mechanism."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        self._said: list[bytes] = []

    def handle(self, call: Call) -> None:
        message = call.message
        if isinstance(message, SaslHandshakeRequest):
            code = 0 if message.mechanism == self._mechanism else 33
            call.answer(SaslHandshakeResponse(error_code=code, mechanisms=[self._mechanism]))
        elif isinstance(message, SaslAuthenticateRequest):
            try:
                call.answer(SaslAuthenticateResponse(auth_bytes=self._answer(message.auth_bytes)))
            except Refused as error:
                failed = ErrorCode.SASL_AUTHENTICATION_FAILED
                response = SaslAuthenticateResponse(error_code=failed, error_message=str(error))
                call.answer(response)
        elif call.message.API_KEY == ApiKey.API_VERSIONS:
            tell_versions(call, LOGINS)
        else:
            answer(call)

    def _answer(self, said: bytes) -> bytes:
        if self._mechanism is Mechanism.PLAIN:
            if said != f"\0{_USER}\0{_PASSWORD}".encode():
                raise Refused("no such login")
            return b""
        self._said.append(said)
        return self._challenge() if len(self._said) == 1 else self._prove()

    def _challenge(self) -> bytes:
        nonce = self._said[0].partition(b",r=")[2] + b"theirs"
        salt = base64.b64encode(_SALT)
        self._said.append(b"r=%b,s=%b,i=%d" % (nonce, salt, _ITERATIONS))
        return self._said[1]

    def _prove(self) -> bytes:
        name = "sha" + self._mechanism.rpartition("-")[2]
        salted = hashlib.pbkdf2_hmac(name, _PASSWORD.encode(), _SALT, _ITERATIONS)
        bare, _, proof = self._said[2].rpartition(b",p=")
        text = b",".join((self._said[0].removeprefix(b"n,,"), self._said[1], bare))
        client_key = hmac.digest(salted, b"Client Key", name)
        signature = hmac.digest(hashlib.new(name, client_key).digest(), text, name)
        expected = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        if base64.b64decode(proof) != expected:
            raise Refused("no such login")
        proven = hmac.digest(hmac.digest(salted, b"Server Key", name), text, name)
        return b"v=" + base64.b64encode(proven)


def as_(mechanism: Mechanism, password: str = _PASSWORD) -> ClientSecurity:
    return ClientSecurity(sasl=Sasl(mechanism, _USER, password))


@pytest.mark.parametrize("mechanism", Mechanism)
def test_every_mechanism_logs_in(mechanism: Mechanism) -> None:
    @in_loop
    async def run() -> None:
        async with (
            serving(Gate(mechanism).handle, apis=LOGINS) as server,
            connected(server, as_(mechanism)) as connection,
        ):
            assert number_of(await connection.ask(vote(3))) == 3

    run()


@pytest.mark.parametrize("mechanism", Mechanism)
def test_a_wrong_password_is_refused_with_the_servers_words(mechanism: Mechanism) -> None:
    @in_loop
    async def run() -> None:
        async with serving(Gate(mechanism).handle, apis=LOGINS) as server:
            with pytest.raises(AuthenticationFailed, match=r"no such login.*SASL_AUTH"):
                async with connected(server, as_(mechanism, "wrong")):
                    pass

    run()


@in_loop
async def test_a_mechanism_that_the_server_lacks_is_told_with_those_it_has() -> None:
    async with serving(Gate(Mechanism.SCRAM_SHA_512).handle, apis=LOGINS) as server:
        with pytest.raises(AuthenticationFailed, match=r"support PLAIN.*SCRAM-SHA-512"):
            async with connected(server, as_(Mechanism.PLAIN)):
                pass


@in_loop
async def test_a_server_without_logins_is_told() -> None:
    async with serving() as server:
        with pytest.raises(AuthenticationFailed, match="does not accept logins"):
            async with connected(server, as_(Mechanism.PLAIN)):
                pass


def test_passwords_are_not_printed() -> None:
    assert _PASSWORD not in repr(as_(Mechanism.PLAIN))
