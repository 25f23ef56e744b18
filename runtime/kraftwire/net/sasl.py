"""Logs a client in: SaslHandshake, then SaslAuthenticate requests (KIP-43, KIP-152)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from kraftwire.net.errors import AuthenticationFailed
from kraftwire.net.scram import Scram
from kraftwire.net.security import Mechanism, Sasl
from kraftwire_messages.kafka import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode

Ask = Callable[[Message], Awaitable[Message]]


async def log_in(ask: Ask, sasl: Sasl) -> None:
    """Log in; raise `AuthenticationFailed` if the server refuses."""
    handshake = await ask(SaslHandshakeRequest(mechanism=sasl.mechanism))
    offered = cast(SaslHandshakeResponse, handshake)
    if offered.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        theirs = ", ".join(map(repr, offered.mechanisms)) or "none"
        reason = f"the server does not support {sasl.mechanism}; it supports {theirs}"
        raise AuthenticationFailed(f"sasl.mechanism: {reason}")
    _check(offered.error_code, "the server does not accept a login here")
    if sasl.mechanism is Mechanism.PLAIN:
        await _authenticate(ask, b"\0".join((b"", sasl.username.encode(), sasl.password.encode())))
        return
    scram = Scram(sasl.mechanism, sasl.username, sasl.password)
    challenge = await _authenticate(ask, scram.first())
    scram.verify(await _authenticate(ask, scram.final(challenge)))


async def _authenticate(ask: Ask, data: bytes) -> bytes:
    response = cast(SaslAuthenticateResponse, await ask(SaslAuthenticateRequest(auth_bytes=data)))
    _check(response.error_code, response.error_message or "the server refused the login")
    return response.auth_bytes


def _check(code: int, reason: str) -> None:
    if code != ErrorCode.NONE:
        name = ErrorCode(code).name if code in list(ErrorCode) else f"error {code}"
        raise AuthenticationFailed(f"{reason!r} ({name})")
