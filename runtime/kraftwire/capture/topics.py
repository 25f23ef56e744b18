"""Which topics a message is about, by schema.

Names are fields of entity type `topicName`, ids are uuids called `topic_id`, wherever they
are in a message. What lies in records and in other blobs of bytes is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from kraftwire_wire.message import Message, Struct

_NO_ID = UUID(int=0)


_plans: dict[type[Struct], _Plan] = {}


class Topic(NamedTuple):
    """A topic as a struct names it: by name, by id, or by both."""

    name: str | None
    id: UUID | None


class _Plan(NamedTuple):
    """Where to look in one struct: fields of names and of ids, and those that lead on."""

    names: tuple[str, ...]
    ids: tuple[str, ...]
    inner: tuple[tuple[str, _Plan], ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be found."""
        return not (self.names or self.ids or self.inner)


def topics_of(message: Message) -> Iterator[Topic]:
    """The topics in a message; the same one may come often."""
    return _topics(message, _plan(type(message), type(message)))


def _topics(struct: Any, plan: _Plan) -> Iterator[Topic]:
    values = [getattr(struct, name) for name in plan.names]
    ids = [value for name in plan.ids if (value := getattr(struct, name)) not in (None, _NO_ID)]
    if len(values) == len(ids) == 1 and isinstance(values[0], str):
        yield Topic(values[0] or None, ids[0])
    else:
        for value in values:
            for name in value if isinstance(value, list) else (value,):
                if name:
                    yield Topic(name, None)
        for topic_id in ids:
            yield Topic(None, topic_id)
    for name, inner in plan.inner:
        value = getattr(struct, name)
        for item in value if isinstance(value, list) else (value,):
            if item is not None:
                yield from _topics(item, inner)


def _plan(message: type[Message], struct: type[Struct]) -> _Plan:
    made = _plans.get(struct)
    if made is None:
        made = _plans[struct] = _make_plan(message, struct)
    return made


def _make_plan(message: type[Message], struct: type[Struct]) -> _Plan:
    fields = struct.LAYOUT.fields
    below = (
        (field.name, _plan(message, field.struct_class(message)))
        for field in fields
        if field.is_struct
    )
    return _Plan(
        tuple(field.name for field in fields if field.entity_type == "topicName"),
        tuple(field.name for field in fields if field.type == "uuid" and field.name == "topic_id"),
        tuple((name, plan) for name, plan in below if not plan.is_empty),
    )
