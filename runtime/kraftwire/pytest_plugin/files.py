"""Where files of a test lie: in a folder beside it, by module and test; and writing them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest

from kraftwire.printing import printable

_UNSAFE = re.compile(r"[^A-Za-z0-9._=+-]+")
_MAX_NAME = 100


def file_of(item: pytest.Item, folder: str, name: str | None, suffix: str) -> Path:
    """`<folder>/<module>/<test><suffix>` beside the file of a test."""
    return item.path.parent / folder / item.path.stem / (safe_name(name or _test(item)) + suffix)


def safe_name(text: str) -> str:
    """A name for a file; what had to be changed is told apart by a digest."""
    name = _UNSAFE.sub("-", text).strip("-.")
    if name == text and len(name) <= _MAX_NAME:
        return name
    return f"{name[:_MAX_NAME]}-{sha256(text.encode()).hexdigest()[:8]}".lstrip("-")


def replace_file(path: Path, data: Iterable[bytes]) -> None:
    """Write a file, whole or not at all, whoever else writes it at the same time.

    Fails the test where that cannot be.
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
        pytest.fail(f"{shown(path)} cannot be written: {error.strerror or error}", pytrace=False)


def shown(path: Path) -> str:
    """A path from the folder of such files on, which is the same wherever the tests lie."""
    return "/".join(path.parts[-3:])


def printable_lines(text: str) -> str:
    """Lines without characters that a terminal would act on."""
    return "\n".join(map(printable, text.split("\n")))


def _test(item: pytest.Item) -> str:
    """The test's name, behind those of its classes; ids of parameters may have `::` too."""
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return ".".join([*classes, item.name])
