"""Reports frequent mistakes of drafts, with the correction that was probably meant.

It also corrects the object, so that the generator's rules, which run afterwards, do not report the
mistake a second time.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from kraftwire_generator.errors import Finding, Severity
from kraftwire_generator.language.field_types import PRIMITIVES
from kraftwire_generator.language.spec import field_path
from kraftwire_generator.parser.json_text import JsonObject
from kraftwire_generator.parser.message_parser import FIELD_KEYS, MESSAGE_KEYS, STRUCT_KEYS

_NUMBER = re.compile(r"\s*[+-]?[0-9]+\s*")
_DIGITS = re.compile(r"[0-9]+")
_BRACKETED = re.compile(r"\[\s*([A-Za-z][A-Za-z0-9]*)\s*\]")
_LIKENESS = 0.8


def fix_mistakes(message: JsonObject, file: str, *, sure_of_keys: bool = True) -> list[Finding]:
    """Fix the mistakes of a message, and return them; skip misspelt keys if not `sure_of_keys`."""
    fixer = _MistakeFixer(file, sure_of_keys)
    fixer.message(message)
    return fixer.findings


def fill_in(objects: Sequence[JsonObject], message: JsonObject) -> None:
    """Add the required keys to objects that are incomplete because of `...`."""
    for source in objects:
        if source is message:
            missing = {"validVersions": "none", "flexibleVersions": "none", "type": "data"}
        else:
            missing = {"type": "bytes", "versions": "0+"}
        for key, text in {"name": "Unnamed", **missing}.items():
            source.members.setdefault(key, text)


def has_placeholder(message: JsonObject) -> bool:
    """Whether the API key is a word such as TBD or N."""
    key = message.members.get("apiKey")
    return isinstance(key, str) and not _NUMBER.fullmatch(key)


class _MistakeFixer:
    def __init__(self, file: str, sure_of_keys: bool) -> None:
        self._file = file
        self._sure_of_keys = sure_of_keys
        self.findings: list[Finding] = []

    def _report(
        self, source: JsonObject, key: str, path: str, text: str, severity: Severity = "error"
    ) -> None:
        line = source.key_lines.get(key, source.line)
        self.findings.append(Finding(self._file, line, path, text, severity))

    def message(self, source: JsonObject) -> None:
        self._misspelt_keys(source, MESSAGE_KEYS, "")
        self._placeholder(source)
        for key, known in (("fields", FIELD_KEYS), ("commonStructs", STRUCT_KEYS)):
            for child in objects_in(source, key):
                self._object(child, known, "")

    def _object(self, source: JsonObject, known: Sequence[str], parent: str) -> None:
        name = source.members.get("name")
        here = name if isinstance(name, str) else "?"
        path = field_path(parent, here)
        self._misspelt_keys(source, known, path)
        if known is FIELD_KEYS:
            self._bracketed_type(source, path)
            self._doubtful_type(source, path, here)
        for child in objects_in(source, "fields"):
            self._object(child, FIELD_KEYS, path)

    def _misspelt_keys(self, source: JsonObject, known: Sequence[str], path: str) -> None:
        unknown = [key for key in source.members if key not in known]
        for key in unknown if self._sure_of_keys else ():
            absent = [name for name in known if name not in source.members]
            near = difflib.get_close_matches(key[:40], absent, n=1, cutoff=_LIKENESS)
            if near:
                self._report(source, key, path, f"{key!r} is not a key; write {near[0]!r}")
                source.members[near[0]] = source.members.pop(key)
                source.key_lines[near[0]] = source.key_lines.pop(key)

    def _placeholder(self, source: JsonObject) -> None:
        key = source.members.get("apiKey")
        if not isinstance(key, str) or not has_placeholder(source):
            return
        digits = _DIGITS.search(key)
        advice = f", or write {digits.group()} if that is its number" if digits else ""
        self._report(
            source,
            "apiKey",
            "",
            f"apiKey {key[:40]!r} is a placeholder, not a number; leave the key out until the "
            f"message has one{advice}",
        )
        del source.members["apiKey"]

    def _bracketed_type(self, source: JsonObject, path: str) -> None:
        text = source.members.get("type")
        match = _BRACKETED.fullmatch(text.strip()) if isinstance(text, str) else None
        if match:
            meant = f"[]{match[1]}"
            self._report(
                source, "type", path, f"{text!r} is not a type; write {meant!r} for an array"
            )
            source.members["type"] = meant

    def _doubtful_type(self, source: JsonObject, path: str, name: str) -> None:
        """Warn about an unlikely type, such as a bool whose name ends in Id."""
        text = source.members.get("type")
        if not isinstance(text, str) or text not in PRIMITIVES:
            return
        if name.endswith(("Uuid", "UUID")) and text != "uuid":
            self._report(source, "type", path, f"{name} is of type {text}; write uuid", "warning")
        elif name.endswith("Id") and text in ("bool", "float64"):
            advice = "an id is an integer, a string or a uuid"
            self._report(source, "type", path, f"{name} is of type {text}; {advice}", "warning")


def objects_in(source: JsonObject, key: str) -> list[JsonObject]:
    """Return the objects under a key, whose value may be one object or a list of them."""
    value = source.members.get(key)
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, JsonObject)]
