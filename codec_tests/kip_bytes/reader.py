"""Read the encodings computed by hand from the KIP documents: `kip_*.txt` beside this file.

The bytes were worked out from the order of fields in the document, a line per field, and never
taken from the encoder. A case is three parts:

    == VoteRequest 0
    {"clusterId": "c1", ...}          the message, in Kafka's JSON form
    --
    0003 6331  # ClusterId            its bytes in hexadecimal; comments begin with #
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from kraftwire_wire.message import Message
from kraftwire_wire.registry import Registry


class Encoding(NamedTuple):
    """A message, and its bytes at a version."""

    message: Message
    version: int
    data: bytes


def read_encodings(registry: Registry, kip: int) -> list[Encoding]:
    """Return all encodings of a KIP's messages, which `registry` has."""
    texts = [file.read_text() for file in sorted(Path(__file__).parent.glob(f"kip_{kip}*.txt"))]
    return [_encoding(registry, case) for text in texts for case in text.split("\n== ")[1:]]


def _encoding(registry: Registry, case: str) -> Encoding:
    title, _, rest = case.partition("\n")
    value, _, lines = rest.partition("\n--\n")
    name, version = title.split()
    message = registry.message(name).from_json(json.loads(value), int(version))
    data = bytes.fromhex(" ".join(line.partition("#")[0] for line in lines.splitlines()))
    return Encoding(message, int(version), data)
