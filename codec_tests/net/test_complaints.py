"""What peers did wrong is counted always, and logged at a bounded rate."""

from __future__ import annotations

import logging

import pytest

from kraftwire.net.complaints import Complaints, Reason


class Book:
    """Complaints with a clock of the test's."""

    def __init__(self) -> None:
        self.now = 0.0
        self.complaints = Complaints(logging.getLogger("kraftwire.net.test"), lambda: self.now)

    def add(self, address: str = "10.0.0.1", reason: Reason = Reason.SIZE) -> None:
        self.complaints.add(address, f"{address}:1", reason, "7 bytes")


def test_a_peer_and_a_reason_are_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    book = Book()
    for _ in range(5):
        book.add()
    book.add(reason=Reason.UNDECODABLE)
    book.add("10.0.0.2")
    assert len(caplog.messages) == 3
    assert caplog.messages[0] == "closed 10.0.0.1:1: the size of a frame: 7 bytes"
    assert book.complaints.counts == {Reason.SIZE: 6, Reason.UNDECODABLE: 1}
    book.now = 61.0
    book.add()
    assert caplog.messages[3] == "4 more connections were closed like those above"
    assert len(caplog.messages) == 5


def test_many_peers_do_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    book = Book()
    for number in range(10_000):
        book.add(f"10.0.{number >> 8}.{number & 255}")
    assert len(caplog.messages) == 30
    assert book.complaints.counts[Reason.SIZE] == 10_000


def test_idle_connections_are_no_news(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        Book().add(reason=Reason.IDLE)
    assert not caplog.messages


def test_records_say_peer_and_reason_as_fields(caplog: pytest.LogCaptureFixture) -> None:
    Book().add()
    assert vars(caplog.records[0])["peer"] == "10.0.0.1:1"
    assert vars(caplog.records[0])["reason"] == "size"
