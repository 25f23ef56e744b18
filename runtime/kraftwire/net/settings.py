"""Reads security settings from Kafka's properties.

The settings of one listener (`listener.name.NAME.ssl...`) override those of all listeners. Keys and
certificates are PEM files. In Kafka's words, the key store has the key and certificate of this end,
and the trust store has the certificates of authorities.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from kraftwire.net.errors import BadSecurity
from kraftwire.net.security import (
    PLAINTEXT,
    ClientAuth,
    ClientSecurity,
    Mechanism,
    Sasl,
    ServerSecurity,
    Tls,
)

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_INLINE = ("ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.truststore.certificates")
_CREDENTIAL = re.compile(
    r"""\b(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+?))(?=[\s;]|$)"""
)


def client_security(
    settings: Mapping[str, str], *, protocol: str | None = None, listener: str = ""
) -> ClientSecurity:
    """Return how to connect; raise `BadSecurity` that names an invalid setting.

    A server that connects to others passes the protocol and the name of its listener.
    """
    named = _ListenerSettings(settings, listener)
    chosen = protocol or named.get("security.protocol") or "PLAINTEXT"
    if chosen.upper() not in _PROTOCOLS:
        known = ", ".join(_PROTOCOLS)
        raise BadSecurity(f"security.protocol: {chosen!r} is not one of {known}")
    has_tls, has_sasl = chosen.upper().endswith("SSL"), chosen.upper().startswith("SASL")
    if not has_tls and not has_sasl:
        return PLAINTEXT
    checks = named.get("ssl.endpoint.identification.algorithm", "https").lower()
    if checks not in ("https", ""):
        raise BadSecurity(
            f"ssl.endpoint.identification.algorithm: {checks!r} is neither https nor empty"
        )
    return ClientSecurity(
        tls=_tls(named) if has_tls else None,
        checks_host_name=checks == "https",
        sasl=_sasl(named) if has_sasl else None,
    )


def server_security(settings: Mapping[str, str], listener: str = "") -> ServerSecurity:
    """Return the TLS of a listener; raise `BadSecurity` that names an invalid setting."""
    named = _ListenerSettings(settings, listener)
    auth = named.get("ssl.client.auth", ClientAuth.NONE).lower()
    if auth not in list(ClientAuth):
        raise BadSecurity(f"ssl.client.auth: {auth!r} is not one of {', '.join(ClientAuth)}")
    tls = _tls(named)
    if tls.certificates is None:
        raise BadSecurity("ssl.keystore.location: a listener with SSL needs it; name a PEM file")
    return ServerSecurity(tls=tls, client_auth=ClientAuth(auth))


class _ListenerSettings:
    """The settings of one listener."""

    def __init__(self, settings: Mapping[str, str], listener: str) -> None:
        self._settings = settings
        self._prefix = f"listener.name.{listener.lower()}." if listener else ""

    def get(self, name: str, default: str = "") -> str:
        """Return the value for the listener, or for all listeners, or the default."""
        own = self._settings.get(self._prefix + name)
        value = self._settings.get(name, default) if own is None else own
        return value.strip()


def _tls(settings: _ListenerSettings) -> Tls:
    for name in _INLINE:
        if settings.get(name):
            raise BadSecurity(f"{name}: PEM text as a setting is not supported; put it in a file")
    keys, trusted = settings.get("ssl.keystore.location"), settings.get("ssl.truststore.location")
    password = settings.get("ssl.key.password") or settings.get("ssl.keystore.password")
    return Tls(
        certificates=Path(keys) if keys else None,
        key_password=password or None,
        authorities=Path(trusted) if trusted else None,
    )


def _sasl(settings: _ListenerSettings) -> Sasl:
    named = settings.get("sasl.mechanism.controller.protocol") or settings.get("sasl.mechanism")
    if named not in list(Mechanism):
        known = ", ".join(Mechanism)
        raise BadSecurity(f"sasl.mechanism: {named or 'GSSAPI'!r} is not one of {known}")
    jaas = settings.get(f"{named.lower()}.sasl.jaas.config") or settings.get("sasl.jaas.config")
    found = {
        match[1]: (
            re.sub(r"\\(.)", r"\1", match[2]) if match[2] is not None else match[3] or match[4]
        )
        for match in _CREDENTIAL.finditer(jaas)
    }
    if "username" not in found or "password" not in found:
        raise BadSecurity('sasl.jaas.config: username="..." or password="..." is missing')
    return Sasl(Mechanism(named), found["username"], found["password"])
