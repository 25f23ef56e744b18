"""Metadata transactions: all or nothing, and when."""

from __future__ import annotations

from kraftwire.metadata.records.replay import MetadataRecord
from kraftwire.metadata.records.transactions import MetadataTransactions
from kraftwire.metadata.state.image import OpenTransaction
from kraftwire_messages.kafka import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    KRaftVersionRecord,
    LeaderChangeMessage,
    NoOpRecord,
    VotersRecord,
)
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message

BEGIN = BeginTransactionRecord(name="t")
END, ABORT, PLAIN = EndTransactionRecord(), AbortTransactionRecord(), NoOpRecord()


def run(*messages: Message) -> tuple[list[list[int]], MetadataTransactions, list[KraftwireError]]:
    """The offsets that take effect with each record."""
    problems: list[KraftwireError] = []
    transactions = MetadataTransactions(problems.append)
    ready = []
    for offset, message in enumerate(messages):
        found = transactions.feed(MetadataRecord("f", offset, 0, 1, message, 0))
        ready.append([entry.offset for entry in found])
    return ready, transactions, problems


def test_records_outside_of_transactions_take_effect_immediately() -> None:
    assert run(PLAIN, PLAIN)[0] == [[0], [1]]


def test_records_wait_for_the_end() -> None:
    ready, transactions, problems = run(PLAIN, BEGIN, PLAIN, PLAIN, END, PLAIN)
    assert ready == [[0], [], [], [], [1, 2, 3, 4], [5]]
    assert transactions.open is None
    assert not problems


def test_aborted_records_are_dropped() -> None:
    ready, transactions, _ = run(BEGIN, PLAIN, PLAIN, ABORT, PLAIN)
    assert ready == [[], [], [], [0, 3], [4]]
    assert transactions.dropped == 2


def test_control_records_belong_to_no_transaction() -> None:
    """A new leader writes LeaderChange, and then aborts what the old one had begun."""
    leader = LeaderChangeMessage(leader_id=2)
    ready, transactions, _ = run(BEGIN, PLAIN, leader, KRaftVersionRecord(), VotersRecord(), ABORT)
    assert ready == [[], [], [2], [3], [4], [0, 5]]
    assert transactions.dropped == 1


def test_a_transaction_without_an_end_stays_open() -> None:
    ready, transactions, _ = run(PLAIN, BEGIN, PLAIN, PLAIN)
    assert ready == [[0], [], [], []]
    assert transactions.open == OpenTransaction("t", 1, 2)


def test_what_does_not_fit_is_reported() -> None:
    ready, _, problems = run(END, ABORT, BEGIN, PLAIN, BEGIN, PLAIN, END)
    assert ready == [[0], [1], [], [], [], [], [4, 5, 6]]
    assert [str(problem).partition(": ")[0] for problem in problems] == [
        "f, offset 0",
        "f, offset 1",
        "f, offset 4",
    ]
