"""Names of certificates' subjects; what is expected is what Java prints."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from kraftwire.net.principal import subject_of
from kraftwire_wire.errors import DecodeError

from codec_tests.net.certificates import Authority

_COMMON = NameOID.COMMON_NAME

SUBJECTS = {
    r"CN=node 1,O=Example\, Inc.,C=DE": [
        (NameOID.COUNTRY_NAME, "DE"),
        (NameOID.ORGANIZATION_NAME, "Example, Inc."),
        (_COMMON, "node 1"),
    ],
    r"CN=\ a\=b\+c\<d\>e\;f\"g\\h\#i\ ": [(_COMMON, ' a=b+c<d>e;f"g\\h#i ')],
    r"CN=\ \ x  y\ \ ": [(_COMMON, "  x  y  ")],
    r"CN=\ \ ": [(_COMMON, "  ")],
    r"CN=x\00z": [(_COMMON, "x\0z")],
    "CN=Jürgen ☃": [(_COMMON, "Jürgen ☃")],
    "CN=m,1.2.840.113549.1.9.1=#16056140622e63": [
        (NameOID.EMAIL_ADDRESS, "a@b.c"),
        (_COMMON, "m"),
    ],
    "OU=ou,L=l,STREET=st 1,ST=Ohio,UID=u,DC=example,DC=com": [
        (NameOID.DOMAIN_COMPONENT, "com"),
        (NameOID.DOMAIN_COMPONENT, "example"),
        (NameOID.USER_ID, "u"),
        (NameOID.STATE_OR_PROVINCE_NAME, "Ohio"),
        (NameOID.STREET_ADDRESS, "st 1"),
        (NameOID.LOCALITY_NAME, "l"),
        (NameOID.ORGANIZATIONAL_UNIT_NAME, "ou"),
    ],
    "": [],
}


@pytest.mark.parametrize(("printed", "attributes"), SUBJECTS.items())
def test_a_subject_is_printed_as_java_prints_it(
    printed: str, attributes: Sequence[tuple[x509.ObjectIdentifier, str]], tmp_path: Path
) -> None:
    subject = x509.Name([x509.NameAttribute(number, value) for number, value in attributes])
    assert subject_of(Authority(tmp_path).subject_certificate(subject)) == printed


def test_attributes_of_one_name_are_joined(tmp_path: Path) -> None:
    both = [x509.NameAttribute(_COMMON, "b"), x509.NameAttribute(NameOID.USER_ID, "a")]
    subject = x509.Name([x509.RelativeDistinguishedName(both)])
    assert subject_of(Authority(tmp_path).subject_certificate(subject)) == "CN=b+UID=a"


def test_what_is_no_certificate_is_a_decode_error(tmp_path: Path) -> None:
    subject = x509.Name([x509.NameAttribute(_COMMON, "name")])
    certificate = Authority(tmp_path).subject_certificate(subject)
    for end in range(len(certificate)):
        with pytest.raises(DecodeError):
            subject_of(certificate[:end])
    for at in range(len(certificate)):
        with contextlib.suppress(DecodeError):
            subject_of(certificate[:at] + b"\x80" + certificate[at + 1 :])
