"""A message stored as JSON and as bytes; `pytest --kafka-snapshot-update` rewrites both."""

from __future__ import annotations

from kraftwire.pytest_plugin import assert_same_message
from kraftwire.pytest_plugin.snapshots import MessageSnapshot
from kraftwire_messages.kafka import MetadataRequest


def ask_for(*topics: str) -> MetadataRequest:
    """The code under test: builds a request."""
    return MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=t) for t in topics])


def test_the_request_is_what_it_was(message_snapshot: MessageSnapshot) -> None:
    message_snapshot.check(ask_for("orders", "payments"), version=12)


def test_two_requests_are_the_same() -> None:
    assert_same_message(ask_for("orders").encode(12), ask_for("orders"), version=12)
