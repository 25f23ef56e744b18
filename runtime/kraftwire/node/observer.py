"""Kafka's metadata as an observer sees it: every committed record, and the image that they make.

The log that an observer keeps has records that are not committed, and may be truncated; what
this is handed never is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kraftwire.log.batch import Batch
from kraftwire.metadata.errors import Report
from kraftwire.metadata.image import MetadataImage
from kraftwire.metadata.load import apply_entry
from kraftwire.metadata.replay import Entry, read_entries
from kraftwire.metadata.transactions import Transactions


class MetadataObserver:
    """A state machine that wants control batches too."""

    def __init__(self, report: Report, told: Callable[[Entry], None]) -> None:
        """`report` gets what cannot be read or applied, `told` every record that is committed."""
        self.image = MetadataImage()
        self._report = report
        self._told = told
        self._transactions = Transactions(report)

    def apply(self, batch: Batch) -> None:
        header, origin = batch.header, self.image.provenance
        for entry in read_entries(batch, self._report):
            self._told(entry)
            for ready in self._transactions.feed(entry):
                apply_entry(self.image, ready, self._report)
        origin.offset = header.last_offset + 1
        origin.epoch, origin.timestamp = header.partition_leader_epoch, header.max_timestamp
        origin.transaction = self._transactions.open

    def load(self, batches: Iterable[Batch]) -> None:
        """See `StateMachine`; the image has no leader before the next one begins its epoch."""
        self.image = MetadataImage()
        self._transactions = Transactions(self._report)
        for batch in batches:
            self.image.provenance.epoch = batch.header.partition_leader_epoch
            for entry in read_entries(batch, self._report):
                apply_entry(self.image, entry, self._report)

    def snapshot(self) -> None:
        """See `StateMachine`; those of the leader are fetched where they are needed."""
