"""Which topics a message is about, found by schema.

Names are fields of entity type `topicName`, ids are uuids called `topic_id`, wherever they
are in a message. Records and other fields of bytes are not searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from kraftwire.capture.struct_search import StructSearch
from kraftwire_wire.layout import Layout
from kraftwire_wire.message import Message

_NO_ID = UUID(int=0)


class TopicReference(NamedTuple):
    """A topic as a struct names it: by name, by id, or by both."""

    name: str | None
    id: UUID | None


def topics_of(message: Message) -> Iterator[TopicReference]:
    """Yield the topics in a message, repeated ones too."""
    for struct, (name_fields, id_fields) in _SEARCH.find(message):
        values = [getattr(struct, name) for name in name_fields]
        ids = [
            value for name in id_fields if (value := getattr(struct, name)) not in (None, _NO_ID)
        ]
        if len(values) == len(ids) == 1 and isinstance(values[0], str):
            yield TopicReference(values[0] or None, ids[0])
            continue
        for value in values:
            for name in value if isinstance(value, list) else (value,):
                if name:
                    yield TopicReference(name, None)
        for topic_id in ids:
            yield TopicReference(None, topic_id)


def _topic_fields(layout: Layout) -> tuple[list[str], list[str]] | None:
    """Return the names of the fields with topic names, and of those with topic ids."""
    names = [field.name for field in layout.fields if field.entity_type == "topicName"]
    ids = [one.name for one in layout.fields if one.type == "uuid" and one.name == "topic_id"]
    return (names, ids) if names or ids else None


_SEARCH = StructSearch(_topic_fields)
