"""Where files of a test lie: in a folder beside it, by module and test."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest

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


def _test(item: pytest.Item) -> str:
    """The test's name, behind that of its class where it has one."""
    names = [part.split("/")[-1] for part in item.nodeid.split("::")[1:]]
    return ".".join([*names[:-1], item.name]) if names else item.name
