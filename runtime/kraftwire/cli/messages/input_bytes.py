"""Reads the input of `decode` and `explain`: hex, base64 or binary, perhaps with a length prefix.

Without `--input`, pairs of hex digits and white space are hex, text that is base64 to the last
character is base64, and everything else is binary; white space alone is empty input. A length
prefix counts only if it equals the number of bytes after it. Even then a message may begin with
such a number at random, so `readings` returns both ways to read it.
"""

from __future__ import annotations

import binascii
from contextlib import suppress
from typing import IO, NamedTuple

from kraftwire.console.failures import CouldNotDoIt
from kraftwire_wire.errors import DecodeError
from kraftwire_wire.framing import split_frames

INPUT_FORMS = ("hex", "base64", "binary")

MAX_INPUT = 256 << 20
"""Bytes of input: more than a broker accepts for one request, even written as hex."""

PREFIX_SIZE = 4
"""Bytes of a length prefix."""
_MIN_REQUEST_SIZE = 8
_SPACE = b" \t\n\r\v\f"
_HEX_DIGITS = b"0123456789abcdefABCDEF"


class InputFrame(NamedTuple):
    """Bytes of one message, and where they start in the input."""

    data: bytes
    start: int = 0


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
    """Return the bytes that a file's content represents; `form` is the value of `--input`."""
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


def readings(data: bytes, prefix: bool | None) -> list[InputFrame]:
    """Return the ways to read one message, the one with a length prefix first.

    `prefix` is whether there is a prefix, or None if that is unknown.
    """
    whole = InputFrame(data)
    if prefix is False:
        return [whole]
    after = InputFrame(data[PREFIX_SIZE:], PREFIX_SIZE)
    if len(data) >= PREFIX_SIZE and int.from_bytes(data[:PREFIX_SIZE]) == len(after.data):
        return [after] if prefix else [after, whole]
    if prefix:
        raise DecodeError("no length prefix that equals the number of bytes after it", offset=0)
    return [whole]


def request_stream(data: bytes) -> list[InputFrame]:
    """Return the length-prefixed requests that fill the data; none if they do not fill it."""
    try:
        payloads = split_frames(data)
    except DecodeError:
        return []
    if any(len(payload) < _MIN_REQUEST_SIZE for payload in payloads):
        return []
    frames = []
    start = 0
    for payload in payloads:
        frames.append(InputFrame(payload, start + PREFIX_SIZE))
        start += PREFIX_SIZE + len(payload)
    return frames
