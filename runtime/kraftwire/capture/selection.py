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
from typing import Any
from uuid import UUID

from kraftwire.capture.pairing import DecodedFrame
from kraftwire.capture.topics import topics_of
from kraftwire.log.properties import parse_uuid

_MAX_HELD = 10_000


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
        held: OrderedDict[int, DecodedFrame] = OrderedDict()
        given: OrderedDict[int, None] = OrderedDict()
        for frame in frames:
            matches = sought.is_in(frame)
            if not self._has_wanted_request(frame):
                continue
            if frame.request is None:
                if matches:
                    given[frame.number] = None
                    yield frame
                else:
                    held[frame.number] = frame
                _limit(held)
                _limit(given)
                continue
            request = held.pop(frame.request.number, None)
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


def _limit(held: OrderedDict[int, Any]) -> None:
    while len(held) > _MAX_HELD:
        held.popitem(last=False)
