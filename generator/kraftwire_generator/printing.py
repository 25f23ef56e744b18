"""Text from specs, made harmless before a terminal shows it."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return the text on one line, with everything a terminal would act on escaped.

    Newlines are escaped too: a file name must not be able to fake a line of output.
    """
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def printable_lines(text: str) -> str:
    """Return lines of text, each printable."""
    return "\n".join(map(printable, text.split("\n")))
