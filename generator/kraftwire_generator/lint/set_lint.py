"""Finds what is wrong between the spec files of one folder, such as two with one API key.

The rules are those of `check_set`. If a folder's `set.toml` says that it is not a draft, they apply
as in the generator. Any other folder counts as a draft: most findings are warnings there, and a
message may still lack its key. Unread files of the folder count as partners.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kraftwire_generator.checks.set_rules import check_set
from kraftwire_generator.errors import Finding
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.parser.set_settings import SETTINGS_FILE, read_settings

_WITHOUT_KEY = ("data", "header")


def lint_together(specs: Iterable[MessageSpec]) -> list[Finding]:
    """Return what is wrong between specs of the same folder."""
    folders: dict[Path, list[MessageSpec]] = {}
    for spec in (spec for spec in specs if spec.file.endswith(".json")):
        folders.setdefault(Path(spec.file).parent, []).append(spec)
    return [
        finding
        for folder, neighbours in folders.items()
        if len(neighbours) > 1
        for finding in _findings(folder, neighbours)
    ]


def _findings(folder: Path, specs: Sequence[MessageSpec]) -> list[Finding]:
    named = {file.stem for file in folder.glob("*.json")} | {spec.name for spec in specs}
    placed = [(folder.name, spec) for spec in specs]
    draft = _is_draft(folder)
    findings = check_set(placed, draft=draft, unread=named)
    if not draft:
        return findings
    keyed = [(module, s) for module, s in placed if s.api_key is not None or s.type in _WITHOUT_KEY]
    errors = [finding for finding in findings if finding.severity == "error"]
    return list(dict.fromkeys([*errors, *check_set(keyed, draft=True, unread=named)]))


def _is_draft(folder: Path) -> bool:
    for directory in (folder, folder.absolute().parent):
        if (directory / SETTINGS_FILE).is_file():
            settings, _ = read_settings(directory)
            return settings.draft
    return True
