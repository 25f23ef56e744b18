"""Finds the spec blocks in a page of text or HTML, with their line numbers.

A file that consists of a spec is one block. In a page, a block starts at a line that starts with {
or ends like `Request: {`, if the keys of a message follow. It ends when its brackets are closed or,
since brackets may be wrong, at prose or at the end of a code fence. All other text is ignored,
including other JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from kraftwire_generator.lint.json_tokens import MOST_LINES_OF_A_STRING
from kraftwire_generator.lint.page_html import PageLine, html_lines, looks_like_html

_SPACES = " \t\r\f\v\xa0\ufeff\u200b"
_LINES_BEFORE_COMPARED = 40

_PIECE = re.compile(r'"(?:[^"\\]|\\.)*+"|//.*|["{}\[\]]')
_JSON_AMONG_WORDS = re.compile(r'"[ \t\xa0]*+[:,}\]]')
_GOES_ON = re.compile(r"[\"{}\[\],]|\.\.\.|…")
_OPENED_AT_END = re.compile(
    r'[^"{}]*?[\w)][ \t\xa0]*+(?::|=>?)[ \t\xa0]*+(?=\{[ \t\xa0]*+(?:$|"(?:apiKey|type)"))'
)
_FENCE = re.compile(r"```|~~~|Code Block$|\{(?:code|noformat)\b[^{}\"]*+\}")
_NEW_SPEC = re.compile(r'\{[ \t\xa0]*+(?:$|"(?:apiKey|type)")')
_MESSAGE_KEY = re.compile(r'(?:validVersions|flexibleVersions|apiKey)["”]?\s*:')
_MESSAGE_TYPE = re.compile(
    r'["“]type["”]\s*:\s*["“]'
    r'(?:request|response|header|metadata|data|coordinator-key|coordinator-value)["”]'
)


@dataclass(frozen=True, slots=True)
class SpecBlock:
    """The text of a block, and the page's line number (from 1) of each of its lines."""

    text: str
    lines: Sequence[int]


@dataclass(frozen=True, slots=True)
class SpecPage:
    """The blocks of a page; `is_one_spec` is True if it consists of one.

    `compared` is True for a wiki's "Versions Compared" page, which merges removed and added words
    without a mark. Such a page may have `fragments` of specs: ends of blocks that prose separates
    from their beginnings.
    """

    blocks: tuple[SpecBlock, ...]
    compared: bool = False
    fragments: tuple[SpecBlock, ...] = ()
    is_one_spec: bool = False


def read_page(text: str, file: str) -> SpecPage:
    """Return the blocks of a page; the whole page is one block if it is a JSON file or object."""
    if file.endswith(".json") or _is_one_spec(text):
        count = text.count("\n") + 1
        return SpecPage((SpecBlock(text, range(1, count + 1)),), is_one_spec=True)
    if looks_like_html(text, file):
        lines, has_marks = html_lines(text)
        return _page(lines, compared=_is_compared(lines) and not has_marks)
    lines = list(enumerate(text.split("\n"), start=1))
    return _page(lines, compared=_is_compared(lines))


def _page(lines: Sequence[PageLine], *, compared: bool) -> SpecPage:
    blocks = tuple(_blocks(lines))
    return SpecPage(blocks, compared, tuple(_fragments(lines, blocks)) if compared else ())


def _is_one_spec(text: str) -> bool:
    """Whether the text is one object from its start to its end, with no other spec in it."""
    inner = text.strip(_SPACES + "\n")
    if not inner.startswith(("{", "//", "/*")) or not inner.endswith("}"):
        return False
    if "\n```" in inner or "\nCode Block" in inner:
        return False
    blocks = _blocks(list(enumerate(inner.split("\n"), start=1)))
    return len(list(islice(blocks, 2))) < 2


def _is_compared(lines: Sequence[PageLine]) -> bool:
    head = [line.strip(_SPACES + "#*•-") for _, line in lines[:_LINES_BEFORE_COMPARED]]
    return "Versions Compared" in head and any("This line was" in line for line in head)


def _blocks(lines: Sequence[PageLine]) -> Iterator[SpecBlock]:
    index = 0
    while index < len(lines):
        before = _before_block(lines[index][1])
        if before is None:
            index += 1
            continue
        end = _end_of_block(lines, index, before)
        text = "\n".join(line for _, line in lines[index:end])[before:]
        if _MESSAGE_KEY.search(text) or _MESSAGE_TYPE.search(text):
            yield SpecBlock(text, [number for number, _ in lines[index:end]])
        index = end


def _fragments(lines: Sequence[PageLine], blocks: Iterable[SpecBlock]) -> Iterator[SpecBlock]:
    inside = {number for block in blocks for number in block.lines}
    fragment: list[PageLine] = []
    for number, line in (*lines, (0, "")):
        if number not in inside and _GOES_ON.match(line.strip(_SPACES)):
            fragment.append((number, line))
            continue
        text = "\n".join(line for _, line in fragment)
        if '"versions"' in text:
            yield SpecBlock(text, [number for number, _ in fragment])
        fragment = []


def _before_block(line: str) -> int | None:
    """Return the length of the text before a block on this line; None if no block starts."""
    if _FENCE.match(line.lstrip(_SPACES)):
        return None
    if line.lstrip(_SPACES).startswith("{"):
        return 0
    opened = _OPENED_AT_END.match(line.rstrip(_SPACES))
    return opened.end() if opened else None


def _end_of_block(lines: Sequence[PageLine], start: int, before: int) -> int:
    """Return the index of the first line after the block that starts at `start`."""
    depth, open_string = 0, 0
    last = start
    for index in range(start, len(lines)):
        line = lines[index][1][before if index == start else 0 :].strip(_SPACES)
        if index > start and _ends_block(line, open_string):
            break
        is_closed = depth <= 0 and index > start
        if is_closed and (_NEW_SPEC.match(line) or not _GOES_ON.match(line)):
            break
        change, string_goes_on = _scan(line, open_string > 0)
        depth += change
        open_string = open_string + 1 if string_goes_on else 0
        if line:
            last = index
    return last + 1


def _ends_block(line: str, open_string: int) -> bool:
    """Whether the line is a code fence or prose."""
    if _FENCE.match(line):
        return True
    if not line or not line[0].isalpha() or 0 < open_string <= MOST_LINES_OF_A_STRING:
        return False
    return not _JSON_AMONG_WORDS.search(line)


def _scan(line: str, in_string: bool) -> tuple[int, bool]:
    """Return the change of depth in a line, and whether the line ends in a string."""
    start = 0
    if in_string and not _GOES_ON.match(line):
        close = line.find('"')
        if close < 0:
            return 0, bool(line)
        start = close + 1
    depth = 0
    for match in _PIECE.finditer(line, start):
        mark = match.group()
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
        elif mark == '"':
            return depth, True
    return depth, False
