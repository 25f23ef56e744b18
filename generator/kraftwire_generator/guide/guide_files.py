"""Writes the guide to disk, and deletes pages of earlier runs that no message needs any more.

A file belongs to the guide if an earlier run listed it in the manifest and it still carries our
marker. All other files are foreign: they are never deleted, and if one is in the way of a page,
nothing is written at all.
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
_OUR_NAMES = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)?\.(?:html|css|js)")
_MARK_WITHIN = 200


def find_changes(directory: Path, files: Mapping[str, str]) -> FileChanges:
    """Compare a guide with the disk; raise `CouldNotDoIt` if a foreign file is in the way."""
    known = _manifest(directory)
    ours = {name.lower() for name in known}
    # A file that goes may be the same as one that comes under a name in another case.
    going = {name.lower() for name in known if name not in files}
    written: dict[Path, str] = {}
    for name, text in files.items():
        data = _read(directory / name)
        if data == text.encode() and name.lower() not in going:
            continue
        if data and (name.lower() not in ours or not _has_mark(data)):
            raise CouldNotDoIt(f"{shown_path(directory / name)}: {FOREIGN}")
        written[directory / name] = text
    stale = (directory / name for name in known if name not in files)
    removed = tuple(path for path in stale if _may_be_deleted(path))
    return FileChanges(written, removed, len(files) - len(written))


def write_guide(directory: Path, files: Mapping[str, str], changes: FileChanges) -> None:
    """Bring the disk up to date.

    The manifest is written first and already names the new files, so that the next run
    recognises all files of a run that was interrupted.
    """
    directory.mkdir(parents=True, exist_ok=True)
    _write_manifest(directory, {*files, *_manifest(directory)})
    changes.apply()
    for folder in sorted({path.parent for path in changes.removed} - {directory}):
        if not any(folder.iterdir()):
            folder.rmdir()
    _write_manifest(directory, set(files))


def _manifest(directory: Path) -> list[str]:
    """Return the files that an earlier run wrote, ignoring names that no run would choose."""
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
    return [name for name in names if isinstance(name, str) and _OUR_NAMES.fullmatch(name)]


def _write_manifest(directory: Path, names: set[str]) -> None:
    text = json.dumps({"note": MARKER, "files": sorted(names)}, indent=1) + "\n"
    path = directory / MANIFEST
    if _read(path) != text.encode():
        path.write_text(text, encoding="utf-8", newline="\n")


def _may_be_deleted(path: Path) -> bool:
    # A file behind a link is elsewhere and not ours.
    is_link = path.parent.is_symlink() or path.is_symlink()
    return not is_link and _has_mark(_read(path) or b"")


def _has_mark(data: bytes) -> bool:
    return MARKER.encode() in data[:_MARK_WITHIN]


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
