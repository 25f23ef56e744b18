"""What a hand-computed encoding is: a message, a version, and its bytes in hexadecimal.

The modules beside this one hold one list of cases per part of a spec set. Their bytes were
worked out from the order of fields in the document, one line per field, and never taken
from the encoder. A struct of a flexible version ends in its count of tagged fields.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from kraftwire_wire.message import Message

# Two UUIDs, and their 16 bytes.
ID_A, A = UUID("00112233-4455-6677-8899-aabbccddeeff"), "00112233445566778899aabbccddeeff"
ID_B, B = UUID("0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"), "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
ZERO = "00000000000000000000000000000000"


class Case(NamedTuple):
    """One value of a message and what it is on the wire."""

    message: Message
    version: int
    text: str
