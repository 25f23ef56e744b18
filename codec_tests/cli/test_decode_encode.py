"""`decode` and `encode`: the same bytes back, every form of input, every kind of refusal."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest

from kraftwire_messages.kafka import SaslAuthenticateRequest, registry
from kraftwire_wire.framing import add_size
from kraftwire_wire.records import encode_coordinator_key, encode_metadata_record, encode_prefixed

from codec_tests.cli.running import decoded, done, encoded, refused, run
from codec_tests.cli.sample_messages import filled, request_bytes, response_bytes

VOTE = request_bytes("VoteRequest", 2)


REQUESTS = [
    (name, version)
    for name in ("VoteRequest", "FetchRequest", "MetadataRequest", "ApiVersionsRequest")
    for version in registry.message(name).VALID_VERSIONS[:: 4 if name == "FetchRequest" else 3]
]
RESPONSES = [
    (name, version)
    for name in ("VoteResponse", "ProduceResponse", "MetadataResponse", "ApiVersionsResponse")
    for version in registry.message(name).VALID_VERSIONS[::3]
]


@pytest.mark.parametrize(("name", "version"), REQUESTS)
def test_request_comes_back(name: str, version: int) -> None:
    frame = request_bytes(name, version)
    printed = done("decode", "--request", "-", stdin=frame).stdout
    assert encoded(printed) == frame
    assert encoded(printed, "--prefix") == add_size(frame)
    obj = json.loads(printed)
    assert list(obj) == ["name", "version", "header", "message"]
    assert (obj["name"], obj["version"]) == (name, version)


@pytest.mark.parametrize(("name", "version"), RESPONSES)
def test_response_comes_back(name: str, version: int) -> None:
    frame = response_bytes(name, version)
    args = ("decode", "--response", "-", "--name", name, "--version", str(version))
    assert encoded(done(*args, stdin=frame).stdout) == frame


@pytest.mark.parametrize(
    ("name", "version"),
    [("ConsumerProtocolSubscription", 3), ("PartitionRecord", 2), ("ProducerSnapshot", 1)],
)
def test_message_comes_back(name: str, version: int) -> None:
    data = filled(name, version).encode(version)
    args = ("decode", "--message", name, "--version", str(version), "-")
    printed = done(*args, stdin=data).stdout
    assert encoded(printed) == data
    bare = json.dumps(json.loads(printed)["message"])
    assert encoded(bare, "--message", name, "--version", str(version)) == data


def test_message_without_any_bytes_comes_back() -> None:
    printed = done("decode", "--message", "ListGroupsRequest", "--version", "0", "-", stdin=b"")
    as_hex = done("encode", stdin=printed.stdout).stdout
    assert as_hex == "\n"
    decoded("--message", "ListGroupsRequest", "--version", "0", "-", stdin=as_hex)


@pytest.mark.parametrize("name", ["Vote", "vote", "VoteResponse", "vote_response", "52"])
def test_api_of_a_response_has_many_names(name: str) -> None:
    frame = response_bytes("VoteResponse", 1)
    obj = decoded("--response", "-", "--name", name, "--version", "1", stdin=frame)
    assert obj["name"] == "VoteResponse"


def test_broker_that_does_not_know_the_api_versions_version_answers_in_version_0() -> None:
    message = filled("ApiVersionsResponse", 0)
    message.error_code = 35
    request = registry.request_header(message, 3, correlation_id=1)
    frame = registry.encode_response(request, message)
    obj = decoded("--response", "-", "--name", "18", "--version", "3", stdin=frame)
    assert obj["version"] == 0
    assert encoded(json.dumps(obj)) == frame


# -- records -------------------------------------------------------------------------------


def test_metadata_record_comes_back() -> None:
    value = encode_metadata_record(filled("PartitionRecord", 2), 2)
    printed = done("decode", "--record", "cluster-metadata", "-", stdin=value).stdout
    assert json.loads(printed)["record"] == {"log": "cluster-metadata", "id": 3, "part": "value"}
    assert encoded(printed) == value


def test_coordinator_record_comes_back(tmp_path: Path) -> None:
    key = encode_coordinator_key(filled("ConsumerGroupMetadataKey", 0))
    value = encode_prefixed(filled("ConsumerGroupMetadataValue", 0), 0)
    (tmp_path / "key").write_bytes(key)
    (tmp_path / "value").write_bytes(value)
    key_args = ("--key", str(tmp_path / "key"))
    value_args = ("--value", str(tmp_path / "value"))
    both = done("decode", "--record", "group", *key_args, *value_args).stdout
    assert encoded(both) == key + value
    alone = done("decode", "--record", "group", "--id", "3", *value_args).stdout
    assert alone == both.splitlines(keepends=True)[1]


@pytest.mark.parametrize(
    ("log", "value", "message"),
    [
        ("cluster-metadata", b"\x02\x00\x00", "frame version"),
        ("cluster-metadata", b"\x01\x7f\x00", "has id 127"),
        ("cluster-metadata", b"\x01\x03\x63", "has no version 99"),
        ("cluster-metadata", b"", "frame version"),
    ],
)
def test_bad_record_is_a_finding(log: str, value: bytes, message: str) -> None:
    refused(message, "decode", "--record", log, "--input", "binary", "-", stdin=value, code=1)


def test_unknown_log_could_not_be_decoded() -> None:
    refused("cluster-metadata", "decode", "--record", "nothing", "-", stdin=b"\x01\x03\x00")


# -- what is wrong with the data: exit 1 ---------------------------------------------------


@pytest.mark.parametrize("size", range(0, len(VOTE), 7))
def test_truncated_request_is_a_finding(size: int) -> None:
    args = ("decode", "--request", "-", "--input", "binary")
    refused("at byte", *args, stdin=VOTE[:size], code=1)


def test_error_has_path_and_offset() -> None:
    result = run("decode", "--request", "-", stdin=VOTE + b"\x00")
    assert f"1 byte follows the end of VoteRequest version 2 (at byte {len(VOTE)})" in result.stderr
    result = run("decode", "--request", "-", stdin=VOTE[:-30])
    assert "topics[1].partitions[1]" in result.stderr


def test_lenient_reads_what_kafka_reads() -> None:
    assert decoded("--request", "-", "--lenient", stdin=VOTE + b"\x00")["name"] == "VoteRequest"


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b"\x7f\xff\x00\x00\x00\x00\x00\x00", "no request has API key 32767"),
        (b"\x00\x34\x00\x63" + VOTE[4:], "VoteRequest has no version 99"),
    ],
)
def test_unknown_api_or_version_in_the_bytes_is_a_finding(frame: bytes, message: str) -> None:
    refused(message, "decode", "--request", "-", stdin=frame, code=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("{", "not JSON"),
        ("[" * 200_000, "nested too deeply"),
        ("[]", "an object"),
        ('{"name": "VoteRequest"}', "version: missing"),
        ('{"name": "VoteRequest", "version": true}', "version: expected an integer"),
        ('{"name": "Nope", "version": 1}', "name: "),
        ('{"name": "VoteRequest", "version": 77, "message": {}}', "has no version 77"),
        ('{"name": "VoteRequest", "version": 1, "message": {"x": 1}}', "message.x: "),
        ('{"name": "VoteRequest", "version": 1, "more": 1}', "more: "),
        ('{"name": "VotersRecord", "version": 0, "header": {}, "message": {}}', "message."),
        ("1" * 5000, "not JSON"),
        ('{"name": "VoteRequest", "name": "VoteRequest", "version": 1}', "'name' more than once"),
        (
            '{"name": "VoteRequest", "version": 2, "message": {"voterId": 1, "voter\\u0049d": 2}}',
            "'voterId' more than once",
        ),
    ],
)
def test_json_that_says_no_message_is_a_finding(text: str, message: str) -> None:
    refused(message, "encode", stdin=text, code=1)


def test_header_must_fit_the_message() -> None:
    obj = decoded("--request", "-", stdin=VOTE)
    for key, value in (("requestApiVersion", 1), ("requestApiKey", 1)):
        wrong = obj | {"header": obj["header"] | {key: value}}
        assert run("encode", stdin=json.dumps(wrong)).exit_code == 1


@pytest.mark.parametrize(
    "record",
    [
        {"log": "group", "id": 3},
        {"log": "group", "id": 3, "part": "both"},
        {"log": "group", "id": 3, "part": "key"},
        {"log": "group", "id": 9, "part": "key"},
        {"log": "nothing", "id": 3, "part": "value"},
        7,
    ],
)
def test_record_must_fit_the_message(record: object) -> None:
    value = encode_metadata_record(filled("PartitionRecord", 2), 2)
    obj = decoded("--record", "cluster-metadata", "-", stdin=value)
    assert run("encode", stdin=json.dumps(obj | {"record": record})).exit_code == 1


# -- what is wrong with the command: exit 2 ------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "give one of"),
        (["--request", "-", "--message", "Vote"], "give one of"),
        (["--request", "-", "--name", "Vote"], "--name does not go with --request"),
        (["--response", "-", "--version", "1"], "--response needs --name"),
        (["--message", "VoteRequest", "--version", "1"], "--message needs FILE"),
        (["--message", "VoteRequest", "--version", "9", "-"], "it has 0-2"),
        (["--message", "Vote", "--version", "1", "-"], "VoteRequest or VoteResponse"),
        (["--message", "VoteRequst", "--version", "1", "-"], "did you mean VoteRequest"),
        (["--response", "-", "--name", "VoteRequest", "--version", "1"], "not a response"),
        (["--response", "-", "--name", "Vote", "--version", "9"], "it has 0-2"),
        (["--response", "-", "--name", "9999", "--version", "9"], "no API key 9999"),
        (["--record", "group"], "--record needs"),
        (["--record", "group", "--value", "-"], "--record needs"),
        (["--record", "group", "--id", "99", "--value", "-"], "no group record with id 99"),
        (["--record", "cluster-metadata", "--key", "-"], "records have no keys"),
        (["--record", "group", "-"], "records have keys"),
        (["--record", "group", "-", "--lenient"], "--lenient does not go with --record"),
        (["--wrong"], "--wrong"),
        (["--request", "-", "--input", "octal"], "octal"),
        (["--request", "-", "--messages", "no.such.module"], "no.such.module"),
        (["--request", "-", "--messages", "json"], "not a package that kraftwire generated"),
        (["--request", "-", "--messages", ""], "--messages"),
    ],
)
def test_wrong_options_are_refused(args: list[str], message: str) -> None:
    refused(message, "decode", *args, stdin=VOTE)


def test_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        result = run("decode", "--request", str(path))
        assert result.exit_code == 2
        assert str(path) in result.stderr.replace("\n", "")
    assert run("encode", str(tmp_path)).exit_code == 2


def test_message_and_version_go_together() -> None:
    assert run("encode", "--message", "VoteRequest", stdin="{}").exit_code == 2
    result = run("encode", "--message", "VoteRequest", "--version", "9", stdin="{}")
    assert result.exit_code == 2


# -- output --------------------------------------------------------------------------------


def test_table_has_names_and_no_control_characters() -> None:
    frame = response_bytes("VoteResponse", 1)
    args = ("--response", "-", "--name", "Vote", "--version", "1", "-o", "table")
    table = done("decode", *args, stdin=frame).stdout
    assert re.search("error_code +3 UNKNOWN_TOPIC_OR_PARTITION\n", table)
    assert "\x1b" not in table
    assert "\\u001b[31m [bold]" in table
    assert "unknown tag 9000" in table
    assert "52 Vote" in done("decode", "--request", "-", "-o", "table", stdin=VOTE).stdout


def test_number_without_name_stays_a_number() -> None:
    message = filled("VoteResponse", 1)
    message.error_code = 30000
    args = ("--message", "VoteResponse", "--version", "1", "-", "-o", "table")
    table = done("decode", *args, stdin=message.encode(1)).stdout
    assert re.search("error_code +30000\n", table)


def test_java_style_prints_what_kafka_prints() -> None:
    assert "_unknownTaggedFields" in decoded("--request", "-", stdin=VOTE)["message"]
    obj = decoded("--request", "-", "--style", "java", stdin=VOTE)
    assert "_unknownTaggedFields" not in obj["message"]
    assert encoded(json.dumps(obj))


def test_json_may_have_any_layout() -> None:
    obj = decoded("--request", "-", stdin=VOTE)
    text = "\ufeff\n" + json.dumps(obj, indent=2) + json.dumps(obj) + "\r\n\t"
    assert encoded(text) == VOTE * 2


@pytest.mark.parametrize("form", ["hex", "base64"])
def test_encoded_bytes_as_text(form: str) -> None:
    printed = done("decode", "--request", "-", stdin=VOTE).stdout
    text = done("encode", "-o", form, stdin=printed * 2).stdout.splitlines()
    read = bytes.fromhex if form == "hex" else base64.b64decode
    assert [read(line) for line in text] == [VOTE, VOTE]


def test_decode_of_a_whole_set() -> None:
    """Every request, with something in every field, in its newest version."""
    for api_key in registry.api_keys:
        request = registry.request(api_key)
        version = request.VALID_VERSIONS[-1]
        frame = request_bytes(request.__name__, version)
        printed = done("decode", "--request", "-", "--input", "binary", stdin=frame).stdout
        assert encoded(printed) == frame, request.__name__
        done("decode", "--request", "-", "-o", "table", "--input", "binary", stdin=frame)


def test_secrets_are_left_out_where_that_is_asked_for() -> None:
    request = SaslAuthenticateRequest(auth_bytes=b"\0alice\0very-secret")
    header = registry.request_header(request, 2, correlation_id=7)
    frame = registry.encode_request(header, request)
    shown = json.loads(done("decode", "--request", "-", stdin=frame).stdout)
    assert base64.b64decode(shown["message"]["authBytes"]) == b"\0alice\0very-secret"
    shown = json.loads(done("decode", "--request", "-", "--redact", stdin=frame).stdout)
    assert base64.b64decode(shown["message"]["authBytes"]) == b"(redacted)"
