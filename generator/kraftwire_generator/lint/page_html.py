"""Extracts the lines of text of an HTML page, each with its line in the source.

The text is the visible text of the page, plus the code blocks that Confluence keeps in CDATA
sections and in scripts of type `syntaxhighlighter`, except words that a compared page marks as
removed (`diff-html-removed`).

Pages are untrusted, and `html.parser` takes quadratic time on tags and comments without an end.
This scan reads each character once.
"""

from __future__ import annotations

import re
from html import unescape

PageLine = tuple[int, str]

_HTML = re.compile(r"<(?:!doctype|html|head|body|div|p|pre|table|span|h[1-6]|ac:)\b", re.IGNORECASE)
# Quoted values may contain a >. No part matches a <, so that no text is read twice.
_TAG = re.compile(
    r"""<(/?)([A-Za-z][A-Za-z0-9:-]*+)((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+(?=>)|[^<>]*+)>"""
)
_NO_BREAK_SPACE = re.compile("&(?:nbsp|#160|#[xX][aA]0);")
_BREAKS = re.compile(
    "ac:[a-z-]*|address|article|aside|blockquote|br|dd|div|dl|dt|h[1-6]|hr|li|main|ol|p|pre|section|table"
    "|t[dhr]|title|ul"
)
_CODE = ("pre", "script", "ac:plain-text-body")
_HIDDEN = ("script", "style", "template")
_VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"))
_REMOVED = "diff-html-removed"


def looks_like_html(text: str, file: str) -> bool:
    """Whether the file name or the start of the text is that of HTML."""
    if file.lower().endswith((".html", ".htm", ".xhtml")):
        return True
    start = text.lstrip("\ufeff \t\r\n")[:1000]
    return start.startswith("<") and _HTML.search(start) is not None


def html_lines(text: str) -> tuple[list[PageLine], bool]:
    """Return the visible lines of the page, and whether it marks removed words."""
    reader = _PageReader(text)
    reader.read()
    return reader.lines, reader.has_marks


class _PageReader:
    """`_counted` is the last position whose line is known; `_line` is that line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._counted = 0
        self._line = 1
        self._parts: list[str] = []
        self._starts_on = 1
        self._hidden = ""  # the element whose content is not shown
        self._removed: list[str] = []  # open elements, from the outermost removed one on
        self.lines: list[PageLine] = []
        self.has_marks = False

    def read(self) -> None:
        at = 0
        while at < len(self._text):
            start = self._text.find("<", at)
            start = len(self._text) if start < 0 else start
            # Wikis indent code with &nbsp;, which is a plain space in the code itself.
            self._show(unescape(_NO_BREAK_SPACE.sub(" ", self._text[at:start])), at)
            at = self._markup(start)
        self._end_line()

    def _markup(self, start: int) -> int:
        """Process the markup at a <; return the position after it."""
        if self._text.startswith("<!--", start):
            return self._end_of("-->", start)
        if self._text.startswith("<![CDATA[", start):
            end = self._end_of("]]>", start)
            self._show(self._text[start + 9 : end].removesuffix("]]>"), start)
            return end
        tag = _TAG.match(self._text, start)
        if tag is None:
            self._show(self._text[start : start + 1], start)
            return start + 1
        self._tag(tag[2].lower(), tag[3], closes=bool(tag[1]))
        return tag.end()

    def _end_of(self, mark: str, start: int) -> int:
        end = self._text.find(mark, start)
        return len(self._text) if end < 0 else end + len(mark)

    def _tag(self, name: str, attributes: str, *, closes: bool) -> None:
        if closes and name == self._hidden:
            self._hidden = ""
        elif not closes and name in _HIDDEN and "syntaxhighlighter" not in attributes:
            self._hidden = self._hidden or name
        elif name in _VOID or attributes.endswith("/"):
            pass
        elif closes:
            if self._removed and self._removed[-1] == name:
                self._removed.pop()
        elif self._removed or _REMOVED in attributes:
            self._removed.append(name)
            self.has_marks = True
        if "diff-html-added" in attributes:
            self.has_marks = True
        ends_code = closes and name in _CODE
        if self._parts and (name in _CODE or _BREAKS.fullmatch(name)):
            self._end_line()
        if ends_code:
            # Separate code blocks, even if there is no text between them.
            self.lines.append((self._line, "```"))

    def _line_at(self, position: int) -> int:
        self._line += self._text.count("\n", self._counted, position)
        self._counted = position
        return self._line

    def _show(self, text: str, at: int) -> None:
        """Add text that starts at a position of the source, unless it is hidden."""
        line = self._line_at(at)
        if not text or self._hidden or self._removed:
            return
        first, *others = text.split("\n")
        if not self._parts:
            self._starts_on = line
        self._parts.append(first)
        for number, other in enumerate(others, start=1):
            self._end_line()
            self._parts.append(other)
            self._starts_on = line + number

    def _end_line(self) -> None:
        self.lines.append((self._starts_on, "".join(self._parts)))
        self._parts.clear()
