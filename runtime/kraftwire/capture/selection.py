"""Choosing frames by API, client id and topic; a request and its response stay together.

- A frame belongs to the API and the client id of its request.
- An exchange is about a topic when either of its messages names it, by name or by id (see
  `topics`). So a request that does not name it waits until its response has come, and is
  given just before it; the numbers still say the order in which they were sent.
- Which id belongs to the name is learned from the messages that have both, such as a
  response to Metadata; frames before that are found by the name alone.
- Frames without a request (tokens, lonely responses) belong to no API, client or topic.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from kraftwire.capture.pairing import DecodedFrame, awaits_response
from kraftwire.capture.topics import topics_of
from kraftwire.log.small_files.properties import parse_uuid
from kraftwire_wire.uuids import parse_uuid

_MAX_HELD = 10_000
_MAX_HELD_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Selection:
    """What is wanted; None stands for anything."""

    api_key: int | None = None
    client_id: str | None = None
    topic: str | None = None

    def apply(self, frames: Iterable[DecodedFrame]) -> Iterator[DecodedFrame]:
        """The frames that are wanted."""
        chosen = frames if self == Selection() else self._of_topic(frames)
        return iter(chosen)

    def _of_topic(self, frames: Iterable[DecodedFrame]) -> Iterator[DecodedFrame]:
        if self.topic is None:
            yield from filter(self._has_wanted_request, frames)
            return
        sought = _SoughtTopic(self.topic)
        held = _Held()
        given: OrderedDict[int, None] = OrderedDict()
        for frame in frames:
            matches = sought.is_in(frame)
            if not self._has_wanted_request(frame):
                continue
            if frame.request is None:
                if matches:
                    given[frame.number] = None
                    yield frame
                    if len(given) > _MAX_HELD:
                        given.popitem(last=False)
                elif awaits_response(frame):
                    held.add(frame)
                continue
            request = held.take(frame.request.number)
            was_given = given.pop(frame.request.number, 0) is None
            if matches and request is not None:
                yield request
            if matches or was_given:
                yield frame

    def _has_wanted_request(self, frame: DecodedFrame) -> bool:
        if self.api_key is not None and frame.api_key != self.api_key:
            return False
        client_id = getattr(frame.request_header, "client_id", None)
        return self.client_id is None or client_id == self.client_id


class _SoughtTopic:
    """A topic by name or id; learns the ids of the name."""

    def __init__(self, text: str) -> None:
        self._name = text
        self._ids: set[UUID] = set()
        with suppress(ValueError):
            self._ids.add(parse_uuid(text))

    def is_in(self, frame: DecodedFrame) -> bool:
        """Whether a message names the topic."""
        if frame.message is None:
            return False
        found = False
        for name, topic_id in topics_of(frame.message):
            if name == self._name:
                found = True
                if topic_id is not None:
                    self._ids.add(topic_id)
            elif topic_id in self._ids:
                found = True
        return found


class _Held:
    """Requests that wait for their responses; the oldest are forgotten where there are too many."""

    def __init__(self) -> None:
        self._by_number: OrderedDict[int, DecodedFrame] = OrderedDict()
        self._size_bytes = 0

    def add(self, request: DecodedFrame) -> None:
        """Keep a request."""
        self._by_number[request.number] = request
        self._size_bytes += len(request.frame.data)
        while len(self._by_number) > _MAX_HELD or self._size_bytes > _MAX_HELD_BYTES:
            self.take(next(iter(self._by_number)))

    def take(self, number: int) -> DecodedFrame | None:
        """The request with a number, which is kept no longer."""
        request = self._by_number.pop(number, None)
        if request is not None:
            self._size_bytes -= len(request.frame.data)
        return request
