"""Escapes text from specs, so that it cannot control the terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return the text on one line, with every unprintable character escaped.

    Newlines are escaped too: a file name must not be able to fake a line of output.
    """
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def printable_lines(text: str) -> str:
    """Return the text with each of its lines made printable."""
    return "\n".join(map(printable, text.split("\n")))
