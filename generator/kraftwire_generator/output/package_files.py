"""Compares a generated package with the files on disk.

A generated file in the package's directory is stale if no message of the set needs it. Files that
kraftwire did not generate are never overwritten or deleted.
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftwire_generator.errors import Finding
from kraftwire_generator.output.file_changes import FOREIGN, FileChanges, read_text
from kraftwire_generator.output.package import Package
from kraftwire_generator.output.renderer import is_generated


def find_changes(package: Package, *, keep_others: bool) -> FileChanges:
    """Return the files to write and delete; with `keep_others`, delete none."""
    written = {path: text for path, text in package.files.items() if read_text(path) != text}
    stale = (
        path
        for path in sorted(package.target.out.glob("*.py"))
        if path not in package.files and is_generated(read_text(path) or "")
    )
    unchanged = len(package.files) - len(written)
    return FileChanges(written, () if keep_others else tuple(stale), unchanged)


def foreign_files(changes: FileChanges) -> Iterator[Finding]:
    """Yield a finding for each non-empty file that would be overwritten but is not generated."""
    for path in changes.written:
        text = read_text(path) if path.exists() else ""
        if text is None or (text.strip() and not is_generated(text)):
            yield Finding(path.as_posix(), 1, "", FOREIGN)
