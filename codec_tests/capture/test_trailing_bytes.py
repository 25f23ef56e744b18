"""Requests that clients write with bytes behind them, which brokers answer all the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kraftwire.capture.cassette import CassetteReader
from kraftwire.capture.decoding.decoder import pair
from kraftwire.capture.frame import Frame
from kraftwire.capture.frame_redaction import UNREAD, redact_frame
from kraftwire.capture.replay.replay import Replay
from kraftwire.cli import main
from kraftwire_messages.kafka import (
    AlterUserScramCredentialsRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    ProduceRequest,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
    registry,
)
from kraftwire_wire.framing import add_size

from codec_tests.capture.packets import Talk
from codec_tests.capture.proxy_upstreams import Peer, Recorded, scene
from codec_tests.capture.reading import read, read_packets
from codec_tests.capture.sample_frames import (
    cassette_of,
    decode,
    metadata_request,
    metadata_response,
    request,
    response,
)
from codec_tests.cli.running import run
from codec_tests.net.servers import in_loop

OLD_CLIENT = bytes.fromhex("0012 0000 00000001 0007 7264 6b61 666b 61 00000000")
"""ApiVersions version 0 as librdkafka once wrote it, with an int32 0 behind the header."""
TRAILING = "4 bytes follow the end of ApiVersionsRequest version 0 (at byte 17)"


def old_request(connection: int = 1) -> Frame:
    return Frame(connection, "request", 0.0, OLD_CLIENT)


def answer() -> Frame:
    known = ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=4)
    return response(ApiVersionsResponse(api_keys=[known]), 0, 1)


def test_a_request_with_trailing_bytes_is_read_as_by_a_broker() -> None:
    asked, answered = decode(old_request(), answer())
    assert asked.error is None
    assert asked.message == ApiVersionsRequest()
    assert asked.trailing == bytes(4)
    assert str(asked.note) == TRAILING
    assert asked.encode(registry) == OLD_CLIENT
    assert asked.encodes_back(registry)
    assert answered.error is None
    assert answered.note is None
    assert pair([asked, answered])[0].response is answered


def test_a_request_that_only_brokers_accept_has_a_note() -> None:
    """A tag whose size is not that of its value: Java does not look at it."""
    sound = request(ProduceRequest(acks=0, transactional_id="a\u00e9"), 9, 1).data
    broken = sound.replace("a\u00e9".encode(), b"a\xc3!")
    (decoded,) = decode(Frame(1, "request", 0.0, broken))
    assert decoded.error is None
    assert decoded.message == ProduceRequest(acks=0, transactional_id="a\ufffd!", timeout_ms=0)
    assert "not UTF-8" in str(decoded.note)
    assert decoded.trailing == b""
    assert not decoded.encodes_back(registry)


def test_acks_0_with_trailing_bytes_awaits_no_response() -> None:
    silent = request(ProduceRequest(acks=0), 9, 1)
    silent = replace(silent, data=silent.data + b"!")
    asked, again, answered = decode(silent, metadata_request(1), metadata_response(1))
    assert answered.request is again
    assert asked.trailing == b"!"


def test_a_response_with_trailing_bytes_stays_an_error() -> None:
    longer = replace(answer(), data=answer().data + b"!")
    _, answered = decode(old_request(), longer)
    assert "1 byte follows" in str(answered.error)


def test_a_sasl_token_is_not_a_request_with_trailing_bytes() -> None:
    """Tokens are secrets: only what reads to its last byte ends them."""
    asked = request(SaslHandshakeRequest(mechanism="PLAIN"), 0, 1)
    answered = response(SaslHandshakeResponse(mechanisms=["PLAIN"]), 0, 1)
    *_, token = decode(asked, answered, old_request())
    assert token.is_token


def test_the_table_and_the_json_show_the_note() -> None:
    data = cassette_of(old_request(), answer())
    result = run("capture", "decode", "-", stdin=data)
    assert result.exit_code == 0, result.output
    asked, answered = (json.loads(line) for line in result.stdout.splitlines())
    assert asked["error"] is None
    assert asked["note"] == f"{TRAILING}; brokers do not read them"
    assert asked["trailing"] == "00000000"
    assert asked["name"] == "ApiVersionsRequest"
    assert "note" not in answered
    assert "trailing" not in answered
    assert "encodes back to the same bytes: 2 of 2" in result.stderr
    assert "frames with bytes after the message, which brokers do not read: 1" in result.stderr
    table = run("capture", "decode", "-", "-o", "table", stdin=data)
    assert table.exit_code == 0
    assert table.stdout.splitlines()[0].endswith("bytes  note")
    assert table.stdout.splitlines()[1].endswith("brokers do not read them")
    whole = run("capture", "decode", "-", "--frame", 1, "-o", "table", stdin=data)
    assert whole.exit_code == 0
    assert "trailing       00000000" in whole.stdout


def test_a_cassette_keeps_the_bytes(tmp_path: Path) -> None:
    saved = tmp_path / "saved.jsonl"
    run("capture", "decode", "-", "--save", saved, stdin=cassette_of(old_request(), answer()))
    with saved.open("rb") as stream:
        frames = list(CassetteReader(stream, "saved"))
    assert frames[0].data == OLD_CLIENT


def test_redaction_reports_removed_bytes_of_apis_with_secrets() -> None:
    upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(name="u", salt=b"secret")
    sound = request(AlterUserScramCredentialsRequest(upsertions=[upsertion]), 0, 1)
    (decoded,) = decode(replace(sound, data=sound.data + b"secret"))
    frame, paths = redact_frame(decoded, registry)
    assert b"secret" not in frame.data
    assert paths[-1] == UNREAD
    (harmless,) = decode(old_request())
    assert redact_frame(harmless, registry).frame is harmless.frame


def test_a_replay_answers_a_request_with_trailing_bytes() -> None:
    replay = Replay([old_request(), answer()], registry)
    assert replay.tape.problems == []
    reply = replay.answer(OLD_CLIENT, lambda _host, _port: None)
    assert not reply.is_miss
    assert reply.data == answer().data


@pytest.mark.parametrize("version", [0, 99])
def test_a_replay_reads_a_client_id_that_is_not_utf8(version: int) -> None:
    replay = Replay([old_request(), answer()], registry)
    odd = (
        OLD_CLIENT[:2] + version.to_bytes(2) + OLD_CLIENT[4:].replace(b"rdkafka", b"rdk\xff\xfeka")
    )
    reply = replay.answer(odd, lambda _host, _port: None)
    assert not reply.is_miss
    assert reply.data is not None


@in_loop
async def test_a_proxy_forwards_and_records_trailing_bytes() -> None:
    async def reply(data: bytes, peer: Peer) -> None:
        peer.send(answer().data)

    recorded = Recorded()
    async with scene(reply, record=recorded) as (proxy, _, peer):
        peer.send(OLD_CLIENT)
        assert await peer.receive() == answer().data
    assert proxy.problems == []
    assert recorded.data("request") == [OLD_CLIENT]


@pytest.mark.parametrize("begins_with", [0, 3])
def test_a_packet_capture_shows_trailing_bytes(begins_with: int) -> None:
    """From the handshake on, or later: it is a whole request wherever the capture begins."""
    talk = Talk().open().say(0, add_size(OLD_CLIENT)).say(1, add_size(answer().data))
    talk.say(0, add_size(metadata_request(2).data)).say(1, add_size(metadata_response(2).data))
    frames, _ = read(talk) if not begins_with else read_packets(talk.packets[begins_with:])
    assert [frame.data for frame in frames][:1] == [OLD_CLIENT]
    assert [one.error for one in decode(*frames)] == [None] * 4


@pytest.mark.parametrize("args", [["--request"], ["--request", "--lenient"]])
def test_decode_explains_trailing_bytes_and_offers_lenient_reading(
    args: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "old.bin"
    path.write_bytes(OLD_CLIENT)
    result = CliRunner().invoke(main, ["decode", args[0], str(path), *args[1:]])
    if len(args) == 1:
        assert result.exit_code == 1
        assert TRAILING in result.stderr
        assert "brokers do not read them; --lenient reads the request as a broker does" in (
            result.stderr
        )
        assert "old versions of librdkafka write an int32 0 there" in result.stderr
    else:
        assert result.exit_code == 0
        shown: dict[str, Any] = json.loads(result.stdout)
        assert shown["name"] == "ApiVersionsRequest"


def test_decode_offers_lenient_reading_only_if_it_helps(tmp_path: Path) -> None:
    path = tmp_path / "cut.bin"
    path.write_bytes(OLD_CLIENT[:12])
    result = CliRunner().invoke(main, ["decode", "--request", str(path)])
    assert result.exit_code == 1
    assert "--lenient" not in result.stderr
