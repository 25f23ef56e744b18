"""`fields`: what it shows of a message's layout, and whom it finds."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from kraftwire.cli.messages.layout_rows import wire_rows
from kraftwire.construct_schema import schema
from kraftwire_messages.kafka import registry
from kraftwire_wire.layout import Field, Layout
from kraftwire_wire.message import Message

from codec_tests.cli.running import done, refused


def rows(*args: str) -> list[Any]:
    return [json.loads(line) for line in done("fields", *args).stdout.splitlines()]


def table(*args: str) -> list[str]:
    return done("fields", *args, "-o", "table").stdout.splitlines()


def test_one_version_in_wire_order() -> None:
    lines = table("VoteResponse", "--version", "1")
    assert [re.sub("(?<=\\S)  +", " | ", line) for line in lines] == [
        "VoteResponse version 1: response, API key 52, flexible",
        "field | type | notes",
        "header | ResponseHeader version 1",
        "  correlation_id | int32",
        "  tag section | none known",
        "message | VoteResponse version 1",
        "  error_code | int16",
        "  topics | compact array of TopicData",
        "    topic_name | compact string | topicName",
        "    partitions | compact array of PartitionData",
        "      partition_index | int32",
        "      error_code | int16",
        "      leader_id | int32 | brokerId",
        "      leader_epoch | int32",
        "      vote_granted | bool",
        "      tag section | none known",
        "    tag section | none known",
        "  tag section | 1 known",
        "    node_endpoints | tag 0: compact array of NodeEndpoint",
        "      node_id | int32 | brokerId",
        "      host | compact string",
        "      port | uint16",
        "      tag section | none known",
    ]


def test_nulls_defaults_and_units_of_one_version() -> None:
    def shown(name: str, field: str, version: int) -> str:
        lines = table(name, "--version", str(version))
        (line,) = (line for line in lines if line.split()[0] == field)
        return " ".join(line.split())

    assert shown("VoteRequest", "cluster_id", 2) == (
        "cluster_id compact string or null default null"
    )
    assert shown("VoteRequest", "voter_id", 2) == "voter_id int32 default -1, brokerId"
    assert shown("FetchRequest", "max_bytes", 4) == "max_bytes int32 default 2147483647, bytes"
    assert shown("FetchResponse", "diverging_epoch", 17) == (
        "diverging_epoch tag 0: EpochEndOffset default not sent"
    )


def test_fields_that_a_version_lacks_are_not_shown() -> None:
    paths = {row["field"] for row in rows("VoteRequest", "--version", "0")}
    assert "voter_id" not in paths
    assert "topics[].partitions[].last_offset" in paths


def test_client_id_keeps_its_classic_form() -> None:
    by_path = {row["field"]: row for row in rows("VoteRequest", "--version", "2")}
    assert by_path["client_id"]["type"] == "string"
    assert by_path["client_id"]["header"] == "RequestHeader"
    assert by_path["cluster_id"]["type"] == "compact string"
    assert by_path["cluster_id"]["nullable"] is True
    assert by_path["voter_id"]["default"] == -1


def test_units_and_names_that_differ() -> None:
    by_path = {row["field"]: row for row in rows("FetchRequest", "--version", "4")}
    assert by_path["max_wait_ms"]["unit"] == "milliseconds"
    assert by_path["max_bytes"]["unit"] == "bytes"
    assert by_path["topics"]["type"] == "array of FetchTopic"


def test_all_versions() -> None:
    lines = table("VoteRequest")
    assert lines[0] == (
        "VoteRequest: request, API key 52, versions 0-2, flexible 0-2, header version 2 in 0+"
    )
    assert lines[2].split() == ["cluster_id", "string", "nnn", "0+", "0+"]
    assert lines[3].split() == ["voter_id", "int32", ".xx", "1+"]
    by_path = {row["field"]: row for row in rows("FetchRequest")}
    assert by_path["cluster_id"]["tagged"] == "12+"
    assert by_path["topics[].topic"]["versions"] == "4-12"
    assert by_path["cluster_id"]["nullable"] == "12+"


@pytest.mark.parametrize("text", ["Vote", "vote", "52"])
def test_api_shows_request_and_response(text: str) -> None:
    assert {row["message"] for row in rows(text)} == {"VoteRequest", "VoteResponse"}


@pytest.mark.parametrize("text", ["voterequest", "vote_request", "VOTEREQUEST"])
def test_spelling_does_not_matter(text: str) -> None:
    assert {row["message"] for row in rows(text)} == {"VoteRequest"}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["VoteRequst"], "did you mean VoteRequest"),
        (["Vot"], "did you mean Vote?"),
        (["zzzzzz"], "has no message 'zzzzzz'\n"),
        (["9999"], "no API key 9999"),
        (["9" * 5000], "has no message"),
        (["Vote", "--version", "9"], "it has 0-2"),
        (["Vote", "--version", "x"], "not a valid integer"),
        ([], "Missing argument"),
        (["\x1b[31m"], "\\x1b[31m"),
    ],
)
def test_what_is_not_there_is_refused(args: list[str], message: str) -> None:
    refused(message, "fields", *args)


def test_package_in_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("my_kafka_messages.py").write_text("from kraftwire_messages.kafka import registry")
    assert rows("VoteRequest", "--messages", "my_kafka_messages")


@pytest.mark.slow
def test_every_message_in_every_version() -> None:
    for name in registry:
        assert rows(name) or not registry.message(name).LAYOUT.fields
        for version in registry.message(name).VALID_VERSIONS:
            assert table(name, "--version", str(version))


def test_a_field_is_compact_only_in_flexible_versions() -> None:
    """What a field says of itself holds within the message's flexible versions only."""

    class Mixed(Message):
        VALID_VERSIONS = range(2)
        FLEXIBLE_VERSIONS = range(1, 2)
        LAYOUT = Layout(
            "Mixed",
            range(2),
            range(1, 2),
            (Field("text", "Text", "string", range(2), "", flexible=range(2)),),
        )

    shown = [next(wire_rows(Mixed, version)).type for version in (0, 1)]
    assert schema(Mixed, 0).parse(b"\x00\x01a").text == "a"
    assert schema(Mixed, 1).parse(b"\x02a\x00").text == "a"
    assert shown == ["string", "compact string"]
