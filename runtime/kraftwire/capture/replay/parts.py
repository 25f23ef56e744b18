"""Requests about several things, taken apart into requests about one.

How many topics a client puts into one request depends on timing; so recorded exchanges are
taken apart, each living request too, and the answers are put together. `PARTS` says for which
APIs, and through which lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

from kraftwire_wire.message import Message

NameOf = Callable[[Any], object]
"""A topic's key, out of an item that has a name, an id or both."""


class Level(NamedTuple):
    """A list of a request and the list of its response that answers it, item by item."""

    asked: str
    answered: str
    key: str = ""
    """The field that names an item; empty for topics, which have a name or an id."""


_TOPICS = Level("topics", "topics")
PARTS: dict[str, tuple[Level, ...]] = {
    "Metadata": (_TOPICS,),
    "FindCoordinator": (Level("coordinator_keys", "coordinators", "key"),),
    "ListOffsets": (_TOPICS, Level("partitions", "partitions", "partition_index")),
    "OffsetCommit": (_TOPICS, Level("partitions", "partitions", "partition_index")),
}


def take_apart(api: str, request: Any, response: Any, name_of: NameOf) -> Iterator[tuple[Any, Any]]:
    """Requests about one thing each, with the part of the response that answers it.

    `response` may be None, as may be the parts. What has no parts comes as it is.
    """
    levels = PARTS.get(api, ())
    if not levels or not getattr(request, levels[0].asked):
        yield request, response
        return
    yield from _take_apart(levels, request, response, name_of)


def _take_apart(
    levels: Sequence[Level], request: Any, response: Any, name_of: NameOf
) -> Iterator[tuple[Any, Any]]:
    if not levels:
        yield request, response
        return
    level, *below = levels
    answers: dict[object, Any] = {}
    for one in () if response is None else getattr(response, level.answered):
        answers.setdefault(_key(one, level, name_of), one)
    for item in getattr(request, level.asked) or ():
        found = answers.get(_key(item, level, name_of))
        for part, answer in _take_apart(below, item, found, name_of):
            yield (
                _with(request, level.asked, [part]),
                (
                    None
                    if response is None or answer is None
                    else _with(response, level.answered, [answer])
                ),
            )


def put_together(api: str, responses: Sequence[Message], name_of: NameOf) -> Any:
    """One response out of those to the parts of a request."""
    return responses[0] if len(responses) == 1 else _join(PARTS[api], responses, name_of)


def _join(levels: Sequence[Level], parts: Sequence[Any], name_of: NameOf) -> Any:
    level, *below = levels
    items: dict[object, list[Any]] = {}
    for part in parts:
        for item in getattr(part, level.answered):
            items.setdefault(_key(item, level, name_of), []).append(item)
    joined = [_join(below, same, name_of) if below else same[0] for same in items.values()]
    return _with(parts[0], level.answered, joined)


def _key(item: Any, level: Level, name_of: NameOf) -> object:
    if isinstance(item, str):
        return item
    return getattr(item, level.key) if level.key else name_of(item)


def _with(struct: Any, field: str, value: object) -> Any:
    changed = copy(struct)
    setattr(changed, field, value)
    return changed
