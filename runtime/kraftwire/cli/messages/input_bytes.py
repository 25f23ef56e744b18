"""Bytes that people hand over: from a file, as hex, base64 or binary, perhaps with a size.

Without `--input`, bytes that are pairs of hex digits and white space are hex, bytes that
are base64 to the last character are base64, and everything else is itself; nothing but
white space is no bytes. A length prefix counts as one only where it equals what follows,
to the byte; even so a message can begin with a number that is its length by chance, so
`readings` gives both ways to read it.
"""

from __future__ import annotations

import binascii
from contextlib import suppress
from typing import IO, NamedTuple

from kraftwire.console.failures import CouldNotDoIt
from kraftwire_wire.errors import DecodeError
from kraftwire_wire.framing import split_frames

INPUT_FORMS = ("hex", "base64", "binary")

_PREFIX_SIZE = 4
_MIN_REQUEST_SIZE = 8
_SPACE = b" \t\n\r\v\f"
_HEX_DIGITS = b"0123456789abcdefABCDEF"


class Frame(NamedTuple):
    """Bytes of one message, and where in the input they start."""

    data: bytes
    start: int = 0


MAX_INPUT = 256 << 20
"""Bytes of input: more than a broker takes for one request, written as hex."""


def read_input(file: IO[bytes]) -> bytes:
    """Return the content of a file; raise `CouldNotDoIt` if it has more than `MAX_INPUT` bytes.

    A device such as /dev/zero has no end.
    """
    raw = file.read(MAX_INPUT + 1)
    if len(raw) > MAX_INPUT:
        name = getattr(file, "name", "<stdin>")
        raise CouldNotDoIt(f"{name}: more than {MAX_INPUT} bytes, too much for one input")
    return raw


def parse_input(raw: bytes, form: str | None) -> bytes:
    """The bytes that the content of a file stands for; `form` is the value of `--input`."""
    if form == "binary":
        return raw
    text = raw.translate(None, _SPACE)
    if form != "base64" and len(text) % 2 == 0 and not text.translate(None, _HEX_DIGITS):
        return binascii.unhexlify(text)
    if form != "hex":
        with suppress(binascii.Error):
            return binascii.a2b_base64(text, strict_mode=True)
    if form is None:
        return raw
    raise CouldNotDoIt(f"the input is not {form}")


def readings(data: bytes, prefix: bool | None) -> list[Frame]:
    """The ways to read one message, with a length prefix first where there can be one.

    `prefix` says whether there is one; None stands for not known.
    """
    whole = Frame(data)
    if prefix is False:
        return [whole]
    behind = Frame(data[_PREFIX_SIZE:], _PREFIX_SIZE)
    if len(data) >= _PREFIX_SIZE and int.from_bytes(data[:_PREFIX_SIZE]) == len(behind.data):
        return [behind] if prefix else [behind, whole]
    if prefix:
        raise DecodeError("no length prefix that equals the bytes behind it", offset=0)
    return [whole]


def request_stream(data: bytes) -> list[Frame]:
    """The length-prefixed requests that fill the data; none where it is not that."""
    try:
        payloads = split_frames(data)
    except DecodeError:
        return []
    if any(len(payload) < _MIN_REQUEST_SIZE for payload in payloads):
        return []
    frames = []
    start = 0
    for payload in payloads:
        frames.append(Frame(payload, start + _PREFIX_SIZE))
        start += _PREFIX_SIZE + len(payload)
    return frames
