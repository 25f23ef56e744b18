"""The rules over a set: each broken and kept, in a released set and in a draft."""

from __future__ import annotations

import pytest

from kraftwire_generator.checks.set_rules import check_set
from kraftwire_generator.errors import Finding
from kraftwire_generator.language.spec import MessageSpec, MessageType
from kraftwire_generator.language.versions import VersionRange


def message(
    name: str, message_type: MessageType, key: int | None = None, valid: str = "0", module: str = ""
) -> tuple[str, MessageSpec]:
    versions = VersionRange.parse(valid)
    spec = MessageSpec(
        name, message_type, versions, VersionRange.NONE, api_key=key, file=f"{name}.json", line=3
    )
    return module, spec


def pair(name: str, key: int, valid: str = "0") -> list[tuple[str, MessageSpec]]:
    return [
        message(f"{name}Request", "request", key, valid),
        message(f"{name}Response", "response", key, valid),
    ]


def told(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.file.removesuffix(".json"), finding.severity) for finding in findings]


KEPT = [
    [],
    [*pair("Ping", 1), *pair("Pong", 2)],
    pair("Ping", 1, "none"),
    [message("A", "metadata", 1, module="x"), message("B", "metadata", 2, module="x")],
    [message("A", "metadata", 1, module="x"), message("B", "metadata", 1, module="y")],
    [message("A", "coordinator-key", 1), message("B", "coordinator-value", 1)],
    [
        message("A", "coordinator-key", 1, module="x"),
        message("B", "coordinator-key", 1, module="y"),
    ],
    [message("A", "data"), message("B", "header"), message("Request", "data")],
]


@pytest.mark.parametrize("messages", KEPT)
@pytest.mark.parametrize("draft", [True, False])
def test_kept(messages: list[tuple[str, MessageSpec]], draft: bool) -> None:
    assert check_set(messages, draft=draft) == []


PING = pair("Ping", 1)
BROKEN = [
    (
        [*PING, *pair("Pong", 1)],
        ["PongRequest", "PongResponse"],
        "PingRequest is a request with apiKey 1 too",
    ),
    ([*PING, *pair("Pong", 1, "none")], ["PongRequest", "PongResponse"], "with apiKey 1 too"),
    (
        [message("PingRequest", "request"), message("PingResponse", "response")],
        ["PingRequest", "PingResponse"],
        "a request needs an apiKey",
    ),
    ([message("A", "metadata")], ["A"], "a metadata needs an apiKey: its record id"),
    ([message("A", "coordinator-key")], ["A"], "needs an apiKey: its record type"),
    ([message("A", "coordinator-value")], ["A"], "needs an apiKey: its record type"),
    ([message("Ping", "request", 1)], ["Ping"], "ends in Request; write PingRequest"),
    ([message("Ping", "response", 1)], ["Ping"], "ends in Response; write PingResponse"),
    (PING[:1], ["PingRequest"], "this request has no response; add PingResponse"),
    (PING[1:], ["PingResponse"], "this response has no request; add PingRequest"),
    (
        [message("PingRequest", "request", 1), message("PingResponse", "response", 2)],
        ["PingResponse"],
        "apiKey is 2, but PingRequest has 1",
    ),
    (
        [message("A", "metadata", 1, module="x"), message("B", "metadata", 1, module="x")],
        ["B"],
        "A is a metadata with apiKey 1 too",
    ),
    (
        [message("A", "coordinator-key", 1), message("B", "coordinator-key", 1)],
        ["B"],
        "A is a coordinator-key with apiKey 1 too",
    ),
    (
        [message("A", "coordinator-value", 1), message("B", "coordinator-value", 1)],
        ["B"],
        "A is a coordinator-value with apiKey 1 too",
    ),
]


@pytest.mark.parametrize(("messages", "names", "phrase"), BROKEN)
def test_broken(messages: list[tuple[str, MessageSpec]], names: list[str], phrase: str) -> None:
    released = check_set(messages, draft=False)
    assert told(released) == [(name, "error") for name in names]
    assert phrase in released[0].message
    assert {finding.line for finding in released} == {3}
    assert told(check_set(messages, draft=True)) == [(name, "warning") for name in names]


@pytest.mark.parametrize("draft", [True, False])
@pytest.mark.parametrize(
    ("first", "second", "phrase"),
    [("Ping", "Ping", "has a message Ping too"), ("Ping", "PING", "share the module ping")],
)
def test_two_messages_for_one_module(first: str, second: str, phrase: str, draft: bool) -> None:
    messages = [message(first, "data", module="x"), message(second, "data", module="y")]
    (finding,) = check_set(messages, draft=draft)
    assert finding.severity == "error"
    assert phrase in finding.message


def test_a_partner_that_nobody_could_read_is_there() -> None:
    assert check_set(PING[:1], draft=False, unread=["PingResponse"]) == []
