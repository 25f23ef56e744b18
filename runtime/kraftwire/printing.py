"""Strings from elsewhere, made harmless before people read them on a terminal or in a log."""

from __future__ import annotations

_MAX_SHOWN = 200


def printable(text: str) -> str:
    """Return the text on one line, without characters that a terminal would act on."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def shortened(value: object, most: int = _MAX_SHOWN) -> str:
    """Return a value as ASCII of a bounded length, which says how long it was, for logs."""
    text = str(value)
    shown = printable(text[:most]).encode("ascii", "backslashreplace").decode()
    return shown if len(text) <= most else f"{shown}... ({len(text)} characters)"
