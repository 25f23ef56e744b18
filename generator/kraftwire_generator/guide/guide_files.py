"""The guide on the disk: write what changed, delete pages that no message has any more.

A file is ours when an earlier run listed it in the manifest and it still carries our mark.
Whatever else lies in the directory is somebody's own: it is never deleted, and where it stands
in the way of a page, nothing is written at all. Names that differ in case alone may be the
same file: what goes is deleted before anything is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kraftwire_generator.console import CouldNotDoIt, shown_path
from kraftwire_generator.guide.renderer import MARKER

MANIFEST = "kraftwire-guide.json"
_OUR_NAMES = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)?\.(?:html|css|js)")
_MARK_WITHIN = 200


@dataclass(frozen=True, slots=True)
class GuideChanges:
    """What differs between a guide and the disk; paths are relative to the directory."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: int


def find_changes(directory: Path, files: Mapping[str, str]) -> GuideChanges:
    """Compare a guide with the disk; `CouldNotDoIt` names a foreign file in the way."""
    known = _manifest(directory)
    ours = {name.lower() for name in known}
    going = {name.lower() for name in known if name not in files}
    written: list[str] = []
    for name, text in files.items():
        data = _read(directory / name)
        if data == text.encode() and name.lower() not in going:
            continue
        if data and (name.lower() not in ours or not _has_mark(data)):
            problem = "kraftwire docs did not write this file and leaves it; move it or rename it"
            raise CouldNotDoIt(f"{shown_path(directory / name)}: {problem}")
        written.append(name)
    removed = [name for name in known if name not in files and _is_ours(directory, name)]
    return GuideChanges(tuple(written), tuple(removed), len(files) - len(written))


def apply_changes(directory: Path, files: Mapping[str, str], changes: GuideChanges) -> None:
    """Bring the disk up to date.

    The manifest goes first and names what is about to be written too, so that a run that is
    cut short leaves nothing behind that the next one would not know.
    """
    directory.mkdir(parents=True, exist_ok=True)
    _write_manifest(directory, {*files, *_manifest(directory)})
    for name in changes.removed:
        (directory / name).unlink()
    for name in changes.written:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[name], encoding="utf-8", newline="\n")
    for folder in sorted({(directory / name).parent for name in changes.removed} - {directory}):
        if not any(folder.iterdir()):
            folder.rmdir()
    _write_manifest(directory, set(files))


def _manifest(directory: Path) -> list[str]:
    """The files that an earlier run wrote; only names that it could have given."""
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


def _is_ours(directory: Path, name: str) -> bool:
    """True for a file that may be deleted; one behind a link lies elsewhere and may not."""
    path = directory / name
    if path.parent.is_symlink() or path.is_symlink():
        return False
    return _has_mark(_read(path) or b"")


def _has_mark(data: bytes) -> bool:
    return MARKER.encode() in data[:_MARK_WITHIN]


def _read(path: Path) -> bytes | None:
    """The bytes on disk; None where there is no file."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
