"""Kafka's string form of a uuid: 22 characters of URL-safe base64, without padding."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID

_TEXT = re.compile(r"([A-Za-z0-9_-]{22})(==)?")


def format_uuid(value: UUID) -> str:
    """Return the string form, without padding."""
    return urlsafe_b64encode(value.bytes).decode().rstrip("=")


def parse_uuid(text: str) -> UUID:
    """Parse the string form, with or without padding; raise `ValueError` for anything else."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:60]!r} is not a uuid (22 characters of URL-safe base64)")
    return UUID(bytes=urlsafe_b64decode(match[1] + "=="))
