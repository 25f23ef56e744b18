"""Names and writes the files of a test, in a folder beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest

_UNSAFE = re.compile(r"[^A-Za-z0-9._=+-]+")
_MAX_NAME = 100


def file_of(item: pytest.Item, folder: str, name: str | None, suffix: str) -> Path:
    """Return `<folder>/<module>/<test><suffix>` beside the file of a test."""
    return item.path.parent / folder / item.path.stem / (safe_name(name or _test(item)) + suffix)


def safe_name(text: str) -> str:
    """Return a name for a file; if it differs from the text, a digest keeps it unique."""
    name = _UNSAFE.sub("-", text).strip("-.")
    if name == text and len(name) <= _MAX_NAME:
        return name
    return f"{name[:_MAX_NAME]}-{sha256(text.encode()).hexdigest()[:8]}".lstrip("-")


def replace_file(path: Path, data: Iterable[bytes]) -> None:
    """Replace a file atomically, even if others write it at the same time.

    Fail the test if the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{uuid4().hex}.unfinished")
        try:
            with unfinished.open("xb") as stream:
                stream.writelines(data)
            os.replace(unfinished, path)  # noqa: PTH105
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        pytest.fail(
            f"{short_path(path)} cannot be written: {error.strerror or error}", pytrace=False
        )


def short_path(path: Path) -> str:
    """Return the last parts of a path, which are the same wherever the tests are."""
    return "/".join(path.parts[-3:])


def _test(item: pytest.Item) -> str:
    """Return the names of a test's classes and its own; `::` also occurs in ids of parameters."""
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return ".".join([*classes, item.name])
