"""`kraftwire capture decode`."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import pytest

from kraftwire_messages.kafka import SaslAuthenticateRequest, SaslAuthenticateResponse

from codec_tests.capture.commands import capture_decode, rows_of
from codec_tests.capture.sample_frames import (
    CAPTURE,
    api_versions_refusal,
    api_versions_request,
    cassette_of,
    metadata_request,
    metadata_response,
    request,
    response,
)


def test_the_committed_capture_decodes_and_encodes_back() -> None:
    result = capture_decode(CAPTURE)
    assert result.exit_code == 0
    count = len(rows_of(result))
    assert f"encodes back to the same bytes: {count} of {count}" in result.stderr
    assert f"decoded: {count} of {count}" in result.stderr
    assert "24 APIs" in result.stderr


def test_json_has_the_fields_of_the_frame() -> None:
    result = capture_decode("-", stdin=cassette_of(metadata_request(5), metadata_response(5)))
    assert result.exit_code == 0
    asked, answered = rows_of(result)
    expected = {
        "frame": 1,
        "connection": 1,
        "direction": "request",
        "api": "Metadata",
        "apiKey": 3,
        "version": 12,
        "correlationId": 5,
        "clientId": "tester",
        "error": None,
        "name": "MetadataRequest",
    }
    assert asked | expected == asked
    assert asked["header"]["requestApiVersion"] == 12
    assert answered["answers"] == 1
    assert answered["message"]["controllerId"] == 7


def test_a_table_has_a_row_for_each_frame() -> None:
    data = cassette_of(metadata_request(5), metadata_response(5))
    lines = capture_decode("-", "-o", "table", stdin=data).stdout.splitlines()
    assert lines[0].split() == [
        *("frame", "conn", "direction", "API", "corr", "id", "client", "id", "bytes")
    ]
    assert lines[1].split() == ["1", "1", "request", "3", "Metadata", "v12", "5", "tester", "21"]
    assert lines[2].split()[:7] == ["2", "1", "response", "3", "Metadata", "v12", "5"]
    assert len(lines) == 3


def test_a_table_has_a_column_of_errors_if_there_are_any() -> None:
    data = cassette_of(metadata_request(5), replace(metadata_response(5), data=b"ab"))
    lines = capture_decode("-", "-o", "table", stdin=data).stdout.splitlines()
    assert lines[0].endswith("bytes  error")
    assert lines[1].split()[-1] == "21"
    assert lines[2].endswith("correlation_id: 2 bytes cannot hold one (at byte 0)")


def test_the_table_fits_a_terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraftwire.console.output.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    lines = capture_decode(CAPTURE, "-o", "table").stdout.splitlines()
    frames = len(CAPTURE.read_text().splitlines()) - 1  # the first line is the header
    assert max(map(len, lines)) <= 80
    assert len(lines) < frames * 1.1  # only the longest names of APIs are folded


@pytest.mark.parametrize("api", ["Fetch", "fetch", "1", "FetchRequest"])
def test_one_api_can_be_selected(api: str) -> None:
    result = capture_decode(CAPTURE, "--api", api)
    assert result.exit_code == 0
    assert {row["api"] for row in rows_of(result)} == {"Fetch"}
    assert "1 API, 13 versions" in result.stderr


@pytest.mark.parametrize("api", ["Fetsch", "9999", "VoterSetRecord", "MetadataVersion"])
def test_an_unknown_api_is_refused(api: str) -> None:
    result = capture_decode(CAPTURE, "--api", api)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_one_frame_is_printed_in_full() -> None:
    data = cassette_of(metadata_request(5), metadata_response(5))
    (row,) = rows_of(capture_decode("-", "--frame", "2", stdin=data))
    assert row["frame"] == 2
    assert row["message"]["controllerId"] == 7
    table = capture_decode("-", "--frame", "2", "-o", "table", stdin=data).stdout
    assert table.startswith("frame          2\nconnection     1\n")
    assert "MetadataResponse version 12, API key 3" in table
    assert "controller_id" in table


def test_a_refused_api_versions_request_is_shown_in_version_0() -> None:
    data = cassette_of(api_versions_request(1, 3), api_versions_refusal(1))
    result = capture_decode("-", "--frame", "2", stdin=data)
    assert result.exit_code == 0
    (row,) = rows_of(result)
    assert (row["version"], row["message"]["errorCode"]) == (0, 35)


def test_a_missing_frame_is_an_error() -> None:
    result = capture_decode("-", "--frame", "9", stdin=cassette_of(metadata_request(5)))
    assert result.exit_code == 2
    assert "has no frame 9" in result.stderr


def test_an_undecodable_frame_is_a_finding() -> None:
    broken = replace(metadata_request(5), data=metadata_request(5).data[:-1])
    data = cassette_of(broken, metadata_response(5))
    result = capture_decode("-", stdin=data)
    assert result.exit_code == 1
    bad, good = rows_of(result)
    assert bad["error"].startswith("tags: varint is cut off")
    assert bad["hex"] == broken.data.hex()
    assert good["error"] is None
    assert "decoded: 1 of 2" in result.stderr
    one = capture_decode("-", "--frame", "1", "-o", "table", stdin=data)
    assert one.exit_code == 1
    assert "frame 1: tags: varint is cut off" in one.stderr


def test_a_frame_that_does_not_encode_back_is_a_finding() -> None:
    sound = metadata_request(5)
    overlong = replace(sound, data=sound.data[:-1] + b"\x80\x00")
    result = capture_decode("-", stdin=cassette_of(overlong))
    assert result.exit_code == 1
    assert rows_of(result)[0]["error"] == "does not encode back to the same bytes"
    assert "decoded: 1 of 1" in result.stderr
    assert "encodes back to the same bytes: 0 of 1" in result.stderr


def test_a_bad_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(cassette_of(metadata_request(5)) + b"{}\n")
    result = capture_decode(path)
    assert result.exit_code == 2
    assert f"{path}:3: connection is missing" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    result = capture_decode(tmp_path / "absent.jsonl")
    assert result.exit_code == 2


def test_secrets_are_omitted_on_request(tmp_path: Path) -> None:
    password = b"\0alice\0very-secret"
    login = request(SaslAuthenticateRequest(auth_bytes=password), 2, 5)
    answer = response(SaslAuthenticateResponse(), 2, 5)
    recorded, saved = cassette_of(login, answer), tmp_path / "saved.jsonl"
    shown, _ = rows_of(capture_decode("-", stdin=recorded))
    assert b64decode(shown["message"]["authBytes"]) == password
    result = capture_decode("-", "--redact", "--save", saved, stdin=recorded)
    assert result.exit_code == 0, result.stderr
    shown, _ = rows_of(result)
    assert b64decode(shown["message"]["authBytes"]) == b"(redacted)"
    line, _ = (json.loads(text) for text in saved.read_text().splitlines()[1:])
    assert password not in b64decode(line["frame"])
    assert line["redacted"] == ["auth_bytes"]
