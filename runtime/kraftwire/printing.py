"""Makes untrusted text safe for terminals and logs, and names for JSON keys."""

from __future__ import annotations

from functools import cache

_MAX_SHOWN = 200


def printable(text: str) -> str:
    """Return the text with every character escaped that a terminal would act on.

    Newlines are escaped too, so that a file name cannot fake a line of output.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def printable_lines(text: str) -> str:
    """Return the text with `printable` applied to each line."""
    return "\n".join(map(printable, text.split("\n")))


def shortened(value: object, most: int = _MAX_SHOWN) -> str:
    """Return a value as ASCII for logs; cut a long one and add its length."""
    text = str(value)
    shown = printable(text[:most]).encode("ascii", "backslashreplace").decode()
    return shown if len(text) <= most else f"{shown}... ({len(text)} characters)"


@cache
def camel_case(name: str) -> str:
    """Return `likeThis` for `like_this`: Kafka's specs and JSON keys are written so."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
