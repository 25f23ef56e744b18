"""Splits requests about several items into requests about one, and joins their answers.

How many topics a client puts into one request depends on timing. So recorded exchanges and live
requests are split, and the answers to the parts are joined. `PARTS` has the APIs and the lists to
split in their messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

from kraftwire_wire.message import Message

NameOf = Callable[[Any], object]
"""Returns the key of an item that names a topic by name, id or both."""


class PartLevel(NamedTuple):
    """A list in a request, and the list in its response that has an answer for each item."""

    request_list: str
    response_list: str
    key: str = ""
    """The field that identifies an item; empty for topics, which have a name or an id."""


_TOPICS = PartLevel("topics", "topics")
PARTS: dict[str, tuple[PartLevel, ...]] = {
    "Metadata": (_TOPICS,),
    "FindCoordinator": (PartLevel("coordinator_keys", "coordinators", "key"),),
    "ListOffsets": (_TOPICS, PartLevel("partitions", "partitions", "partition_index")),
    "OffsetCommit": (_TOPICS, PartLevel("partitions", "partitions", "partition_index")),
}


def split_exchange(
    api: str, request: Any, response: Any, name_of: NameOf
) -> Iterator[tuple[Any, Any]]:
    """Yield requests about one item each, with the part of the response that answers it.

    The response may be None, and so may its parts. A request that cannot be split is yielded
    unchanged.
    """
    levels = PARTS.get(api, ())
    if not levels or not getattr(request, levels[0].request_list):
        yield request, response
        return
    yield from _split_exchange(levels, request, response, name_of)


def _split_exchange(
    levels: Sequence[PartLevel], request: Any, response: Any, name_of: NameOf
) -> Iterator[tuple[Any, Any]]:
    if not levels:
        yield request, response
        return
    level, *below = levels
    answers: dict[object, Any] = {}
    for one in () if response is None else getattr(response, level.response_list):
        answers.setdefault(_key(one, level, name_of), one)
    for item in getattr(request, level.request_list) or ():
        found = answers.get(_key(item, level, name_of))
        for part, answer in _split_exchange(below, item, found, name_of):
            answered = None if answer is None else _with(response, level.response_list, [answer])
            yield _with(request, level.request_list, [part]), answered


def join_responses(api: str, responses: Sequence[Message], name_of: NameOf) -> Any:
    """Join the responses to the parts of a request."""
    return responses[0] if len(responses) == 1 else _join(PARTS[api], responses, name_of)


def _join(levels: Sequence[PartLevel], parts: Sequence[Any], name_of: NameOf) -> Any:
    level, *below = levels
    items: dict[object, list[Any]] = {}
    for part in parts:
        for item in getattr(part, level.response_list):
            items.setdefault(_key(item, level, name_of), []).append(item)
    joined = [_join(below, same, name_of) if below else same[0] for same in items.values()]
    return _with(parts[0], level.response_list, joined)


def _key(item: Any, level: PartLevel, name_of: NameOf) -> object:
    if isinstance(item, str):
        return item
    return getattr(item, level.key) if level.key else name_of(item)


def _with(struct: Any, field: str, value: object) -> Any:
    changed = copy(struct)
    setattr(changed, field, value)
    return changed
