"""Messages as `construct` schemas, built from `LAYOUT`: one message in one version.

A second reading and writing of the wire format that shares nothing with the emitted code
and its reader and writer but the table. It is strict: nulls out of place, lengths and
counts beyond the input, tags out of order, payloads longer than their value and trailing
bytes are errors of `construct`.

A parsed struct is a container with what its bytes hold, and nothing else: fields that the
version lacks and tagged fields that were not sent are left out; unknown tagged fields are
pairs under `unknown_tagged_fields`, a key that every struct of a flexible version has.
Building writes what the container holds, so that `build(parse(data))` gives the bytes
back even where a tagged field was sent with its default. `as_container` makes the
container of a message, which leaves such fields out.

The schemas are ordinary trees of `construct`. Each part of them that has bytes or a name of
its own is `Labelled` with a `Part`, and a stream that is `Traced` hears of every part that is
read from it: that is how `kraftwire.explain` knows what each byte is, and where reading failed.
"""

from __future__ import annotations

from kraftwire.construct_schema.containers import as_container
from kraftwire.construct_schema.lengths import Announced, with_article, with_length
from kraftwire.construct_schema.messages import body_schema, schema
from kraftwire.construct_schema.parts import (
    INDEX,
    LEAVES,
    Elements,
    Labelled,
    Part,
    Refusal,
    Traced,
)
from kraftwire.construct_schema.primitives import UVARINT
from kraftwire.construct_schema.tags import UNKNOWN_TAGS

__all__ = [
    "INDEX",
    "LEAVES",
    "UNKNOWN_TAGS",
    "UVARINT",
    "Announced",
    "Elements",
    "Labelled",
    "Part",
    "Refusal",
    "Traced",
    "as_container",
    "body_schema",
    "schema",
    "with_article",
    "with_length",
]
