"""Generated files on the disk: write what changed, delete what is stale, or show the drift.

A file is stale when it lies in the package's directory, was generated, and no longer
belongs to the set. Files that were not generated are somebody's own and are never touched.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kraftwire_generator.errors import Finding
from kraftwire_generator.output.package import Package
from kraftwire_generator.output.renderer import is_generated


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between a package and the disk."""

    written: tuple[Path, ...]
    removed: tuple[Path, ...]
    unchanged: int

    def __bool__(self) -> bool:
        return bool(self.written or self.removed)


def find_changes(package: Package, *, keep_others: bool) -> Changes:
    """Compare a package with the disk; `keep_others` leaves files of other runs alone."""
    written = [path for path, text in package.files.items() if _read(path) != text]
    removed = [] if keep_others else list(_stale(package))
    return Changes(tuple(written), tuple(removed), len(package.files) - len(written))


def foreign_files(changes: Changes) -> Iterator[Finding]:
    """The files that would be overwritten and are somebody's own; empty ones are not."""
    for path in changes.written:
        text = _read(path) if path.exists() else ""
        if text is None or (text.strip() and not is_generated(text)):
            problem = "kraftwire did not generate this file and leaves it; move it or rename it"
            yield Finding(path.as_posix(), 1, "", problem)


def apply_changes(package: Package, changes: Changes) -> None:
    """Bring the disk up to date."""
    for path in changes.written:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(package.files[path], encoding="utf-8", newline="\n")
    for path in changes.removed:
        path.unlink()


def show_changes(
    package: Package, changes: Changes, shown: Callable[[Path], str] = str
) -> Iterator[str]:
    """The differences as a unified diff, from the disk to what the specs say.

    `shown` makes the text of a path.
    """
    for path in changes.written:
        yield from _diff(shown(path), _read(path) or "", package.files[path])
    for path in changes.removed:
        yield from _diff(shown(path), _read(path) or "", "")


def _diff(path: str, old: str, new: str) -> Iterator[str]:
    names = (
        f"{path} (on disk)" if old else "/dev/null",
        f"{path} (from specs)" if new else "/dev/null",
    )
    diff = list(difflib.unified_diff(_lines(old), _lines(new), *names, lineterm=""))
    yield from diff or [f"{path}: the last line has no end"]


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _stale(package: Package) -> Iterator[Path]:
    for path in sorted(package.target.out.glob("*.py")):
        if path not in package.files and is_generated(_read(path) or ""):
            yield path


def _read(path: Path) -> str | None:
    """The text on disk; None where there is no file or it is not text."""
    try:
        return path.read_bytes().decode()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
