"""Messages as `construct` schemas, built from `LAYOUT`: one message in one version.

This is a second implementation of the wire format. It shares only the table with the emitted code
and its reader and writer. It is strict: nulls that are not allowed, lengths and counts beyond the
input, tags out of order, payloads longer than their value and trailing bytes raise errors of
`construct`.

A parsed struct is a container of exactly what its bytes hold: fields that the version lacks and
tagged fields that were not sent are left out. Unknown tagged fields are pairs under
`unknown_tagged_fields`, a key of every struct in a flexible version. `build(parse(data))` returns
the same bytes, even if a tagged field was sent with its default. `as_container` converts a
message, which does not have such fields.

The schemas are ordinary trees of `construct`. Each construct with bytes or a name of its own is
wrapped in a `Label` that holds a `Part`. A `TraceStream` is told of every part that is read:
so `kraftwire.explain` knows what each byte is, and where reading failed.
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
