"""Writes the rows of `explain` as one HTML page without other files, which needs no script to work.

Nested rows fold. Pointing at a row marks its bytes, and pointing at bytes marks their row;
without the script, bytes are links to their rows. All text from the input is escaped, and a
content security policy forbids the page to load anything.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from importlib.resources import files
from typing import TextIO

from kraftwire.cli.explain.text import Cells, cells
from kraftwire.explain.rows import ByteRow
from kraftwire.printing import printable

_BYTES_SHOWN = 512
"""How many bytes of one value the page shows, unless `full`."""

_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style></head><body><h1>{title}</h1>
"""


class HtmlView:
    """Writes the page row by row; the hex view, which comes last, is kept in memory."""

    def __init__(self, open_page: Callable[[], TextIO], title: str, *, full: bool) -> None:
        """`open_page` is called before the first row is written."""
        self._open_page = open_page
        self._title = title
        self._full = full
        self._page: TextIO | None = None
        self._waiting: ByteRow | None = None
        self._depths: list[int] = []
        self._number = 0
        self._hex: dict[str, list[str]] = {}

    def row(self, row: ByteRow) -> None:
        self._write_waiting(row.depth)
        self._waiting = row

    def finish(self) -> None:
        self._write_waiting(-1)
        page = self._start()
        page.write("</details>\n" * len(self._depths))
        page.write("</section><aside>\n")
        for view, spans in self._hex.items():
            page.write(f"<h2>{escape(printable(view)) or 'bytes'}</h2><div class=hex>\n")
            page.writelines(spans)
            page.write("</div>\n")
        page.write(f"</aside></main>\n<script>\n{_asset('page.js')}</script>\n</body></html>\n")

    def _start(self) -> TextIO:
        if self._page is None:
            self._page = self._open_page()
            title = escape(printable(self._title))
            self._page.write(_HEAD.format(title=title, style=_asset("page.css")))
            self._page.write("<main><section>\n")
        return self._page

    def _write_waiting(self, next_depth: int) -> None:
        """Write the previous row, which folds if the next one is deeper."""
        row = self._waiting
        if row is None:
            return
        page = self._start()
        while self._depths and self._depths[-1] >= row.depth:
            page.write("</details>\n")
            self._depths.pop()
        self._number += 1
        content = self._content(row, cells(row, full=self._full))
        if next_depth > row.depth:
            page.write(f"<details open><summary {content}</summary>\n")
            self._depths.append(row.depth)
        else:
            page.write(f"<div {content}</div>\n")
        if row.is_leaf and row.data:
            self._hex.setdefault(row.view, []).append(self._bytes(row))

    def _content(self, row: ByteRow, cell: Cells) -> str:
        bad = " bad" if row.problem else ""
        number = f' id="r{self._number}" data-r="{self._number}" tabindex=0'
        return (
            f'class="row{bad}"{number}><span class=at>{cell.range}</span> '
            f'<span class=field title="{escape(printable(row.path))}">{escape(cell.field)}</span> '
            f"<span class=type>{escape(cell.type)}</span> {escape(cell.value)}"
        )

    def _bytes(self, row: ByteRow) -> str:
        bad = " class=bad" if row.problem else ""
        shown = row.data if self._full else row.data[:_BYTES_SHOWN]
        pairs = [f"{byte:02x}" for byte in shown]
        if row.at is not None and 0 <= row.at - row.start < len(pairs):
            at = row.at - row.start
            pairs[at] = f"<b>{pairs[at]}</b>"
        if len(shown) < len(row.data):
            pairs.append(f"+{len(row.data) - len(shown)}")
        number = self._number
        return f'<a href="#r{number}" data-r="{number}"{bad}>{" ".join(pairs)}</a> \n'


def _asset(name: str) -> str:
    return files("kraftwire.cli.explain").joinpath(name).read_text(encoding="utf-8")
