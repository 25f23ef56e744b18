"""A state machine that builds the image of a Kafka cluster from its committed metadata records.

An observer's log may end in uncommitted records, which may be truncated; this never sees those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kraftwire.log.batches.batch import Batch
from kraftwire.metadata.errors import ProblemHandler
from kraftwire.metadata.records.load import apply_entry
from kraftwire.metadata.records.replay import MetadataRecord, read_entries
from kraftwire.metadata.records.transactions import MetadataTransactions
from kraftwire.metadata.state.image import MetadataImage


class MetadataObserver:
    """The state machine; it needs control batches too (`NodeSettings.passes_controls`)."""

    def __init__(self, report: ProblemHandler, listener: Callable[[MetadataRecord], None]) -> None:
        """`report` gets each record that cannot be read or applied, `listener` every record."""
        self.image = MetadataImage()
        self._report = report
        self._listener = listener
        self._transactions = MetadataTransactions(report)

    def apply(self, batch: Batch) -> None:
        header, origin = batch.header, self.image.provenance
        for entry in read_entries(batch, self._report):
            self._listener(entry)
            for ready in self._transactions.feed(entry):
                apply_entry(self.image, ready, self._report)
        origin.offset = header.last_offset + 1
        origin.epoch, origin.timestamp = header.partition_leader_epoch, header.max_timestamp
        origin.transaction = self._transactions.open

    def load(self, batches: Iterable[Batch]) -> None:
        """Load a snapshot; the image has no leader until the next epoch begins."""
        self.image = MetadataImage()
        self._transactions = MetadataTransactions(self._report)
        for batch in batches:
            self.image.provenance.epoch = batch.header.partition_leader_epoch
            for entry in read_entries(batch, self._report):
                apply_entry(self.image, entry, self._report)

    def snapshot(self) -> None:
        """Return None: an observer fetches the snapshots of the leader."""
