"""Parses and formats timestamps. Kafka's are in milliseconds since 1970, UTC."""

from __future__ import annotations

from datetime import UTC, datetime

_MAX_MILLISECONDS = 253_402_300_799_999
"""The end of the year 9999, after which `datetime` has no dates."""


def parse_time(text: str) -> int:
    """Parse milliseconds, or a date with a time, which is UTC unless it has a zone.

    Raise `ValueError` for anything else.
    """
    if text.removeprefix("-").isdecimal() and len(text) < 20:
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        reason = f"{text!r} is neither milliseconds nor like 2026-11-21T10:00:00Z"
        raise ValueError(reason) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def format_time(milliseconds: int) -> str:
    """Return a timestamp to the millisecond; a number that is not a date stays a number."""
    if not 0 <= milliseconds <= _MAX_MILLISECONDS:
        return str(milliseconds)
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{milliseconds % 1000:03}"
