"""Schemas of tag sections (KIP-482): tags ascend, and each payload has a size."""

from __future__ import annotations

from typing import Any

import construct as c  # type: ignore[import-untyped]

from kraftwire.construct_schema.lengths import Announcement, with_length
from kraftwire.construct_schema.parts import Label, Part, Refusal
from kraftwire.construct_schema.primitives import UVARINT
from kraftwire_wire.errors import count_of
from kraftwire_wire.forms import MAX_LENGTH

UNKNOWN_TAGS = "unknown_tagged_fields"
TAG_SECTION = "tag_section"

_MAX_TAG = MAX_LENGTH - 1


class TagNumber(c.Adapter):  # type: ignore[misc]
    """The number of a tag; refuses one that is not above the previous tag."""

    def _decode(self, tag: int, context: Any, _path: str) -> int:
        section = context._
        previous = section.get("previous_tag", -1)
        if tag > _MAX_TAG:
            raise Refusal(f"tag {tag} is above the highest, {_MAX_TAG}")
        if tag <= previous:
            problem = "is sent twice" if tag == previous else f"comes after tag {previous}"
            raise Refusal(f"tag {tag} {problem}")
        section.previous_tag = tag
        return tag

    def _encode(self, tag: int, _context: Any, _path: str) -> int:
        return tag


class TagPayload(c.Prefixed):  # type: ignore[misc]
    """The size of a known tag and its value; refuses a value that takes another size."""

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        size = self.lengthfield._parsereport(stream, context, path)
        first = stream.tell()
        value = self.subcon._parsereport(stream, context, path)
        read = stream.tell() - first
        if read != size:
            reason = f"tag {context.tag} announces {count_of(size, 'byte')}, its value takes {read}"
            raise Refusal(reason, context.start)
        return value


class RefusedTag(c.Construct):  # type: ignore[misc]
    """Refuses whatever is read or built."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        raise Refusal(self.reason, stream.tell())

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        raise Refusal(self.reason)


_SIZE_PART = Part("size", "unsigned varint")
TAG_SIZE = Label(Announcement(UVARINT, "tagged field"), _SIZE_PART)
UNKNOWN_TAG = Label(
    with_length(
        Announcement(UVARINT, "tagged field"),
        Label(c.Bytes(c.this.length), Part("value", "unknown tagged field")),
        _SIZE_PART,
    ),
    Part("field", "unknown tag"),
)


def without_stream(raw: Any, _context: Any) -> Any:
    """Return a parsed struct without the stream that construct adds to it."""
    return c.Container({key: value for key, value in raw.items() if key != "_io"})


def with_flat_tags(struct: Any, names: dict[int | None, str]) -> Any:
    """Return the schema of a struct whose tagged fields are ordinary keys, not a list of tags."""

    def flatten(raw: Any, context: Any) -> Any:
        section = raw.pop(TAG_SECTION)
        flat = without_stream(raw, context)
        flat.update({names[entry.tag]: entry.payload for entry in section if entry.tag in names})
        flat[UNKNOWN_TAGS] = [
            (entry.tag, entry.payload) for entry in section if entry.tag not in names
        ]
        return flat

    def unflatten(flat: Any, _context: Any) -> Any:
        section = [
            {"tag": tag, "payload": flat[name]} for tag, name in names.items() if name in flat
        ]
        unknown = [{"tag": tag, "payload": payload} for tag, payload in flat[UNKNOWN_TAGS]]
        return {**flat, TAG_SECTION: sorted([*section, *unknown], key=lambda entry: entry["tag"])}

    return c.ExprAdapter(struct, flatten, unflatten)
