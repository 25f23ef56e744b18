"""The files that a run writes and deletes; shows or applies these changes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kraftwire_generator.console import count_text, shown_path

FOREIGN = "kraftwire did not write this file and will not overwrite it; move it or rename it"


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The differences between the output of a run and the files on disk."""

    written: Mapping[Path, str]
    removed: tuple[Path, ...]
    unchanged: int

    def __bool__(self) -> bool:
        return bool(self.written or self.removed)

    @property
    def summary(self) -> str:
        """The counts, in words."""
        written = count_text(len(self.written), "file")
        return f"{written} written, {len(self.removed)} deleted, {self.unchanged} unchanged"

    def apply(self) -> None:
        """Delete and write the files.

        Deletes first: names that differ only in case may be the same file.
        """
        for path in self.removed:
            path.unlink()
        for path, text in self.written.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")

    def diff(self) -> Iterator[str]:
        """Yield the lines of a unified diff, from the files on disk to the output of the run."""
        for path in (*self.written, *self.removed):
            yield from diff_lines(path, read_text(path) or "", self.written.get(path, ""))


def diff_lines(path: Path, old: str, new: str) -> Iterator[str]:
    """Yield the lines of a unified diff of one file."""
    shown = shown_path(path)
    names = (
        f"{shown} (on disk)" if old else "/dev/null",
        f"{shown} (from specs)" if new else "/dev/null",
    )
    diff = list(difflib.unified_diff(_lines(old), _lines(new), *names, lineterm=""))
    yield from diff or [f"{shown}: the last line does not end in a newline"]


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def read_text(path: Path) -> str | None:
    """Return the text of a file, or None if it does not exist or is not UTF-8."""
    try:
        return path.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        return None
