"""A cassette taken apart for replay: what was asked, and what was answered.

`Tape` reads all frames once. Produce and Fetch become the partitions' records (`log`),
every other exchange becomes entries, one for each part of it (`parts`). What cannot be
read or got no answer is a problem, said and left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kraftwire.capture.frame import Frame
from kraftwire.capture.pairing import Exchange, decode_frames, pair
from kraftwire.capture.replay.log import FetchLog, Partition, ProduceLog, contents_of
from kraftwire.capture.replay.matching import is_polled
from kraftwire.capture.replay.parts import take_apart
from kraftwire.log.errors import CorruptBatch
from kraftwire_wire.errors import count_of
from kraftwire_wire.message import Message
from kraftwire_wire.registry import Registry

_NO_ID = 0
_PROVING = ("SCRAM-", "GSSAPI")


@dataclass
class Entry:
    """One recorded request, or a part of one, and what answered it."""

    number: int
    """The frame of the request."""
    api: str
    version: int
    request: Message
    response: Message | None
    """None where the recording ends, or the client left, before one came."""
    seconds: float
    """How long the broker took."""
    changes: Sequence[Entry] = ()
    """The joins and leaves of its group."""
    behind: int = 0
    """How many of them came before it: without those it would not have been answered so."""
    is_used: bool = False


class Tape:
    """See the module."""

    def __init__(self, frames: Iterable[Frame], registry: Registry) -> None:
        self.registry = registry
        self.entries: defaultdict[str, list[Entry]] = defaultdict(list)
        self.produced: defaultdict[Partition, ProduceLog] = defaultdict(ProduceLog)
        self.fetched: defaultdict[Partition, FetchLog] = defaultdict(FetchLog)
        self.partitions: set[Partition] = set()
        """Those that an answer to Metadata names."""
        self.problems: list[str] = []
        self.responses: list[Message] = []
        """Every recorded response, for the addresses in them."""
        self.redacted: set[str] = set()
        """Fields of requests that do not say what was sent, as `Message.path`."""
        self._names: dict[object, str] = {}
        self._changes: defaultdict[object, list[Entry]] = defaultdict(list)
        self._sessions: dict[tuple[int, int], dict[Partition, int]] = {}
        exchanges = self._readable(pair(decode_frames(frames, registry)))
        for exchange in exchanges:
            self._learn_names(exchange)
        for exchange in exchanges:
            self._add(exchange)

    def topic(self, item: Any) -> str:
        """A topic's name; its id as text where no name is known."""
        name = getattr(item, "name", None) or getattr(item, "topic", None)
        if name:
            return str(name)
        topic_id = getattr(item, "topic_id", None)
        return self._names.get(topic_id, str(topic_id))

    @cached_property
    def api_versions(self) -> Message | None:
        """What the broker said of its versions, to whoever asked first."""
        responses = (entry.response for entry in self.entries["ApiVersions"])
        return next((one for one in responses if one and not _error_of(one)), None)

    def unused(self) -> dict[str, int]:
        """What was not asked for: exchanges by API, and records that were not produced."""
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
            if topic.name and topic.topic_id.int != _NO_ID:
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
        """Say where a login cannot be replayed: its client checks what the broker proves."""
        request: Any = exchange.request.message
        if request.mechanism.upper().startswith(_PROVING):
            reason = "its clients want a proof that no recording has; record with PLAIN"
            self.problems.append(f"frame {exchange.request.number}: {request.mechanism}: {reason}")

    def _add_entries(self, exchange: Exchange) -> None:
        request, response = exchange.request, exchange.response
        assert request.api is not None
        assert request.version is not None
        answer = None if response is None else response.message
        parts = take_apart(request.api, request.message, answer, self.topic)
        for asked, answered in parts:
            if answered is None and response is not None:
                self.problems.append(f"frame {response.number}: does not answer all that was asked")
                continue
            seconds = 0.0
            if response is not None:
                seconds = max(0.0, response.frame.time - request.frame.time)
            entry = Entry(request.number, request.api, request.version, asked, answered, seconds)
            self.entries[request.api].append(entry)
            self._note_change(entry)

    def _note_change(self, entry: Entry) -> None:
        """Heartbeats tell members of what others did; that has to come first in a replay."""
        changes = self._changes[getattr(entry.request, "group_id", None)]
        if entry.api in ("JoinGroup", "LeaveGroup"):
            changes.append(entry)
        elif entry.api == "Heartbeat" and _error_of(entry.response):
            entry.changes, entry.behind = changes, len(changes)

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
        """Fetch sessions (KIP-227) leave out what did not change: offsets are remembered."""
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
    """`3 Metadata, 1 record of Produce`, for people."""
    words = []
    for api, count in sorted(unused.items()):
        words.append(
            f"{count_of(count, 'record')} of Produce" if api == "Produce" else f"{count} {api}"
        )
    return ", ".join(words)


def _error_of(response: Any) -> int:
    error: int = getattr(response, "error_code", 0)
    return error
