"""Encodes and decodes UTF-8 as Java does."""

from __future__ import annotations

import codecs

_ERRORS = "kraftwire_java"


def encode_text(value: str) -> bytes:
    """Encode a string: a surrogate pair becomes one character, a lone surrogate `?`."""
    try:
        return value.encode()
    except UnicodeEncodeError:
        paired = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return paired.encode("utf-8", "replace")


def decode_as_java(raw: bytes) -> str:
    """Decode any bytes, inserting replacement characters exactly where Java does."""
    return raw.decode(errors=_ERRORS)


def _replace_as_java_does(error: UnicodeError) -> tuple[str, int]:
    """Replace a surrogate encoded in UTF-8 with one character; Python would insert three."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start, end = error.object, error.start, error.end
    if data[start] == 0xED and data[start + 1 : start + 2] >= b"\xa0":
        end = start + 1
        while end < min(start + 3, len(data)) and data[end] & 0xC0 == 0x80:
            end += 1
    return "\ufffd", end


codecs.register_error(_ERRORS, _replace_as_java_does)
