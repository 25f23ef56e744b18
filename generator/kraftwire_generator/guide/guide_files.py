"""Writes the guide to disk, and deletes pages of earlier runs that no message needs any more.

A file belongs to the guide if an earlier run listed it in the manifest and the file still has the
marker. All other files are foreign: they are never deleted, and if one has the name of a page,
nothing is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from kraftwire_generator.console import CouldNotDoIt, shown_path
from kraftwire_generator.guide.renderer import MARKER
from kraftwire_generator.output.file_changes import FOREIGN, FileChanges

MANIFEST = "kraftwire-guide.json"
_GUIDE_NAMES = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)?\.(?:html|css|js)")
_MARK_WITHIN = 200


def find_changes(directory: Path, files: Mapping[str, str]) -> FileChanges:
    """Compare a guide with the files on disk; raise `CouldNotDoIt` if one to write is foreign."""
    known = _manifest(directory)
    own = {name.lower() for name in known}
    # On some systems, a file to delete is also a file to write, if the names differ only in case.
    stale_names = {name.lower() for name in known if name not in files}
    written: dict[Path, str] = {}
    for name, text in files.items():
        data = _read(directory / name)
        if data == text.encode() and name.lower() not in stale_names:
            continue
        if data and (name.lower() not in own or not _has_mark(data)):
            raise CouldNotDoIt(f"{shown_path(directory / name)}: {FOREIGN}")
        written[directory / name] = text
    stale = (directory / name for name in known if name not in files)
    removed = tuple(path for path in stale if _may_be_deleted(path))
    return FileChanges(written, removed, len(files) - len(written))


def write_guide(directory: Path, files: Mapping[str, str], changes: FileChanges) -> None:
    """Write and delete the files.

    The manifest is written first, with old and new files, so that the next run recognises all files
    of a run that was interrupted.
    """
    directory.mkdir(parents=True, exist_ok=True)
    _write_manifest(directory, {*files, *_manifest(directory)})
    changes.apply()
    for folder in sorted({path.parent for path in changes.removed} - {directory}):
        if not any(folder.iterdir()):
            folder.rmdir()
    _write_manifest(directory, set(files))


def _manifest(directory: Path) -> list[str]:
    """Return the files that an earlier run wrote; ignore names that no run chooses."""
    path = directory / MANIFEST
    data = _read(path)
    if data is None:
        return []
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    names = value.get("files") if isinstance(value, dict) else None
    if not isinstance(names, list):
        problem = "it is not the list of files that kraftwire docs writes; move it or delete it"
        raise CouldNotDoIt(f"{shown_path(path)}: {problem}")
    return [name for name in names if isinstance(name, str) and _GUIDE_NAMES.fullmatch(name)]


def _write_manifest(directory: Path, names: set[str]) -> None:
    text = json.dumps({"note": MARKER, "files": sorted(names)}, indent=1) + "\n"
    path = directory / MANIFEST
    if _read(path) != text.encode():
        path.write_text(text, encoding="utf-8", newline="\n")


def _may_be_deleted(path: Path) -> bool:
    # A link leads to a file elsewhere, which no run wrote.
    is_link = path.parent.is_symlink() or path.is_symlink()
    return not is_link and _has_mark(_read(path) or b"")


def _has_mark(data: bytes) -> bool:
    return MARKER.encode() in data[:_MARK_WITHIN]


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
