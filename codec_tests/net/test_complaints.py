"""What peers did wrong is counted always, and logged at a bounded rate."""

from __future__ import annotations

import logging

import pytest

from kraftwire.net.complaints import Complaints, Reason
from kraftwire.net.log_rate import LogRate


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
    assert caplog.messages[3] == "left out lines like those above"
    assert vars(caplog.records[3])["count"] == 4
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


def test_what_a_peer_says_is_one_short_line(caplog: pytest.LogCaptureFixture) -> None:
    complaints = Complaints(logging.getLogger("kraftwire.net.test"))
    complaints.add("10.0.0.1", "10.0.0.1:1", Reason.UNDECODABLE, "a\nb\x1b[2J\u202e" + "x" * 9999)
    (line,) = caplog.messages
    assert line.startswith("closed 10.0.0.1:1: not a request: a\\nb\\x1b[2J\\u202exxx")
    assert line.endswith("x... (10007 characters)")
    assert len(line) < 300


def test_lines_without_a_subject_count_among_all(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    rate = LogRate(logging.getLogger("kraftwire.net.test"), lambda: now[0])
    assert sum(rate.allows() for _ in range(100)) == 30
    now[0] = 60.0
    assert rate.allows()
    assert [vars(one)["count"] for one in caplog.records] == [70]


def test_subjects_that_are_remembered_are_bounded() -> None:
    now = [0.0]
    rate = LogRate(logging.getLogger("kraftwire.net.test"), lambda: now[0])
    for minute in range(100):
        now[0] = minute * 60.0
        for number in range(30):
            assert rate.allows((minute, number))
    assert len(rate._last) <= 1024
