"""Batches whose offsets and sequence numbers are near their limits."""

from __future__ import annotations

from collections.abc import Iterator

from kraftwire.log import Record
from kraftwire.log.batches.encoding import BatchSettings, encode_batch


def _increment_sequence(sequence: int, increment: int) -> int:
    """Return the next sequence number by Kafka's rule: 0 follows 2**31 - 1."""
    most = 2**31 - 1
    if sequence > most - increment:
        return increment - (most - sequence) - 1
    return sequence + increment


def batches_near_the_limits() -> Iterator[tuple[bytes, list[int]]]:
    """Yield batches near the largest offset and sequence number, with their sequence numbers."""
    for first in (0, 2**63 - 1 - 5):
        for base in (0, 2**31 - 3, 2**31 - 1):
            numbers = [_increment_sequence(base, at) for at in range(5)]
            records = [Record(first + at, 1000, None, b"", ()) for at in range(5)]
            yield encode_batch(records, BatchSettings(producer_id=1, base_sequence=base)), numbers
