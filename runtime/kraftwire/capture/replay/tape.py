"""A recording prepared for replay: its requests, and their answers.

`Tape` reads all frames once. Produce and Fetch become the partitions' records
(`partition_logs`); every other exchange becomes recorded requests, one for each of its parts
(`request_parts`). Unreadable and unanswered requests are reported in `problems` and left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kraftwire.capture.decoding.decoder import Exchange, decode_frames, pair
from kraftwire.capture.frame import Frame
from kraftwire.capture.replay.matching import is_polled
from kraftwire.capture.replay.partition_logs import FetchLog, Partition, ProduceLog, contents_of
from kraftwire.capture.replay.request_parts import split_exchange
from kraftwire.log.errors import CorruptBatch
from kraftwire_wire.errors import count_of
from kraftwire_wire.message import Message
from kraftwire_wire.registry import Registry

_MUTUAL_MECHANISMS = ("SCRAM-", "GSSAPI")


@dataclass
class RecordedRequest:
    """A recorded request, or a part of one, and its answer."""

    number: int
    """The frame of the request."""
    api: str
    version: int
    request: Message
    response: Message | None
    """None if the recording ended or the client left before one came."""
    seconds: float
    """How long the broker took."""
    changes: Sequence[RecordedRequest] = ()
    """The joins and leaves of its group."""
    changes_before: int = 0
    """How many of them came before it, and so may be the reason for its answer."""
    is_used: bool = False


class Tape:
    """A recording in the form that a replay needs."""

    def __init__(self, frames: Iterable[Frame], registry: Registry) -> None:
        self.registry = registry
        self.entries: defaultdict[str, list[RecordedRequest]] = defaultdict(list)
        self.produced: defaultdict[Partition, ProduceLog] = defaultdict(ProduceLog)
        self.fetched: defaultdict[Partition, FetchLog] = defaultdict(FetchLog)
        self.partitions: set[Partition] = set()
        """The partitions that a Metadata response names."""
        self.problems: list[str] = []
        self.responses: list[Message] = []
        """Every recorded response, for the addresses in them."""
        self.redacted: set[str] = set()
        """Redacted fields of requests, as `Message.path`."""
        self._names: dict[object, str] = {}
        self._changes: defaultdict[object, list[RecordedRequest]] = defaultdict(list)
        self._sessions: dict[tuple[int, int], dict[Partition, int]] = {}
        exchanges = self._readable(pair(decode_frames(frames, registry)))
        for exchange in exchanges:
            self._learn_names(exchange)
        for exchange in exchanges:
            self._add(exchange)

    def topic(self, item: Any) -> str:
        """Return the name of an item's topic, or its id as a string if no name is known."""
        name = getattr(item, "name", None) or getattr(item, "topic", None)
        if name:
            return str(name)
        topic_id = getattr(item, "topic_id", None)
        return self._names.get(topic_id, str(topic_id))

    @cached_property
    def api_versions(self) -> Message | None:
        """The first ApiVersions response without an error."""
        responses = (entry.response for entry in self.entries["ApiVersions"])
        return next((one for one in responses if one and not _error_of(one)), None)

    def unused(self) -> dict[str, int]:
        """Return the counts of unused requests by API, and of records not yet produced."""
        counts = {
            api: sum(not entry.is_used for entry in entries)
            for api, entries in self.entries.items()
        }
        counts["Produce"] = sum(log.unused for log in self.produced.values())
        return {api: count for api, count in counts.items() if count}

    def _readable(self, exchanges: list[Exchange]) -> list[Exchange]:
        readable = []
        for exchange in exchanges:
            request, response = exchange.request, exchange.response
            if request.is_token:
                continue
            where = f"frame {request.number}"
            if request.error is not None:
                self.problems.append(f"{where}: {request.error}")
            elif response is not None and response.error is not None:
                self.problems.append(f"frame {response.number}: {response.error}")
            elif response is not None or not is_polled(request.api or ""):
                readable.append(exchange)
        return readable

    def _learn_names(self, exchange: Exchange) -> None:
        if exchange.request.api not in ("Metadata", "CreateTopics") or exchange.response is None:
            return
        for topic in getattr(exchange.response.message, "topics", ()):
            if topic.name and topic.topic_id.int:
                self._names[topic.topic_id] = topic.name
            for partition in getattr(topic, "partitions", ()):
                self.partitions.add((self.topic(topic), partition.partition_index))

    def _add(self, exchange: Exchange) -> None:
        request, response = exchange.request, exchange.response
        paths = (path for path in request.frame.redacted if path)
        self.redacted.update(f"{request.api}Request.{path}" for path in paths)
        if response is not None and response.message is not None:
            self.responses.append(response.message)
        if request.api == "SaslHandshake":
            self._check_mechanism(exchange)
        if request.api == "Produce":
            self._add_produce(exchange)
        elif request.api == "Fetch":
            if response is not None:
                self._add_fetch(exchange)
        else:
            self._add_entries(exchange)

    def _check_mechanism(self, exchange: Exchange) -> None:
        """Report a login that cannot be replayed, since its client verifies the broker's proof."""
        request: Any = exchange.request.message
        if request.mechanism.upper().startswith(_MUTUAL_MECHANISMS):
            reason = "its clients verify a proof that no recording has; record with PLAIN"
            self.problems.append(f"frame {exchange.request.number}: {request.mechanism}: {reason}")

    def _add_entries(self, exchange: Exchange) -> None:
        request, response = exchange.request, exchange.response
        assert request.api is not None
        assert request.version is not None
        answer = None if response is None else response.message
        parts = split_exchange(request.api, request.message, answer, self.topic)
        for request_part, answer_part in parts:
            if answer_part is None and response is not None:
                self.problems.append(
                    f"frame {response.number}: does not answer everything in the request"
                )
                continue
            seconds = 0.0
            if response is not None:
                seconds = max(0.0, response.frame.time - request.frame.time)
            entry = RecordedRequest(
                request.number, request.api, request.version, request_part, answer_part, seconds
            )
            self.entries[request.api].append(entry)
            self._note_change(entry)

    def _note_change(self, entry: RecordedRequest) -> None:
        """Note joins and leaves. Heartbeat errors announce them, so they must come first."""
        changes = self._changes[getattr(entry.request, "group_id", None)]
        if entry.api in ("JoinGroup", "LeaveGroup"):
            changes.append(entry)
        elif entry.api == "Heartbeat" and _error_of(entry.response):
            entry.changes, entry.changes_before = changes, len(changes)

    def _add_produce(self, exchange: Exchange) -> None:
        request: Any = exchange.request.message
        answers = {}
        if exchange.response is not None:
            response: Any = exchange.response.message
            for topic in response.responses:
                for answer in topic.partition_responses:
                    answers[self.topic(topic), answer.index] = answer
        for topic in request.topic_data:
            for partition in topic.partition_data:
                where = self.topic(topic), partition.index
                try:
                    contents = contents_of(partition.records)
                except CorruptBatch as error:
                    problem = f"records of {where} cannot be read: {error}"
                    self.problems.append(f"frame {exchange.request.number}: {problem}")
                    continue
                self.produced[where].add(contents, answers.get(where), exchange.request.number)

    def _add_fetch(self, exchange: Exchange) -> None:
        """Add fetched batches; requests of a fetch session omit unchanged offsets (KIP-227)."""
        request: Any = exchange.request.message
        assert exchange.response is not None
        response: Any = exchange.response.message
        connection = exchange.request.frame.connection
        is_full = request.session_id == 0 or request.session_epoch <= 0
        session = (connection, request.session_id)
        offsets = {} if is_full else self._sessions.get(session, {})
        for topic in request.topics:
            for partition in topic.partitions:
                offsets[self.topic(topic), partition.partition] = partition.fetch_offset
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                offsets.pop((self.topic(topic), index), None)
        if response.session_id:
            self._sessions[connection, response.session_id] = offsets
        for topic in response.responses:
            for answer in topic.partitions:
                where = self.topic(topic), answer.partition_index
                self.fetched[where].add(offsets.get(where, -1), answer)


def describe_unused(unused: dict[str, int]) -> str:
    """Return text like `3 Metadata, 1 record of Produce`."""
    words = []
    for api, count in sorted(unused.items()):
        words.append(
            f"{count_of(count, 'record')} of Produce" if api == "Produce" else f"{count} {api}"
        )
    return ", ".join(words)


def _error_of(response: Any) -> int:
    error: int = getattr(response, "error_code", 0)
    return error
