"""Small message specs, parsed specs, spec sets on disk and jars, for tests of the generator."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kraftwire_generator.checks.message_rules import check_spec
from kraftwire_generator.checks.structs import ResolvedMessage, resolve
from kraftwire_generator.errors import Finding
from kraftwire_generator.parser.message_parser import parse_message


def message_spec(name: str = "Simple", *fields: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """Return a spec as a JSON object: a data message of version 0, unless `keys` differ."""
    spec = {"name": name, "type": "data", "validVersions": "0", "flexibleVersions": "none"}
    return {**spec, "fields": list(fields), **keys}


def field_spec(name: str = "Value", kind: str = "int32", /, **keys: Any) -> dict[str, Any]:
    """Return a field that all versions have, unless `keys` differ."""
    return {"name": name, "type": kind, "versions": "0+", **keys}


MOVED = message_spec(
    "Moved",
    field_spec("A", "int32", tag=0, taggedVersions="1+"),
    field_spec("B", "int32", tag=1, taggedVersions="0+"),
    validVersions="0-1",
    flexibleVersions="0+",
)
"""`A` is an ordinary field in version 0, and tagged from version 1 on."""

MOVED_TOO_EARLY = bytes.fromhex("00000001" "01" "00" "04" "00000005")
"""Version 0 of `MOVED` with `A` twice: in its place, and under the tag of version 1."""


def check_json(
    spec: dict[str, Any] | str, file: str = "spec.json"
) -> tuple[ResolvedMessage | None, list[Finding]]:
    """Parse and check a spec, given as a JSON object or as text."""
    parsed, findings = parse_message(spec if isinstance(spec, str) else json.dumps(spec), file)
    if parsed is None:
        return None, findings
    resolved, problems = check_spec(parsed)
    return resolved, [*findings, *problems]


def resolve_json(spec: dict[str, Any] | str, file: str = "spec.json") -> ResolvedMessage:
    """Parse and resolve a spec that can be parsed; its other errors do not matter."""
    parsed, findings = parse_message(spec if isinstance(spec, str) else json.dumps(spec), file)
    assert parsed is not None, findings
    return resolve(parsed)[0]


def write_set(directory: Path, *specs: dict[str, Any], settings: str = "") -> Path:
    """Write a spec set; a name such as `clients/Vote` puts a spec into a module."""
    for spec in specs:
        file = directory / f"{spec['name']}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({**spec, "name": Path(spec["name"]).name})
        file.write_text(text, encoding="utf-8")
    if settings:
        (directory / "set.toml").write_text(settings, encoding="utf-8")
    return directory


def write_jar(path: Path, files: Mapping[str, str | bytes]) -> str:
    """Write a jar with these files, and return its path as a command takes it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        for name, data in files.items():
            jar.writestr(name, data)
    return str(path)
