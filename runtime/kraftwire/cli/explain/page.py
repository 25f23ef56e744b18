"""The rows of `explain` as one HTML page that needs nothing else, not even its script.

Nested rows fold; pointing at a row marks its bytes, and pointing at bytes their row. Without
the script, bytes are links to their rows. All text out of the input is escaped, and a policy
in the page forbids that it loads anything.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TextIO

from kraftwire.cli.explain.text import Cells, cells
from kraftwire.explain.rows import Row
from kraftwire.printing import printable

_BYTES_SHOWN = 512
"""How many bytes of one value are in the page, unless all are wanted."""

_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --back: #fff; --text: #1c2024; --soft: #666d75;
  --line: #d8dce0; --mark: #ffe08a; --kind: #0b5cad; --bad: #b3261e; --badback: #fde7e5; }}
@media (prefers-color-scheme: dark) {{ :root {{ --back: #14171a; --text: #e3e6e8;
  --soft: #98a1a9; --line: #33393f; --mark: #6b5300; --kind: #7db7f5; --bad: #ff9d94;
  --badback: #4a1c18; }} }}
* {{ box-sizing: border-box }}
body {{ margin: 0; padding: 1rem; background: var(--back); color: var(--text);
  font: 14px/1.5 system-ui, sans-serif }}
h1 {{ font-size: 1.2rem; margin: 0 0 .5rem; overflow-wrap: anywhere }}
h2 {{ font-size: .9rem; margin: 1rem 0 .25rem; color: var(--soft); overflow-wrap: anywhere }}
main {{ display: grid; grid-template-columns: minmax(0, 1fr) 50ch; gap: 1.5rem }}
.row, .hex {{ font: 13px/1.6 ui-monospace, monospace }}
.hex {{ width: 48ch; max-width: 100%; overflow-wrap: break-word }}
aside {{ position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto;
  border-left: 1px solid var(--line); padding-left: 1rem }}
details {{ margin: 0 }} details > div, details > details {{ margin-left: 1.1rem }}
.row {{ overflow-wrap: anywhere; white-space: pre-wrap; border-radius: 3px; padding: 0 .3rem }}
summary {{ cursor: pointer }}
.at, .type {{ color: var(--soft) }} .type {{ color: var(--kind) }}
.field {{ font-weight: 600 }}
a {{ color: inherit; text-decoration: none; border-radius: 2px }}
.hex a:nth-of-type(even) {{ color: var(--soft) }}
.on, :target, a:focus, .row:focus {{ background: var(--mark); outline: none }}
.bad {{ background: var(--badback); color: var(--bad) }}
.hex b {{ outline: 2px solid var(--bad) }}
@media (max-width: 60rem) {{ main {{ display: block }} aside {{ position: static; border: 0;
  padding: 0; max-height: none }} }}
</style></head><body><h1>{title}</h1>
"""

_SCRIPT = """<script>
(function () {
  var marked = [];
  function mark(event) {
    var from = event.target.closest && event.target.closest("[data-r]");
    marked.forEach(function (one) { one.classList.remove("on"); });
    marked = from ? [].slice.call(
      document.querySelectorAll('[data-r="' + from.dataset.r + '"]')) : [];
    marked.forEach(function (one) { one.classList.add("on"); });
    if (from && event.type === "focusin") marked.forEach(function (one) {
      if (one !== from) one.scrollIntoView({block: "nearest"});
    });
  }
  document.addEventListener("mouseover", mark);
  document.addEventListener("focusin", mark);
}());
</script>
"""


class HtmlView:
    """Writes the page while rows come; the bytes are kept until the end."""

    def __init__(self, open_page: Callable[[], TextIO], title: str, *, full: bool) -> None:
        """`open_page` is called when there is something to write."""
        self._open_page = open_page
        self._title = title
        self._full = full
        self._page: TextIO | None = None
        self._waiting: Row | None = None
        self._depths: list[int] = []
        self._number = 0
        self._hex: dict[str, list[str]] = {}

    def row(self, row: Row) -> None:
        """See `View.row`."""
        self._write_waiting(row.depth)
        self._waiting = row

    def finish(self, note: str = "") -> None:
        """See `View.finish`."""
        self._write_waiting(-1)
        page = self._start()
        page.write("</details>\n" * len(self._depths))
        page.write(f"<p>{escape(note)}</p>" if note else "")
        page.write("</section><aside>\n")
        for view, spans in self._hex.items():
            page.write(f"<h2>{escape(printable(view)) or 'bytes'}</h2><div class=hex>\n")
            page.writelines(spans)
            page.write("</div>\n")
        page.write(f"</aside></main>\n{_SCRIPT}</body></html>\n")

    def _start(self) -> TextIO:
        if self._page is None:
            self._page = self._open_page()
            self._page.write(_HEAD.format(title=escape(printable(self._title))))
            self._page.write("<main><section>\n")
        return self._page

    def _write_waiting(self, next_depth: int) -> None:
        """The row before; it folds where the next one is deeper."""
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

    def _content(self, row: Row, cell: Cells) -> str:
        bad = " bad" if row.problem else ""
        number = f' id="r{self._number}" data-r="{self._number}" tabindex=0'
        return (
            f'class="row{bad}"{number}><span class=at>{cell.range}</span> '
            f'<span class=field title="{escape(printable(row.path))}">{escape(cell.field)}</span> '
            f"<span class=type>{escape(cell.type)}</span> {escape(cell.value)}"
        )

    def _bytes(self, row: Row) -> str:
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
