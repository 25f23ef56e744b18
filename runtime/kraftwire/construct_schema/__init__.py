"""Builds `construct` schemas from `LAYOUT`, each for one version of a message.

This is a second implementation of the wire format. It shares only the table with the emitted code
and its reader and writer. It is strict: it raises errors of `construct` for nulls that are not
allowed, lengths and counts that exceed the input, tags out of order, payloads longer than their
value, and trailing bytes.

A parsed struct is a container of exactly the fields in its bytes. It lacks fields that are not in
the version and tagged fields that were not sent. Every struct in a flexible version has the key
`unknown_tagged_fields` with a list of pairs. `build(parse(data))` returns the same bytes, even if a
tagged field was sent with its default. `as_container` converts a message to such a container.

The schemas are ordinary trees of `construct`. Each construct that has its own bytes or name is
wrapped in a `Label` with a `Part`. A `TraceStream` receives every part that is read, so
`kraftwire.explain` knows what each byte is and where reading failed.
"""

from __future__ import annotations

from kraftwire.construct_schema.containers import as_container
from kraftwire.construct_schema.lengths import Announcement, with_article, with_length
from kraftwire.construct_schema.messages import body_schema, schema
from kraftwire.construct_schema.parts import (
    INDEX,
    LEAVES,
    Elements,
    Label,
    Part,
    Refusal,
    TraceStream,
)
from kraftwire.construct_schema.primitives import UVARINT
from kraftwire.construct_schema.tags import UNKNOWN_TAGS

__all__ = [
    "INDEX",
    "LEAVES",
    "UNKNOWN_TAGS",
    "UVARINT",
    "Announcement",
    "Elements",
    "Label",
    "Part",
    "Refusal",
    "TraceStream",
    "as_container",
    "body_schema",
    "schema",
    "with_article",
    "with_length",
]
