"""Metadata transactions (KIP-868): which records take effect, and when.

Records after a BeginTransactionRecord wait: an EndTransactionRecord lets them take effect, an
AbortTransactionRecord drops them. Only the active controller writes, so transactions never overlap,
and every metadata record after the begin belongs to the open one. Control records belong to the
quorum, and take effect immediately.
"""

from __future__ import annotations

from collections.abc import Sequence

from kraftwire.metadata.errors import BadRecord, ProblemHandler
from kraftwire.metadata.records.replay import MetadataRecord
from kraftwire.metadata.state.image import OpenTransaction
from kraftwire_messages.kafka import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    KRaftVersionRecord,
    LeaderChangeMessage,
    VotersRecord,
)

_CONTROL = (LeaderChangeMessage, KRaftVersionRecord, VotersRecord)


class MetadataTransactions:
    """Takes the records of a log in order; returns those that take effect now.

    It also returns the records that begin, end and abort transactions. `dropped` is how many
    records the last abort dropped.
    """

    def __init__(self, report: ProblemHandler) -> None:
        """`report` is called with ends that have no beginning."""
        self.dropped = 0
        self._report = report
        self._waiting: list[MetadataRecord] = []

    @property
    def open(self) -> OpenTransaction | None:
        """The transaction that has no end yet."""
        if not self._waiting:
            return None
        begin = self._waiting[0]
        assert isinstance(begin.message, BeginTransactionRecord), "feed puts it first"
        return OpenTransaction(begin.message.name, begin.offset, len(self._waiting) - 1)

    def feed(self, entry: MetadataRecord) -> Sequence[MetadataRecord]:
        """Return the records that take effect with this one."""
        message = entry.message
        if isinstance(message, BeginTransactionRecord):
            if self._waiting:
                reason = "a transaction begins before the open one has ended, which is dropped"
                self._report_bad(entry, reason)
            self._waiting = [entry]
            return ()
        if isinstance(message, EndTransactionRecord | AbortTransactionRecord):
            return self._end(entry)
        if self._waiting and not isinstance(message, _CONTROL):
            self._waiting.append(entry)
            return ()
        return (entry,)

    def _end(self, entry: MetadataRecord) -> Sequence[MetadataRecord]:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            self._report_bad(entry, "the end of a transaction that did not begin")
            return (entry,)
        if isinstance(entry.message, EndTransactionRecord):
            return (*waiting, entry)
        self.dropped = len(waiting) - 1
        return waiting[0], entry

    def _report_bad(self, entry: MetadataRecord, reason: str) -> None:
        self._report(BadRecord(entry.file, entry.offset, reason))
