"""Prints the rows of `explain` as JSON, or as the lines of a table.

Lines are printed while the bytes are read, so columns have fixed widths: a longer cell shifts the
rest of its line.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from math import isfinite
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from kraftwire.cli.messages.named_numbers import with_name
from kraftwire.console.output import print_json
from kraftwire.console.times import format_time
from kraftwire.explain.rows import ByteRow
from kraftwire.printing import printable
from kraftwire_wire.errors import count_of
from kraftwire_wire.uuids import format_uuid

_BYTES_SHOWN = 8
"""How many bytes a line has; a longer range shows fewer, and how many follow."""
_BYTES_BEFORE_MORE = 5
_TEXT_SHOWN = 200
_INDENT = "  "
_WIDTHS = (13, 3 * _BYTES_SHOWN, 34, 26)
_COLUMNS = ("bytes", "hex", "field", "type", "value")
_STYLES = {
    "message": "bold",
    "struct": "bold",
    "opened": "bold",
    "view": "bold magenta",
    "bits": "dim",
    "length": "cyan",
    "count": "cyan",
    "size": "cyan",
    "marker": "cyan",
    "tag": "yellow",
    "error": "bold red",
}


class View(Protocol):
    """Prints rows."""

    def row(self, row: ByteRow) -> None: ...

    def finish(self) -> None:
        """Print what is left after the last row."""


class Cells(NamedTuple):
    """A row as printable texts."""

    range: str
    field: str
    type: str
    value: str


def cells(row: ByteRow, *, full: bool = False) -> Cells:
    """Return the cells of a row; long values are cut off unless `full`."""
    value = value_text(row)
    if len(value) > _TEXT_SHOWN and not full:
        value = f"{value[:_TEXT_SHOWN]}... {len(value) - _TEXT_SHOWN} more"
    return Cells(_range_text(row), printable(_field(row)), printable(_kind(row)), printable(value))


def _kind(row: ByteRow) -> str:
    if row.role == "message":
        return "message"
    if row.role in ("value", "error") or not row.is_leaf:
        return row.type
    return f"{row.type} {row.role}"


def _range_text(row: ByteRow) -> str:
    """Return the first and the last byte; empty for a row without its own bytes."""
    if not row.is_leaf and row.start == row.end:
        return ""
    if row.end - row.start <= 1:
        return str(row.start)
    return f"{row.start}-{row.end - 1}"


def _field(row: ByteRow) -> str:
    if row.role == "message":
        return row.type
    if row.role == "bits":
        return row.name
    if row.role == "view":
        return "contents"
    path = row.path
    return path[path.rfind("[") :] if path.endswith("]") else path.rpartition(".")[2]


def value_text(row: ByteRow) -> str:
    """Return the value with its time and note, and its error."""
    parts = [] if not row.is_leaf or row.role == "error" else [_plain(row)]
    if row.time_ms is not None:
        parts.append(format_time(row.time_ms))
    if row.note:
        parts.append(row.note)
    if row.problem:
        parts.append(f"ERROR at byte {row.at}: {row.problem}")
    return "  ".join(parts)


def _plain(row: ByteRow) -> str:
    value = row.value
    if value is None:
        return "null"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bytes):
        return _bytes_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and row.role == "value":
        return with_name(row.name, value)
    return str(value)


def _bytes_text(value: bytes) -> str:
    """Return the number of bytes, and their text if they are text."""
    count = count_of(len(value), "byte")
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return count
    is_text = text.isprintable() and text
    return f"{count}  {json.dumps(text, ensure_ascii=False)}" if is_text else count


def json_row(row: ByteRow) -> dict[str, Any]:
    """Return the row as JSON, without empty values."""
    obj: dict[str, Any] = {"start": row.start}
    if row.is_leaf or row.end != row.start:
        obj["end"] = row.end
    obj |= {"depth": row.depth, "path": row.path, "part": row.role, "type": row.type}
    if row.is_leaf:
        obj["hex"] = row.data.hex()
        if row.role != "error":
            obj["value"] = _json_value(row.value)
    if row.role == "value" and type(row.value) is int:
        named = with_name(row.name, row.value).partition(" ")[2]
        if named:
            obj["name"] = named
    if row.role == "bits":
        obj["name"] = row.name
    extras = {"note": row.note, "time_ms": row.time_ms, "view": row.view}
    obj |= {key: value for key, value in extras.items() if value not in ("", None)}
    if row.problem:
        obj |= {"error": row.problem, "at": row.at}
    return obj


def _json_value(value: object) -> object:
    if isinstance(value, UUID):
        return format_uuid(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value


class JsonView:
    """A line of JSON for each row."""

    def row(self, row: ByteRow) -> None:
        print_json(json_row(row))

    def finish(self) -> None:
        pass


class TextView:
    """A line for each row."""

    def __init__(self, *, full: bool, coloured: bool) -> None:
        """With `full`, a row shows all its bytes, on several lines."""
        self._full = full
        self._console: Any = None
        if coloured:
            from rich.console import Console

            self._console = Console(soft_wrap=True, highlight=False)
        self._line(_COLUMNS, "bold")

    def row(self, row: ByteRow) -> None:
        cell = cells(row, full=self._full)
        lines = hex_lines(row.data, full=self._full)
        marked = 0 if row.at is None else row.at - row.start
        if 0 < marked < len(row.data) and not self._full:
            lines = iter([f"+{marked} [{row.data[marked]:02x}] +{len(row.data) - marked - 1}"])
        style = "bold red" if row.problem else _STYLES.get(row.role, "")
        mark = "! " if row.problem else ""
        field = _INDENT * row.depth + mark + cell.field
        self._line((cell.range, next(lines), field, cell.type, cell.value), style)
        for more in lines:
            self._line(("", more, "", "", ""), style)

    def finish(self) -> None:
        pass

    def _line(self, cell: tuple[str, ...], style: str) -> None:
        padded = [text.ljust(width) for text, width in zip(cell, _WIDTHS, strict=False)]
        if self._console is None:
            if sys.stdout is not None:
                sys.stdout.write(" ".join((*padded, cell[-1])).rstrip() + "\n")
            return
        from rich.text import Text

        line = Text(f"{padded[0]} ", style="dim").append(f"{padded[1]} ", style="green not dim")
        line.append(f"{padded[2]} ", style=f"not dim {style}".strip())
        line.append(f"{padded[3]} ", style="dim").append(cell[-1], style=f"not dim {style}".strip())
        self._console.print(line)


def hex_lines(data: bytes, *, full: bool) -> Iterator[str]:
    """Yield bytes as lines of hex, at least one line."""
    if not full and len(data) > _BYTES_SHOWN:
        more = len(data) - _BYTES_BEFORE_MORE
        yield f"{data[:_BYTES_BEFORE_MORE].hex(' ')} +{more}"
        return
    for start in range(0, max(len(data), 1), _BYTES_SHOWN):
        yield data[start : start + _BYTES_SHOWN].hex(" ")
