"""The recorded records of each partition, from which Produce and Fetch are answered.

How records are grouped into batches, and partitions into requests, depends on timing. So a
cassette becomes, for each partition, the records that were produced, in order, and the batches
that were fetched. Rules:

- a Produce request matches if the next unproduced records of each partition have its keys,
  values and headers; timestamps, sequences and codecs may differ;
- a recorded refusal is repeated once, for the records that it refused;
- a Fetch request gets the recorded batches at its offset, except those with records that were
  produced in the cassette, but not yet in the replay;
- each recorded fetch error is repeated once, before the batches at its offset;
- if there is nothing to read, a Fetch request gets an empty answer after its own waiting time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator
from copy import copy
from heapq import heappop, heappush
from typing import Any, NamedTuple

from kraftwire.log.batches.batch import Batch, decode_batch
from kraftwire.log.batches.large_records import RecordBudget
from kraftwire.log.errors import CorruptBatch

Partition = tuple[str, int]
"""A topic's name, or its id if the name is not known; and the partition's index."""

Content = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
"""The parts of a record that must be equal: key, value, headers."""


class ProducedRecord:
    """A record that was produced, and the broker's answer for its partition."""

    def __init__(self, content: Content, offset: int | None, answer: Any, group: int) -> None:
        self.content = content
        self.offset = offset
        """Its offset; None if the broker refused it or did not report one."""
        self.answer = answer
        """The PartitionProduceResponse; None with acks=0."""
        self.group = group
        """The number of its request."""
        self.is_used = False

    @property
    def is_refused(self) -> bool:
        return self.answer is not None and self.answer.error_code != 0


class FetchedBatch(NamedTuple):
    """A batch that was fetched, and the PartitionData that it came in."""

    first: int
    last: int
    data: bytes
    answer: Any


class ProduceLog:
    """The records produced to one partition, in the order of the cassette."""

    def __init__(self) -> None:
        self._records: list[ProducedRecord] = []
        self._start = 0
        """The index of the first unused record."""
        self._offsets: list[tuple[int, int]] = []
        """A heap of offsets with their record's index; used ones are removed at the top."""

    def add(self, contents: list[Content], answer: Any, group: int) -> None:
        """Add the records of one request, and the answer for their partition."""
        base = None
        if answer is not None and answer.error_code == 0 and answer.base_offset >= 0:
            base = answer.base_offset
        for at, content in enumerate(contents):
            offset = None if base is None else base + at
            if offset is not None:
                heappush(self._offsets, (offset, len(self._records)))
            self._records.append(ProducedRecord(content, offset, answer, group))

    def find(self, contents: list[Content]) -> list[ProducedRecord] | None:
        """Return the unused recorded records with these contents; None if one is missing."""
        found: list[ProducedRecord] = []
        candidates = iter(self._unproduced())
        for content in contents:
            for written in candidates:
                if written.content == content and not (found and written.is_refused):
                    break
            else:
                return None
            if written.is_refused:
                return [one for one in self._unproduced() if one.group == written.group]
            found.append(written)
        return found

    def use(self, found: list[ProducedRecord]) -> None:
        """Mark records as produced."""
        for written in found:
            written.is_used = True
        while self._start < len(self._records) and self._records[self._start].is_used:
            self._start += 1

    @property
    def unused(self) -> int:
        """How many records have not been produced yet."""
        return sum(1 for _ in self._unproduced())

    @property
    def expected(self) -> Content | None:
        """The content of the next unproduced record."""
        return next((written.content for written in self._unproduced()), None)

    def visible_end(self) -> int | None:
        """Return the first offset that is not produced yet; None if all are."""
        while self._offsets and self._records[self._offsets[0][1]].is_used:
            heappop(self._offsets)
        return self._offsets[0][0] if self._offsets else None

    def _unproduced(self) -> Iterator[ProducedRecord]:
        for at in range(self._start, len(self._records)):
            if not self._records[at].is_used:
                yield self._records[at]


class FetchLog:
    """The batches fetched from one partition."""

    def __init__(self) -> None:
        self._batches: dict[int, FetchedBatch] = {}
        self._in_order: list[FetchedBatch] = []
        self._errors: defaultdict[int, deque[Any]] = defaultdict(deque)
        self._latest: Any = None

    def add(self, offset: int, answer: Any) -> None:
        """Add a PartitionData that answered a fetch at an offset."""
        is_diverging = answer.diverging_epoch is not None or answer.snapshot_id is not None
        if answer.error_code or is_diverging:
            self._errors[offset].append(answer)
            return
        self._latest = answer
        for batch in batches_of(answer.records or b""):
            header = batch.header
            last = header.last_offset if header.magic >= 2 else header.base_offset
            stored = FetchedBatch(batch.base_offset, last, batch.data, answer)
            self._batches.setdefault(batch.base_offset, stored)
        self._in_order = []

    def read(self, offset: int, visible_end: int | None, max_bytes: int) -> Any:
        """Return a PartitionData for a fetch at an offset; None if there is nothing to read."""
        if self._errors.get(offset):
            return self._errors[offset].popleft()
        chosen: list[FetchedBatch] = []
        size = 0
        if not self._in_order:
            self._in_order = sorted(self._batches.values(), key=_first)
        start = bisect_right(self._in_order, offset, key=_first)
        for at in range(max(start - 1, 0), len(self._in_order)):
            stored = self._in_order[at]
            if stored.last < offset:
                continue
            if visible_end is not None and stored.last >= visible_end:
                break
            if chosen and stored.answer is not chosen[0].answer:
                break  # the broker returned it in a later response
            if chosen and size + len(stored.data) > max_bytes:
                break
            chosen.append(stored)
            size += len(stored.data)
        if not chosen:
            return None
        answer = copy(chosen[0].answer)
        answer.records = b"".join(stored.data for stored in chosen)
        return answer

    def empty_answer(self, offset: int) -> Any:
        """Return a PartitionData without records; None if none was recorded."""
        if self._latest is None:
            return None
        answer = copy(self._latest)
        answer.records = b""
        answer.aborted_transactions = []
        answer.high_watermark = max(answer.high_watermark, offset)
        return answer


def _first(stored: FetchedBatch) -> int:
    return stored.first


def contents_of(records: bytes | None) -> list[Content]:
    """Return the contents of all records; raise `CorruptBatch` if a batch cannot be read."""
    contents: list[Content] = []
    budget = RecordBudget()
    for batch in batches_of(records or b"", whole=True):
        contents += [(one.key, one.value, one.headers) for one in budget.hold(batch)]
    return contents


def batches_of(data: bytes, *, whole: bool = False) -> Iterator[Batch]:
    """Yield batches up to the first truncated one, or raise `CorruptBatch` with `whole`."""
    position = 0
    while position < len(data):
        try:
            batch = decode_batch(data, position)
        except CorruptBatch:
            if whole:
                raise
            return
        yield batch
        position = batch.header.end
