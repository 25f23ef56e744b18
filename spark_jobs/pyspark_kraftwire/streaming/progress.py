"""The progress of a stream: the end of each trigger, and its tasks.

`latest` returns the end of the next trigger, `plan` the tasks between two offsets. The same two
offsets always give the same records, so a batch that Spark repeats after a crash is unchanged.
Except for which partition comes first in a limited trigger, state in memory only saves work.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from kraftwire.log.directories.partition import Partition
from kraftwire.log.queries.selection import Selection
from kraftwire.log.queries.transactions import indexed_transactions
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.options import EARLIEST, LATEST, Offsets, Options
from pyspark_kraftwire.planning.plan import Task
from pyspark_kraftwire.streaming.limits import Limits, LogQueue
from pyspark_kraftwire.streaming.listing import Listing, is_compacting
from pyspark_kraftwire.streaming.offsets import Name, StreamOffset
from pyspark_kraftwire.streaming.tail import Tail
from pyspark_kraftwire.streaming.transactions import StreamTransactions
from pyspark_kraftwire.streaming.trigger import TriggerSpan, plan_spans, span_of

_log = logging.getLogger(__name__)

_ATTEMPTS = 5


class Progress:
    """The progress of a stream through the logs below its paths."""

    def __init__(self, options: Options) -> None:
        """Raise `KraftwireError` for options that a stream does not support."""
        if options.ending_offsets != Offsets(LATEST):
            raise KraftwireError(
                "endingOffsets: a stream has no end; filter with endingTimestamp instead"
            )
        self._options = options
        self._listing = Listing(options)
        self._limits = Limits(options.max_bytes_per_trigger, options.max_records_per_trigger)
        self._tails: dict[Name, Tail] = {}
        self._transactions: dict[Name, StreamTransactions] = {}
        self._target: dict[Name, int] | None = None
        self._reached: dict[Name, int] = {}
        self._warned: set[str] = set()

    def fix_end(self) -> None:
        """Make the stream end where the logs end now."""
        partitions = self._listing.settled_partitions()
        self._target = {name: self._tail(name).end(one) for name, one in partitions.items()}

    def latest(self, start: StreamOffset | None, *, limited: bool) -> StreamOffset:
        """Return the end of the trigger after `start`; `start` itself if nothing is new.

        `limited` says whether the limits in the options apply. Raise `KraftwireError` if offsets
        were deleted before they were read, unless `failOnDataLoss` is false.
        """
        is_beginning = start is None
        partitions = self._current_partitions(is_beginning=is_beginning)
        known = dict(start.next) if start is not None else {}
        first = {
            name: self._first(name, partition, is_beginning=is_beginning)
            for name, partition in partitions.items()
            if name not in known
        }
        begins = known | first
        ends = dict(begins)
        for name, partition in partitions.items():
            self._forget(name, begins[name])
            ends[name] = self._end(name, partition, begins[name])
        if limited and self._limits.is_set:
            ends = self._limited(partitions, begins, ends)
        if start is not None and ends == start.next:
            return start
        return StreamOffset(ends, first)

    def log_ends(self) -> StreamOffset:
        """Return where the logs end, for a Spark that does not pass the start of a trigger.

        For deleted partitions, return the last offsets that this process has seen.
        """
        ends = dict(self._reached)
        for name, partition in self._current_partitions(is_beginning=False).items():
            ends[name] = self._tail(name).end(partition)
            if self._options.read_committed:
                known = self._transactions.get(name)
                begin = known.first if known is not None else _base(partition)
                ends[name] = self._stable(name, partition, begin, ends[name])
        return StreamOffset(ends)

    def plan(self, start: StreamOffset | None, end: StreamOffset) -> list[Task]:
        """Return the tasks that read from one offset to before another."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return plan_spans(self._spans(start, end), self._options)
            except FileNotFoundError:  # a segment was deleted while it was planned
                continue
        return plan_spans(self._spans(start, end), self._options)

    def _spans(self, start: StreamOffset | None, end: StreamOffset) -> Iterator[TriggerSpan]:
        known = start.next if start is not None else {}
        self._reached |= {**known, **end.next}
        moved = {name: stop for name, stop in end.next.items() if known.get(name) != stop}
        partitions = self._listing.settled_partitions(moved)
        for name, stop in moved.items():
            partition = partitions.get(name)
            begin = known.get(name, end.first.get(name))
            if partition is None:
                if begin is not None and begin < stop:
                    self._report_loss(
                        name, f"offsets {begin} to {stop - 1} are gone: its directory was deleted"
                    )
                continue
            if begin is None:
                begin = self._first(name, partition, is_beginning=start is None, latest=stop)
            if stop < begin and name in known:
                self._report_lost_end(name, stop, begin)
            if begin < stop:
                self._check_start(name, partition, begin)
                reached = self._tail(name).end(partition)
                if reached < stop:
                    gone = f"offsets {max(begin, reached)} to {stop - 1} are gone"
                    self._report_loss(name, f"{gone}: the log was truncated after its end was read")
                yield self._span(name, partition, begin, stop)

    def _span(self, name: Name, partition: Partition, begin: int, stop: int) -> TriggerSpan:
        committed = None
        if self._options.read_committed:
            self._stable(name, partition, begin, self._tail(name).end(partition))
            committed = self._transactions[name].between(begin, stop)
        selection = Selection(
            since=self._options.starting_timestamp,
            until=self._options.ending_timestamp,
            committed=committed,
        )
        self._forget(name, begin)
        return span_of(self._tail(name), partition, begin, stop, selection)

    def _current_partitions(self, *, is_beginning: bool) -> dict[Name, Partition]:
        """Return the existing partitions; after `fix_end`, only those that existed then.

        Partitions that are being compacted are left for the next trigger.
        """
        listing = self._listing
        found = listing.settled_partitions() if is_beginning else listing.partitions()
        return {
            name: one
            for name, one in found.items()
            if (self._target is None or name in self._target) and not is_compacting(one)
        }

    def _tail(self, name: Name) -> Tail:
        return self._tails.setdefault(name, Tail())

    def _forget(self, name: Name, offset: int) -> None:
        self._tail(name).forget(offset)
        if name in self._transactions:
            self._transactions[name].forget(offset)

    def _first(
        self,
        name: Name,
        partition: Partition,
        *,
        is_beginning: bool,
        latest: int | None = None,
    ) -> int:
        """Return the first offset to read of a partition; of a new one, its first offset."""
        asked = self._options.starting_offsets.of(*name)
        if asked == LATEST and is_beginning:
            if latest is not None:
                return latest
            stable = None
            if self._options.read_committed:
                stable = indexed_transactions(partition).last_stable_offset
            return self._tail(name).end(partition) if stable is None else stable
        return _base(partition) if asked in (EARLIEST, LATEST) else max(asked, _base(partition))

    def _end(self, name: Name, partition: Partition, begin: int) -> int:
        """Return the offset up to which a partition can be read now."""
        try:
            self._check_start(name, partition, begin)
            end = self._tail(name).end(partition)
            if end < begin:
                self._report_lost_end(name, end, begin)
            if self._target is not None:
                end = min(end, self._target[name])
            if self._options.read_committed and end > begin:
                end = self._stable(name, partition, begin, end)
        except FileNotFoundError:  # deleted since it was listed; the next trigger reports that
            return begin
        return max(end, begin)

    def _stable(self, name: Name, partition: Partition, begin: int, end: int) -> int:
        known = self._transactions.get(name)
        if known is None or known.first > begin:
            known = self._transactions[name] = StreamTransactions(begin)
        return known.read_to(self._tail(name), partition, end)

    def _check_start(self, name: Name, partition: Partition, begin: int) -> None:
        base = _base(partition)
        if begin < base:
            gone = f"offsets {begin} to {base - 1} were deleted before the stream read them"
            self._report_loss(name, gone, f"continues at {base}")

    def _report_lost_end(self, name: Name, end: int, begin: int) -> None:
        where = f"ends at offset {end}, but the stream is at {begin}"
        why = "the log was truncated or recreated, or startingOffsets is after its end"
        self._report_loss(name, f"{where}: {why}", "waits until the log reaches it")

    def _report_loss(
        self, name: Name, what: str, otherwise: str = "continues without them"
    ) -> None:
        text = f"{name[0]}-{name[1]}: {what}"
        if self._options.fail_on_data_loss:
            raise KraftwireError(f"{text}; failOnDataLoss=false {otherwise}")
        if text not in self._warned:
            self._warned.add(text)
            _log.warning("%s", text)

    def _limited(
        self, partitions: Mapping[Name, Partition], begins: dict[Name, int], ends: dict[Name, int]
    ) -> dict[Name, int]:
        """Return the ends that the limits allow."""
        queues = {
            name: LogQueue(self._tail(name), partitions[name], begins[name], end)
            for name, end in ends.items()
            if end > begins[name]
        }
        self._limits.share(queues)
        for queue in queues.values():
            queue.close()
        return ends | {name: queue.next for name, queue in queues.items()}


def _base(partition: Partition) -> int:
    return partition.segments[0].base_offset
