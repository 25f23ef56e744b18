"""What a cassette knows of the partitions' records: answers to Produce and Fetch.

How records are put into batches, and partitions into requests, depends on timing. So both
sides are taken apart to records: a cassette becomes, for each partition, the records that
were produced, in order, and the batches that were fetched. Rules:

- a Produce request matches where the next records of each partition that were not yet
  produced have its keys, values and headers; timestamps, sequences and codecs may differ;
- a recorded refusal is given once, to the records that it was given to;
- a Fetch request gets the recorded batches at its offset, but none whose records the
  cassette saw produced and that were not produced yet: nobody reads what nobody wrote;
- recorded errors of a fetch are given once each, before the batches at their offset;
- where there is nothing, a Fetch request is answered emptily after its own waiting time.
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
"""A topic's name, or its id where no name is known; and the partition's index."""

Content = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
"""What of a record must be equal: key, value, headers."""


class Written:
    """One record that was produced, and what the broker answered for its partition."""

    def __init__(self, content: Content, offset: int | None, answer: Any, group: int) -> None:
        self.content = content
        self.offset = offset
        """Its offset; None where the broker refused it or did not say."""
        self.answer = answer
        """The PartitionProduceResponse; None where there was none (acks=0)."""
        self.group = group
        """Which request it came with."""
        self.is_used = False

    @property
    def is_refused(self) -> bool:
        """Whether the answer was an error."""
        return self.answer is not None and self.answer.error_code != 0


class Stored(NamedTuple):
    """One batch that was fetched, with the PartitionData it came in."""

    first: int
    last: int
    data: bytes
    answer: Any


class ProduceLog:
    """The records that were produced to one partition, in the order of the cassette."""

    def __init__(self) -> None:
        self._records: list[Written] = []
        self._start = 0
        """Everything before this is used."""
        self._offsets: list[tuple[int, int]] = []
        """A heap of offsets, each with its record's place; used ones leave it when on top."""

    def add(self, contents: list[Content], answer: Any, group: int) -> None:
        """Records of one request, and the answer for their partition."""
        base = None
        if answer is not None and answer.error_code == 0 and answer.base_offset >= 0:
            base = answer.base_offset
        for at, content in enumerate(contents):
            offset = None if base is None else base + at
            if offset is not None:
                heappush(self._offsets, (offset, len(self._records)))
            self._records.append(Written(content, offset, answer, group))

    def find(self, contents: list[Content]) -> list[Written] | None:
        """The recorded records that these are; None where one was not recorded any more."""
        found: list[Written] = []
        waiting = iter(self._waiting())
        for content in contents:
            for written in waiting:
                if written.content == content and not (found and written.is_refused):
                    break
            else:
                return None
            if written.is_refused:
                return [one for one in self._waiting() if one.group == written.group]
            found.append(written)
        return found

    def use(self, found: list[Written]) -> None:
        """They were produced."""
        for written in found:
            written.is_used = True
        while self._start < len(self._records) and self._records[self._start].is_used:
            self._start += 1

    @property
    def unused(self) -> int:
        """How many records were not produced yet."""
        return sum(1 for _ in self._waiting())

    @property
    def expected(self) -> Content | None:
        """What comes next."""
        return next((written.content for written in self._waiting()), None)

    def visible_end(self) -> int | None:
        """The first offset that is not produced yet; None where all are."""
        while self._offsets and self._records[self._offsets[0][1]].is_used:
            heappop(self._offsets)
        return self._offsets[0][0] if self._offsets else None

    def _waiting(self) -> Iterator[Written]:
        for at in range(self._start, len(self._records)):
            if not self._records[at].is_used:
                yield self._records[at]


class FetchLog:
    """What was fetched of one partition."""

    def __init__(self) -> None:
        self._batches: dict[int, Stored] = {}
        self._in_order: list[Stored] = []
        self._errors: defaultdict[int, deque[Any]] = defaultdict(deque)
        self._latest: Any = None

    def add(self, offset: int, answer: Any) -> None:
        """A PartitionData that answered a fetch at an offset."""
        if answer.error_code or _is_diverging(answer):
            self._errors[offset].append(answer)
            return
        self._latest = answer
        for batch in batches_of(answer.records or b""):
            header = batch.header
            last = header.last_offset if header.magic >= 2 else header.base_offset
            stored = Stored(batch.base_offset, last, batch.data, answer)
            self._batches.setdefault(batch.base_offset, stored)
        self._in_order = []

    def read(self, offset: int, visible_end: int | None, max_bytes: int) -> Any:
        """A PartitionData for a fetch at an offset; None where there is nothing to read."""
        if self._errors.get(offset):
            return self._errors[offset].popleft()
        chosen: list[Stored] = []
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
                break  # what came later then comes later now
            if chosen and size + len(stored.data) > max_bytes:
                break
            chosen.append(stored)
            size += len(stored.data)
        if not chosen:
            return None
        answer = copy(chosen[0].answer)
        answer.records = b"".join(stored.data for stored in chosen)
        return answer

    def nothing(self, offset: int) -> Any:
        """A PartitionData without records; None where none was recorded."""
        if self._latest is None:
            return None
        answer = copy(self._latest)
        answer.records = b""
        answer.aborted_transactions = []
        answer.high_watermark = max(answer.high_watermark, offset)
        return answer


def _first(stored: Stored) -> int:
    return stored.first


def contents_of(records: bytes | None) -> list[Content]:
    """Return what the records of batches say; raises `CorruptBatch` if one cannot be read."""
    contents: list[Content] = []
    budget = RecordBudget()
    for batch in batches_of(records or b"", whole=True):
        contents += [(one.key, one.value, one.headers) for one in budget.hold(batch)]
    return contents


def batches_of(data: bytes, *, whole: bool = False) -> Iterator[Batch]:
    """Batches, up to the first that is cut off; `whole` raises `CorruptBatch` for that one."""
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


def _is_diverging(answer: Any) -> bool:
    return answer.diverging_epoch is not None or answer.snapshot_id is not None
