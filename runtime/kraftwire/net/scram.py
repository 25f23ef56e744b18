"""The client's side of SCRAM (RFC 5802, RFC 7677), without I/O.

The client sends `first` and `final`; `verify` checks the server's proof that it knows the password
too. Kafka has no channel binding, and encodes names and passwords as UTF-8 without SASLprep.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets

from kraftwire.net.errors import AuthenticationFailed
from kraftwire.net.security import Mechanism

_HASHES = {Mechanism.SCRAM_SHA_256: "sha256", Mechanism.SCRAM_SHA_512: "sha512"}
_ITERATIONS = range(4096, 200_001)
"""RFC 7677 sets the minimum; more than the maximum would block the client for too long."""
_NO_BINDING = b"n,,"


class Scram:
    """One login."""

    def __init__(
        self, mechanism: Mechanism, username: str, password: str, nonce: str | None = None
    ) -> None:
        """`nonce` is random by default; tests pass one."""
        self._hash = _HASHES[mechanism]
        self._password = password.encode()
        self._nonce = secrets.token_urlsafe(24) if nonce is None else nonce
        name = username.replace("=", "=3D").replace(",", "=2C")
        self._first = f"n={name},r={self._nonce}".encode()
        self._expected_proof = b""

    def first(self) -> bytes:
        """Return the first message: a name and a nonce."""
        return _NO_BINDING + self._first

    def final(self, challenge: bytes) -> bytes:
        """Return the message with the client's proof."""
        found = _parse_attributes(challenge)
        nonce = found.get("r", "")
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise AuthenticationFailed("SCRAM: the server's nonce does not begin with ours")
        salted = self._salt_password(found)
        binding = base64.b64encode(_NO_BINDING)
        without_proof = b"c=" + binding + b",r=" + nonce.encode()
        exchanged = b",".join((self._first, challenge, without_proof))
        client_key = self._hmac(salted, b"Client Key")
        signature = self._hmac(hashlib.new(self._hash, client_key).digest(), exchanged)
        self._expected_proof = self._hmac(self._hmac(salted, b"Server Key"), exchanged)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return without_proof + b",p=" + base64.b64encode(proof)

    def verify(self, outcome: bytes) -> None:
        """Check the server's last message; raise `AuthenticationFailed` if its proof is wrong."""
        found = _parse_attributes(outcome)
        if "e" in found:
            raise AuthenticationFailed(f"SCRAM: the server refused with {found['e']!r}")
        expected = self._expected_proof
        if not expected or not hmac.compare_digest(_decode_attribute(found, "v"), expected):
            raise AuthenticationFailed("SCRAM: the server did not prove that it knows the password")

    def _salt_password(self, found: dict[str, str]) -> bytes:
        text = found.get("i", "")
        iterations = int(text) if text.isdecimal() and len(text) < 10 else 0
        if iterations not in _ITERATIONS:
            allowed = f"{_ITERATIONS[0]} to {_ITERATIONS[-1]}"
            raise AuthenticationFailed(f"SCRAM: {text[:20]!r} iterations are not {allowed}")
        salt = _decode_attribute(found, "s")
        return hashlib.pbkdf2_hmac(self._hash, self._password, salt, iterations)

    def _hmac(self, key: bytes, text: bytes) -> bytes:
        return hmac.digest(key, text, self._hash)


def _parse_attributes(message: bytes) -> dict[str, str]:
    """Parse comma-separated attributes: a letter, `=` and a value."""
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError:
        raise AuthenticationFailed("SCRAM: the server's message is not UTF-8") from None
    if any(part[1:2] != "=" for part in parts) or parts[0].startswith("m="):
        raise AuthenticationFailed(f"SCRAM: invalid message of the server: {parts[0][:40]!r}...")
    return {part[0]: part[2:] for part in reversed(parts)}


def _decode_attribute(found: dict[str, str], name: str) -> bytes:
    try:
        return base64.b64decode(found.get(name, ""), validate=True)
    except (binascii.Error, ValueError):
        raise AuthenticationFailed(f"SCRAM: attribute {name!r} is not base64") from None
