"""SCRAM, with the examples of the RFCs where they have one."""

from __future__ import annotations

import pytest

from kraftwire.net.errors import AuthenticationFailed
from kraftwire.net.scram import Scram
from kraftwire.net.security import Mechanism

# RFC 7677, section 3.
NONCE = "rOprNGfwEbeRWgbNEkqO"
CHALLENGE = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
OUTCOME = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def login(mechanism: Mechanism = Mechanism.SCRAM_SHA_256) -> Scram:
    return Scram(mechanism, "user", "pencil", NONCE)


def test_the_example_of_rfc_7677() -> None:
    scram = login()
    assert scram.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert scram.final(CHALLENGE) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    scram.verify(OUTCOME)


def test_the_steps_of_rfc_5802_with_another_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = {Mechanism.SCRAM_SHA_256: "sha1"}
    monkeypatch.setattr("kraftwire.net.scram._HASHES", hashes)
    scram = Scram(Mechanism.SCRAM_SHA_256, "user", "pencil", "fyko+d2lbbFgONRv9qkxdawL")
    proof = scram.final(b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096")
    assert proof.endswith(b"p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=")
    scram.verify(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=")


def test_names_are_escaped() -> None:
    scram = Scram(Mechanism.SCRAM_SHA_512, "a=b,c", "x", "nonce")
    assert scram.first() == b"n,,n=a=3Db=2Cc,r=nonce"


def test_a_server_that_does_not_know_the_password_is_found_out() -> None:
    scram = login()
    scram.final(CHALLENGE)
    with pytest.raises(AuthenticationFailed, match="did not prove that it knows the password"):
        scram.verify(b"v=" + bytes(OUTCOME[2:]).swapcase())


def test_a_server_cannot_prove_itself_before_it_asked() -> None:
    with pytest.raises(AuthenticationFailed):
        login().verify(b"v=")


@pytest.mark.parametrize(
    "challenge",
    [
        b"",
        b"\xff",
        b"r=other,s=QSXC,i=4096",
        b"r=rOprNGfwEbeRWgbNEkqO,s=QSXC,i=4096",
        b"r=rOprNGfwEbeRWgbNEkqO1,s=QSXC,i=4095",
        b"r=rOprNGfwEbeRWgbNEkqO1,s=QSXC,i=4000000000",
        b"r=rOprNGfwEbeRWgbNEkqO1,s=QSXC,i=-1",
        b"r=rOprNGfwEbeRWgbNEkqO1,s=QSXC",
        b"r=rOprNGfwEbeRWgbNEkqO1,s=Q,i=4096",
        b"r=rOprNGfwEbeRWgbNEkqO1,s=\xc3\xa4,i=4096",
        b"m=new,r=rOprNGfwEbeRWgbNEkqO1,s=QSXC,i=4096",
    ],
)
def test_a_challenge_that_is_none_is_refused(challenge: bytes) -> None:
    with pytest.raises(AuthenticationFailed):
        login().final(challenge)


def test_what_the_server_refuses_is_told() -> None:
    scram = login()
    scram.final(CHALLENGE)
    with pytest.raises(AuthenticationFailed, match="invalid-proof"):
        scram.verify(b"e=invalid-proof")
