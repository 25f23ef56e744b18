"""The pages of a guide, read back as a browser's parser would: what is in them, by its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = {"link", "meta", "input", "wbr"}


@dataclass
class Row:
    """One row of a field table: the id, and the text of each cell by its class."""

    id: str
    depth: str
    cells: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.cells["name"].split()[0]


@dataclass
class FormOnPage:
    """One span of versions of a message."""

    id: str
    message: str
    versions: range
    about: str = ""
    rows: list[Row] = field(default_factory=list)
    boxes: list[str] = field(default_factory=list)
    changes: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass
class PageOnDisk(HTMLParser):
    """A page: its forms, and everything that names or is named."""

    path: Path

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[FormOnPage] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._open: list[tuple[str, dict[str, str]]] = []
        self.feed(self.path.read_text(encoding="utf-8"))
        self.close()
        assert not self._open, f"{self.path}: never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tags.append((tag, values))
        if tag not in VOID:
            self._open.append((tag, values))
        if "id" in values:
            self.ids.append(values["id"])
        self.addresses += [values[name] for name in ("href", "src", "data-root") if name in values]
        classes = values.get("class", "").split()
        if tag == "article":
            versions = range(int(values["data-from"]), int(values["data-to"]) + 1)
            self.forms.append(FormOnPage(values["id"], values["data-message"], versions))
        elif tag == "tr" and "id" in values and self._inside("article"):
            self.forms[-1].rows.append(Row(values["id"], values["class"]))
        elif tag == "li" and "box" in classes and self._inside("article"):
            self.forms[-1].boxes.append("")
        elif tag == "li" and self._is_change(classes):
            self.forms[-1].changes.append((classes[0], "", ""))

    def handle_endtag(self, tag: str) -> None:
        opened, _ = self._open.pop()
        assert opened == tag, f"{self.path}: {opened} is closed by {tag}"

    def handle_data(self, data: str) -> None:
        self.text += data
        if not self._open or not self._inside("article"):
            return
        form, (tag, values) = self.forms[-1], self._open[-1]
        classes = values.get("class", "").split()
        cell = self._cell()
        if cell and form.rows:
            cells = form.rows[-1].cells
            cells[cell] = " ".join(f"{cells.get(cell, '')} {data}".split())
        elif tag == "p":
            form.about += data
        elif tag == "b" and "box" in self._open[-2][1].get("class", ""):
            form.boxes[-1] += data
        elif tag == "code" and form.changes:
            kind, _, text = form.changes[-1]
            form.changes[-1] = kind, data, text
        elif tag == "li" and self._is_change(classes):
            kind, path, text = form.changes[-1]
            form.changes[-1] = kind, path, (text + data).strip()

    def _is_change(self, classes: list[str]) -> bool:
        known = {"added", "removed", "changed"}
        return bool(known & set(classes)) and self._inside("article")

    def _inside(self, tag: str) -> bool:
        return any(opened == tag for opened, _ in self._open)

    def _cell(self) -> str:
        """The cell of a field table that is being read."""
        if not any(values.get("class") == "fields" for _, values in self._open):
            return ""
        for tag, values in reversed(self._open):
            if tag == "th":
                return "name" if values.get("scope") == "row" else ""
            if tag == "td":
                return values["class"]
        return ""


def pages_of(directory: Path) -> dict[str, PageOnDisk]:
    """Every page of a guide by its path below the directory."""
    return {
        path.relative_to(directory).as_posix(): PageOnDisk(path)
        for path in sorted(directory.rglob("*.html"))
    }
