"""Splits text that is almost JSON into tokens, and reports mistakes in strings and spaces.

`parser.json_text` is the strict reader; this one is for `lint`, which continues after a mistake. It
understands frequent mistakes of people and wikis: line breaks in a string, a missing quote on
either side, curly and single quotes, no-break spaces, words without quotes, comments with #, and
`...` for omissions. It accepts any text, in time linear in its length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

TokenKind = Literal["{", "}", "[", "]", ",", ":", "text", "bare", "..."]

MistakeKind = Literal[
    "plain",
    "placeholder",  # instead of an API key; `common_mistakes` reports it better
    "space",  # also a mistake on pages that merge removed and added words
    "merge",  # may be an artefact of such a page
    "lost",  # the reader guesses the structure of the rest
]

MOST_LINES_OF_A_STRING = 20

_SPACE = re.compile(r"[ \t\r\n]++")
_ODD_SPACE = re.compile(r"[^\S \t\r\n]++|[\ufeff\u200b-\u200d\u2060]++")
_STRING = re.compile(r'[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"')
_CURLY_STRING = re.compile(r'[^"“”„\n]*+["“”]')
_SINGLE_STRING = re.compile(r"[^'\n]*+'")
_BARE = re.compile(r'[^"“”„{}\[\],:\n\xa0]++')
_AFTER_STRING = re.compile(r"[ \t\r\xa0]*+(?:[,:}\]\n]|\Z)")
_STARTS_JSON = re.compile(r'[{}\]]|//|"[A-Za-z]++"[ \t]*+:')
_ELISION = re.compile(r"\.\.\.++|…")


@dataclass(frozen=True, slots=True)
class Token:
    """A bracket, comma or colon, a string, a word without quotes, or `...`.

    `is_half` marks a string whose opening quote is missing.
    """

    kind: TokenKind
    text: str
    at: int
    line: int
    is_half: bool = False


@dataclass(frozen=True, slots=True)
class SyntaxMistake:
    """A mistake that the strict reader refuses, with a message that says what to write.

    `opened_on` is the line of the opening bracket if the message is about a bracket.
    """

    at: int
    line: int
    message: str
    kind: MistakeKind = "plain"
    opened_on: int | None = None


def tokenize(text: str, mistakes: list[SyntaxMistake]) -> Iterator[Token]:
    """Yield the tokens of the text in order, and add mistakes to `mistakes`."""
    return _Tokenizer(text, mistakes).tokens()


class _Tokenizer:
    """`_at` is the position of the next character; `_line` is the line of `_counted`."""

    def __init__(self, text: str, mistakes: list[SyntaxMistake]) -> None:
        self._text = text
        self._mistakes = mistakes
        self._at = 1 if text.startswith("\ufeff") else 0
        self._line = 1
        self._counted = 0
        self._line_end = -1
        self._odd_space_line = 0

    def tokens(self) -> Iterator[Token]:
        while self._skip_space():
            start, char = self._at, self._text[self._at]
            line = self._count_lines()
            if char in "{}[],:":
                self._at += 1
                yield Token(char, char, start, line)  # type: ignore[arg-type]
            elif elision := _ELISION.match(self._text, start):
                self._at = elision.end()
                yield Token("...", "...", start, line)
            elif char in "\"“”„'":
                yield Token("text", self._string(char), start, line)
            else:
                yield self._bare(start, line)

    def _count_lines(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _report(self, message: str, kind: MistakeKind = "plain") -> None:
        self._mistakes.append(SyntaxMistake(self._at, self._count_lines(), message, kind))

    def _end_of_line(self) -> int:
        if self._line_end < self._at:
            end = self._text.find("\n", self._at)
            self._line_end = len(self._text) if end < 0 else end
        return self._line_end

    def _skip_space(self) -> bool:
        """Skip spaces and comments; return False at the end of the text."""
        while self._at < len(self._text):
            if space := _SPACE.match(self._text, self._at):
                self._at = space.end()
            elif space := _ODD_SPACE.match(self._text, self._at):
                self._odd_space(space.group()[0])
                self._at = space.end()
            elif self._text.startswith("//", self._at):
                self._at = self._end_of_line()
            elif self._text.startswith("#", self._at):
                self._report("# does not start a comment; write // instead")
                self._at = self._end_of_line()
            elif self._text.startswith("/*", self._at):
                end = self._text.find("*/", self._at + 2)
                if end < 0:
                    self._report("this comment has no end; close it with */")
                self._at = len(self._text) if end < 0 else end + 2
            else:
                return True
        return False

    def _odd_space(self, char: str) -> None:
        line = self._count_lines()
        if line != self._odd_space_line:
            self._odd_space_line = line
            name = "a no-break space" if char == "\xa0" else "a character that is not a plain space"
            self._report(
                f"{name} (U+{ord(char):04X}) is among the spaces; write plain spaces", "space"
            )

    def _string(self, quote: str) -> str:
        if quote == '"':
            pattern = _STRING
        elif quote == "'":
            pattern = _SINGLE_STRING
            self._report("strings are written in double quotes, not in single ones")
        else:
            pattern = _CURLY_STRING
            self._report('JSON has no curly quotes; write "')
        self._at += 1
        match = pattern.match(self._text, self._at)
        if match is None:
            return self._string_without_end()
        content = match.group()[:-1]
        body = content.rstrip(" \t")
        if body.endswith(",") and self._text[match.end() : match.end() + 1].isalpha():
            self._report("a string has no end; close it with a double quote before the comma")
            self._at += len(body) - 1
            return body[:-1]
        value = self._unescape(content)
        self._at = match.end()
        return value

    def _unescape(self, content: str) -> str:
        if "\\" in content:
            try:
                value: str = json.loads(f'"{content}"', strict=False)
            except ValueError:
                self._report("a backslash starts an escape such as \\n; write \\\\ for a backslash")
                return content
            return value
        if any(char < " " for char in content):
            self._report("a string holds a tab or other control character; write \\t or \\u0000")
        return content

    def _string_without_end(self) -> str:
        """Return a string that does not end on its line: it has line breaks, or no end quote."""
        start, end = self._at, self._end_of_line()
        parts = [self._text[start:end].strip()]
        here = end + 1
        for _ in range(MOST_LINES_OF_A_STRING):
            end_of_next = self._text.find("\n", here)
            stop = len(self._text) if end_of_next < 0 else end_of_next
            piece = self._text[here:stop]
            if not piece.strip() or _STARTS_JSON.match(piece.lstrip()):
                break
            close = piece.find('"')
            if close >= 0:
                self._report("a string continues over several lines; write it on one line")
                self._at = here + close + 1
                return " ".join([*parts, piece[:close].strip()])
            parts.append(piece.strip())
            here = stop + 1
        self._report("a string has no end; close it with a double quote")
        content = self._text[start:end].rstrip(" \t\r,}]")
        self._at = start + len(content)
        return content

    def _bare(self, start: int, line: int) -> Token:
        """Return the token of characters without quotes: a number, a constant, or a bad string."""
        match = _BARE.match(self._text, start)
        run = match.group() if match else self._text[start]
        comment = run.find("//", 1)
        if comment > 0:
            run = run[:comment]
        end = start + len(run)
        follows_quote = comment < 0 and not run[-1].isspace() and self._text.startswith('"', end)
        if follows_quote and _AFTER_STRING.match(self._text, end + 1):
            self._report(
                f"{run[:40]!r} lacks its opening quote; put a double quote before it",
                "merge",
            )
            self._at = end + 1
            return Token("text", run, start, line, is_half=True)
        self._at = end
        return Token("bare", run.rstrip(), start, line)
