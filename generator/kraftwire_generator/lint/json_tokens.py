"""Text that means to be JSON -> tokens and the slips among them, whatever the text.

The strict reader is `json_text`; this one serves `lint`, which must go on after a slip. It
knows what people and wikis do to strings and spaces: line breaks inside a string, a quote
forgotten on either side, curly and single quotes, no-break spaces, words without quotes,
comments with #, and `...` for what is left out. The time it takes grows with the text's
length and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

TokenKind = Literal["{", "}", "[", "]", ",", ":", "text", "bare", "..."]

SlipKind = Literal[
    "plain",
    "placeholder",  # in place of an API key; the rule for those tells it better
    "space",  # a slip wherever it stands
    "merge",  # may also be what a page leaves that runs removed and added words together
    "lost",  # the structure of what follows is a guess
]

_MOST_LINES_OF_A_STRING = 20

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
class Slip:
    """What strict reading refuses, with a sentence that says what to write.

    `opened_on` is the line of the bracket that the sentence is about, where it is not `line`.
    """

    at: int
    line: int
    message: str
    kind: SlipKind = "plain"
    opened_on: int | None = None


def tokenize(text: str, slips: list[Slip]) -> Iterator[Token]:
    """The tokens of the text, in order; slips of strings and spaces are added to `slips`."""
    return _Tokenizer(text, slips).tokens()


class _Tokenizer:
    """`_at` is the position of the next character, `_line` its line."""

    def __init__(self, text: str, slips: list[Slip]) -> None:
        self._text = text
        self._slips = slips
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

    def _slip(self, message: str, kind: SlipKind = "plain") -> None:
        self._slips.append(Slip(self._at, self._count_lines(), message, kind))

    def _end_of_line(self) -> int:
        if self._line_end < self._at:
            end = self._text.find("\n", self._at)
            self._line_end = len(self._text) if end < 0 else end
        return self._line_end

    def _skip_space(self) -> bool:
        """Step over spaces and comments; False at the end of the text."""
        while self._at < len(self._text):
            if space := _SPACE.match(self._text, self._at):
                self._at = space.end()
            elif space := _ODD_SPACE.match(self._text, self._at):
                self._odd_space(space.group()[0])
                self._at = space.end()
            elif self._text.startswith("//", self._at):
                self._at = self._end_of_line()
            elif self._text.startswith("#", self._at):
                self._slip("# starts no comment; write // instead")
                self._at = self._end_of_line()
            elif self._text.startswith("/*", self._at):
                end = self._text.find("*/", self._at + 2)
                if end < 0:
                    self._slip("this comment has no end; close it with */")
                self._at = len(self._text) if end < 0 else end + 2
            else:
                return True
        return False

    def _odd_space(self, char: str) -> None:
        line = self._count_lines()
        if line != self._odd_space_line:
            self._odd_space_line = line
            name = "a no-break space" if char == "\xa0" else "a character that is no plain space"
            self._slip(
                f"{name} (U+{ord(char):04X}) stands among the spaces; write plain spaces", "space"
            )

    def _string(self, quote: str) -> str:
        if quote == '"':
            pattern = _STRING
        elif quote == "'":
            pattern = _SINGLE_STRING
            self._slip("strings stand in double quotes, not in single ones")
        else:
            pattern = _CURLY_STRING
            self._slip('curly quotes are no quotes in JSON; write "')
        self._at += 1
        match = pattern.match(self._text, self._at)
        if match is None:
            return self._string_without_end()
        content = match.group()[:-1]
        body = content.rstrip(" \t")
        if body.endswith(",") and self._text[match.end() : match.end() + 1].isalpha():
            self._slip("a string has no end; close it with a double quote before the comma")
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
                self._slip("a backslash starts an escape such as \\n; write \\\\ for a backslash")
                return content
            return value
        if any(char < " " for char in content):
            self._slip("a string holds a tab or other control character; write \\t or \\u0000")
        return content

    def _string_without_end(self) -> str:
        """A string that its line does not close: one with line breaks, or a quote forgotten."""
        start, end = self._at, self._end_of_line()
        parts = [self._text[start:end].strip()]
        here = end + 1
        for _ in range(_MOST_LINES_OF_A_STRING):
            end_of_next = self._text.find("\n", here)
            stop = len(self._text) if end_of_next < 0 else end_of_next
            piece = self._text[here:stop]
            if not piece.strip() or _STARTS_JSON.match(piece.lstrip()):
                break
            close = piece.find('"')
            if close >= 0:
                self._slip("a string runs over several lines; write it in one line")
                self._at = here + close + 1
                return " ".join([*parts, piece[:close].strip()])
            parts.append(piece.strip())
            here = stop + 1
        self._slip("a string has no end; close it with a double quote")
        content = self._text[start:end].rstrip(" \t\r,}]")
        self._at = start + len(content)
        return content

    def _bare(self, start: int, line: int) -> Token:
        """A run of characters outside quotes: a number, a constant, or what lacks quotes."""
        match = _BARE.match(self._text, start)
        run = match.group() if match else self._text[start]
        comment = run.find("//", 1)
        if comment > 0:
            run = run[:comment]
        end = start + len(run)
        follows_quote = comment < 0 and not run[-1].isspace() and self._text.startswith('"', end)
        if follows_quote and _AFTER_STRING.match(self._text, end + 1):
            self._slip(
                f"{run[:40]!r} lacks its opening quote; put a double quote before it",
                "merge",
            )
            self._at = end + 1
            return Token("text", run, start, line, is_half=True)
        self._at = end
        return Token("bare", run.rstrip(), start, line)
