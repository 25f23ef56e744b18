"""Small message specs, and spec sets on disk, for tests of the generator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def message_spec(name: str = "Simple", *fields: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A spec as a JSON object: a data message of version 0, unless the keys say otherwise."""
    spec = {"name": name, "type": "data", "validVersions": "0", "flexibleVersions": "none"}
    return {**spec, "fields": list(fields), **keys}


def field_spec(name: str = "Value", kind: str = "int32", /, **keys: Any) -> dict[str, Any]:
    """A field that all versions have, unless the keys say otherwise."""
    return {"name": name, "type": kind, "versions": "0+", **keys}


MOVED = message_spec(
    "Moved",
    field_spec("A", "int32", tag=0, taggedVersions="1+"),
    field_spec("B", "int32", tag=1, taggedVersions="0+"),
    validVersions="0-1",
    flexibleVersions="0+",
)
"""`A` is an ordinary field of version 0, to which version 1 gave a tag."""

MOVED_TOO_EARLY = bytes.fromhex("00000001" "01" "00" "04" "00000005")
"""Version 0 of `MOVED` with `A` twice, where it belongs and under its tag of version 1."""


def write_set(directory: Path, *specs: dict[str, Any], settings: str = "") -> Path:
    """A spec set on disk; a name such as `clients/Vote` puts a spec into a module."""
    for spec in specs:
        file = directory / f"{spec['name']}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({**spec, "name": Path(spec["name"]).name})
        file.write_text(text, encoding="utf-8")
    if settings:
        (directory / "set.toml").write_text(settings, encoding="utf-8")
    return directory
