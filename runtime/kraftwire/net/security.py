"""Security of connections: TLS with PEM files on both sides, SASL for clients.

Files are read when a context is first used. An encrypted key needs `key_password`: nothing prompts
at a terminal.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from kraftwire.net.errors import BadSecurity


class Mechanism(StrEnum):
    """How a client logs in."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"


class ClientAuth(StrEnum):
    """Whether a server asks clients for certificates; Kafka's `ssl.client.auth`."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


@dataclass(frozen=True, kw_only=True)
class Tls:
    """PEM files; the chain and its key may be in one."""

    certificates: Path | None = None
    """The certificate chain of this end, without the root."""
    key: Path | None = None
    """None if it is in the file of the certificates."""
    key_password: str | None = field(default=None, repr=False)
    authorities: Path | None = None
    """Trusted authorities; by default, a client trusts those of the system."""


@dataclass(frozen=True)
class Sasl:
    """A login."""

    mechanism: Mechanism
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class ClientSecurity:
    """How a client connects: in plain text, or with TLS, SASL or both."""

    tls: Tls | None = None
    checks_host_name: bool = True
    """Whether the certificate of the server must match the host."""
    sasl: Sasl | None = None

    @cached_property
    def context(self) -> ssl.SSLContext | None:
        """The TLS context; raises `BadSecurity` or `OSError` if its files are invalid."""
        if self.tls is None:
            return None
        context = _load_context(self.tls, ssl.Purpose.SERVER_AUTH)
        context.check_hostname = self.checks_host_name
        return context


@dataclass(frozen=True, kw_only=True)
class ServerSecurity:
    """TLS for a listener."""

    tls: Tls
    client_auth: ClientAuth = ClientAuth.NONE

    @cached_property
    def context(self) -> ssl.SSLContext:
        """The TLS context; raises `BadSecurity` or `OSError` if its files are invalid."""
        if self.tls.certificates is None:
            raise BadSecurity("a listener with TLS needs a certificate and its key")
        if self.client_auth is not ClientAuth.NONE and self.tls.authorities is None:
            reason = "no authorities to verify the certificates of clients"
            raise BadSecurity(f"{reason}: set ssl.truststore.location")
        context = _load_context(self.tls, ssl.Purpose.CLIENT_AUTH)
        context.verify_mode = {
            ClientAuth.NONE: ssl.CERT_NONE,
            ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
            ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
        }[self.client_auth]
        return context


PLAINTEXT = ClientSecurity()


def _load_context(tls: Tls, purpose: ssl.Purpose) -> ssl.SSLContext:
    for path in (tls.authorities, tls.certificates, tls.key):
        if path is not None:
            _check_pem(path)
    context = _create_context(tls.authorities, purpose)
    if tls.certificates is not None:
        try:
            # Without a password OpenSSL would ask for one at the terminal.
            context.load_cert_chain(tls.certificates, tls.key, tls.key_password or "")
        except (ssl.SSLError, ValueError) as error:
            key = tls.key or tls.certificates
            raise BadSecurity(f"{key}: no key that matches {tls.certificates} ({error})") from None
    return context


def _create_context(authorities: Path | None, purpose: ssl.Purpose) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(purpose, cafile=authorities)
    except ssl.SSLError as error:
        raise BadSecurity(f"{authorities}: not certificates of authorities ({error})") from None


def _check_pem(path: Path) -> None:
    """Raise `BadSecurity` if a file is not PEM; it may be a Java key store."""
    with path.open("rb") as file:
        start = file.read(1 << 20)
    if b"-----BEGIN " not in start:
        fix = f"keytool -importkeystore -srckeystore {path.name} -destkeystore x.p12"
        fix = f"{fix} -deststoretype PKCS12, then openssl pkcs12 -in x.p12 -out x.pem -nodes"
        raise BadSecurity(f"{path}: not PEM; convert a Java key store with {fix}")
