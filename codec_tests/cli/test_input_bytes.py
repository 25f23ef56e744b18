"""How `decode` finds out the form of its input, and whether a length prefix is there."""

from __future__ import annotations

import base64
import json
import tracemalloc

import pytest

from kraftwire.cli.messages.input_bytes import parse_input
from kraftwire_wire.framing import add_size

from codec_tests.cli.running import decoded, done, encoded, refused, run
from codec_tests.cli.sample_messages import filled, request_bytes, response_bytes

VOTE = request_bytes("VoteRequest", 2)

# -- forms of input ------------------------------------------------------------------------

FORMS = {
    "binary": VOTE,
    "hex": VOTE.hex().encode(),
    "hex, upper case, spaces and lines": VOTE.hex(" ", 2).upper().replace(" 0", "\r\n0").encode(),
    "base64": base64.b64encode(VOTE),
    "base64 in lines": base64.encodebytes(VOTE),
}


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS)
def test_form_of_input_is_found_out(content: bytes) -> None:
    assert decoded("--request", "-", stdin=content)["header"]["clientId"] == "tester"


@pytest.mark.parametrize("form", ["hex", "base64", "binary"])
def test_form_of_input_can_be_said(form: str) -> None:
    stdin = {"hex": VOTE.hex().encode(), "base64": base64.b64encode(VOTE), "binary": VOTE}[form]
    assert decoded("--request", "-", "--input", form, stdin=stdin)["name"] == "VoteRequest"


@pytest.mark.parametrize("form", ["hex", "base64"])
def test_input_of_another_form_is_refused(form: str) -> None:
    refused(f"not {form}", "decode", "--request", "-", "--input", form, stdin=VOTE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", b""),
        (b" \n", b""),
        (b"0aF", b"0aF"),
        (b"0aFf", b"\x0a\xff"),
        (b"QUI=", b"AB"),
        (b"QQ==", b"A"),
        (b"QQ=", b"QQ="),
        (b"QQ==QQ==", b"QQ==QQ=="),
        (b"=QQ=", b"=QQ="),
        (b"QUI-", b"QUI-"),
        (b"ab\xff", b"ab\xff"),
    ],
)
def test_form_of_short_inputs(text: bytes, expected: bytes) -> None:
    assert parse_input(text, None) == expected


@pytest.mark.parametrize("piece", [b"ab", b"ab ", b"AAz/", b"\xff "])
def test_memory_for_finding_out_the_form_is_a_small_multiple(piece: bytes) -> None:
    raw = piece * (1_000_000 // len(piece))
    tracemalloc.start()
    try:
        parse_input(raw, None)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(raw)
    finally:
        tracemalloc.stop()


def test_binary_that_looks_like_hex_can_be_said() -> None:
    args = ("--message", "ListGroupsRequest", "--version", "3", "-")
    assert run("decode", *args, stdin=b"00").exit_code == 0
    assert run("decode", *args, "--input", "binary", stdin=b"00").exit_code == 1


# -- length prefixes -----------------------------------------------------------------------


def test_several_requests_give_a_line_each() -> None:
    stream = b"".join(add_size(request_bytes("VoteRequest", 2, number)) for number in range(3))
    printed = done("decode", "--request", "-", stdin=stream).stdout
    ids = [json.loads(line)["header"]["correlationId"] for line in printed.splitlines()]
    assert ids == [0, 1, 2]
    assert encoded(printed, "--prefix") == stream


def test_bad_request_among_several_does_not_hide_the_others() -> None:
    bad = VOTE[:20]
    stream = add_size(VOTE) + add_size(bad) + add_size(VOTE)
    result = run("decode", "--request", "-", stdin=stream)
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 2
    assert "request 2: " in result.stderr
    offset = int(result.stderr.split("at byte ")[1].split(")")[0])
    assert len(VOTE) + 8 < offset <= len(VOTE) + 8 + len(bad)


def test_prefix_is_part_of_the_offset_of_an_error() -> None:
    plain = run("decode", "--request", "-", "--no-prefix", stdin=VOTE[:30])
    behind = run("decode", "--request", "-", "--prefix", stdin=add_size(VOTE[:30]))
    first, second = (
        int(result.stderr.split("at byte ")[1].split(")")[0]) for result in (plain, behind)
    )
    assert second == first + 4


def test_prefix_that_is_said_must_be_there() -> None:
    refused("length prefix", "decode", "--request", "-", "--prefix", stdin=VOTE, code=1)


def test_message_that_begins_with_its_own_length_is_read_as_it_is() -> None:
    data = filled("SaslAuthenticateRequest", 0).encode(0)
    assert data == add_size(data[4:])
    args = ("--message", "SaslAuthenticateRequest", "--version", "0", "-")
    assert decoded(*args, stdin=data)["message"]["authBytes"] == "AAH/"
    with_size = decoded(*args, stdin=add_size(data))["message"]
    assert with_size == {"authBytes": base64.b64encode(data).decode()}
    assert decoded(*args, "--prefix", stdin=add_size(data))["message"]["authBytes"] == "AAH/"


def test_response_whose_correlation_id_is_its_length_is_read_as_it_is() -> None:
    size = len(response_bytes("MetadataResponse", 9)) - 4
    frame = response_bytes("MetadataResponse", 9, correlation_id=size)
    assert frame == add_size(frame[4:])
    args = ("--response", "-", "--name", "Metadata", "--version", "9")
    assert decoded(*args, stdin=frame)["header"]["correlationId"] == size
