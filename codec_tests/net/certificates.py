"""Certificates made for one test run: an authority, and who it vouches for."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


class Authority:
    """An authority; its own certificate is in `file`."""

    def __init__(self, directory: Path, name: str = "authority") -> None:
        self._directory = directory
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._certificate(self._name, self._key, is_authority=True)
        self.file = directory / f"{name}.pem"
        self.file.write_bytes(_pem(certificate))

    def issue(
        self,
        name: str,
        attributes: Sequence[x509.NameAttribute[str]] = (),
        host: str = "127.0.0.1",
        password: bytes | None = None,
    ) -> Path:
        """A file with a certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        common = x509.NameAttribute(NameOID.COMMON_NAME, name)
        certificate = self._certificate(x509.Name([*attributes, common]), key, host)
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password is not None:
            encryption = serialization.BestAvailableEncryption(password)
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        )
        file = self._directory / f"{name}.pem"
        file.write_bytes(secret + _pem(certificate))
        return file

    def subject_certificate(self, subject: x509.Name) -> bytes:
        """A certificate of a subject, in DER."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._certificate(subject, key)
        return certificate.public_bytes(serialization.Encoding.DER)

    def _certificate(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        host: str = "127.0.0.1",
        *,
        is_authority: bool = False,
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if not is_authority:
            address = x509.IPAddress(ipaddress.ip_address(host))
            builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
