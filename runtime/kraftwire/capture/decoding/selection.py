"""Selects frames by API, client id and topic; a request and its response stay together.

- A frame belongs to the API and the client id of its request.
- An exchange is about a topic if one of its messages has the topic's name or id (see `topics`). A
  request without them is held until its response comes, and yielded just before it; the frame
  numbers still show the order in which they were sent.
- The topic's id is learned from messages that have both name and id, such as a Metadata response;
  earlier frames are matched by name alone.
- Frames without a request (tokens, responses alone) belong to no API, client or topic.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from kraftwire.capture.decoding.decoder import DecodedFrame
from kraftwire.capture.decoding.request_queue import RequestQueue
from kraftwire.capture.decoding.topics import topics_of
from kraftwire_wire.uuids import parse_uuid

_MAX_HELD = 10_000
_MAX_HELD_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class FrameSelection:
    """Which frames to keep; None matches anything."""

    api_key: int | None = None
    client_id: str | None = None
    topic: str | None = None

    def apply(self, frames: Iterable[DecodedFrame]) -> Iterator[DecodedFrame]:
        if self == FrameSelection():
            return iter(frames)
        if self.topic is None:
            return filter(self._matches_request, frames)
        return self._about_topic(frames, _TopicMatch(self.topic))

    def _about_topic(
        self, frames: Iterable[DecodedFrame], topic: _TopicMatch
    ) -> Iterator[DecodedFrame]:
        held = RequestQueue(_MAX_HELD, _MAX_HELD_BYTES)
        yielded: OrderedDict[int, None] = OrderedDict()
        for frame in frames:
            matches = topic.is_in(frame)
            if not self._matches_request(frame):
                continue
            if frame.request is None:
                if matches:
                    yielded[frame.number] = None
                    yield frame
                    if len(yielded) > _MAX_HELD:
                        yielded.popitem(last=False)
                elif frame.awaits_response:
                    held.add(frame.number, frame)
                continue
            request = held.take(frame.request.number)
            was_yielded = yielded.pop(frame.request.number, 0) is None
            if matches and request is not None:
                yield request
            if matches or was_yielded:
                yield frame

    def _matches_request(self, frame: DecodedFrame) -> bool:
        if self.api_key is not None and frame.api_key != self.api_key:
            return False
        client_id = getattr(frame.request_header, "client_id", None)
        return self.client_id is None or client_id == self.client_id


class _TopicMatch:
    """Finds a topic in messages by name or id, and learns its ids from them."""

    def __init__(self, text: str) -> None:
        self._name = text
        self._ids: set[UUID] = set()
        with suppress(ValueError):
            self._ids.add(parse_uuid(text))

    def is_in(self, frame: DecodedFrame) -> bool:
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
