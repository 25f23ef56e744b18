"""Messages of magic 0 and 1, made up."""

from __future__ import annotations

import struct
import zlib


def message(
    offset: int, value: bytes | None, *, magic: int = 1, attributes: int = 0, time: int = 7
) -> bytes:
    """One message, without a key."""
    body = struct.pack(">bb", magic, attributes)
    body += struct.pack(">q", time) if magic else b""
    body += struct.pack(">ii", -1, -1 if value is None else len(value)) + (value or b"")
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body
