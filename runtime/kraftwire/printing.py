"""Text for people: foreign strings made harmless for terminals and logs, and names of keys."""

from __future__ import annotations

_MAX_SHOWN = 200


def printable(text: str) -> str:
    """Return the text on one line, with everything a terminal would act on escaped.

    Newlines are escaped too: a file name must not be able to fake a line of output.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def printable_lines(text: str) -> str:
    """Return lines of text, each printable."""
    return "\n".join(map(printable, text.split("\n")))


def shortened(value: object, most: int = _MAX_SHOWN) -> str:
    """Return a value as ASCII for logs; a longer one is cut and its length added."""
    text = str(value)
    shown = printable(text[:most]).encode("ascii", "backslashreplace").decode()
    return shown if len(text) <= most else f"{shown}... ({len(text)} characters)"


def camel_case(name: str) -> str:
    """Return `likeThis` for `like_this`, as Kafka's specs and the keys of JSON are written."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
