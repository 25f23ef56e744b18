"""`set.toml`: what a spec set says about itself. The file and each of its keys may be absent.

title = "Apache Kafka"
release = "4.4.0"           # whose facts the specs hold
base_release = "3.4"        # what a draft builds on
draft = false
[records]                   # record log -> the module of its messages
cluster-metadata = "metadata"
[modules]                   # module -> its release, where it differs
raft = "4.3.1"
[control_records]           # message -> the type of the control records that hold it
AddVoterRecord = 0x7001     # (those of Kafka need no line)
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kraftwire_generator.errors import Finding

SETTINGS_FILE = "set.toml"
ERROR_CODES_FILE = "error_codes.toml"
_KINDS: dict[str, tuple[type, str]] = {
    "title": (str, "text in double quotes"),
    "release": (str, "text in double quotes"),
    "base_release": (str, "text in double quotes"),
    "draft": (bool, "true or false"),
    "records": (dict, "a table of names in double quotes"),
    "modules": (dict, "a table of releases in double quotes"),
    "control_records": (dict, "a table of numbers"),
}
_NUMBERS = ("control_records",)
SHIPPED_CONTROL_TYPES = 7
"""Kafka has given the types below this; drafts take theirs from above."""
_ERROR_LINE = re.compile(r"\(at line ([0-9]+), ")


@dataclass(frozen=True)
class SetSettings:
    """The contents of a `set.toml`; `text` is the whole of it, for the lines of findings."""

    title: str
    release: str = ""
    base_release: str | None = None
    draft: bool = False
    records: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)
    control_records: Mapping[str, int] = field(default_factory=dict)
    text: str = ""


def read_settings(directory: Path) -> tuple[SetSettings, list[Finding]]:
    """The set's settings; whatever is wrong with them is left at its default."""
    path = directory / SETTINGS_FILE
    title = directory.resolve().name
    if not path.exists():
        return SetSettings(title), []
    if not path.is_file():  # a pipe would never end
        return SetSettings(title), [
            Finding(path.as_posix(), 1, "", "is no regular file; replace it with one")
        ]
    try:
        text = path.read_bytes().decode()
        values = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        match = _ERROR_LINE.search(str(error))
        problem = f"cannot be read as TOML: {error}"
        return SetSettings(title), [
            Finding(path.as_posix(), int(match[1]) if match else 1, "", problem)
        ]
    problems = _problems(values)
    good = {
        key: value
        for key, value in values.items()
        if key in _KINDS and not any(path[0] == key for path in problems)
    }
    findings = [
        Finding(path.as_posix(), line_of(text, where), ".".join(where), problem)
        for where, problem in problems.items()
    ]
    return SetSettings(**{"title": title, **good, "text": text}), findings


def _problems(values: Mapping[str, object]) -> dict[tuple[str, ...], str]:
    """What is wrong, by the path of its key."""
    found: dict[tuple[str, ...], str] = {}
    for key, value in values.items():
        if key not in _KINDS:
            near = difflib.get_close_matches(key, _KINDS, n=1)
            advice = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(_KINDS)}"
            found[(key,)] = f"unknown key; {advice}"
            continue
        kind, description = _KINDS[key]
        if not isinstance(value, kind):
            found[(key,)] = f"must be {description}"
        elif isinstance(value, dict):
            wrong = _wrong_number if key in _NUMBERS else _wrong_text
            found.update(
                {(key, name): why for name, entry in value.items() if (why := wrong(entry))}
            )
    return found


def _wrong_text(entry: object) -> str:
    return "" if isinstance(entry, str) else "must be text in double quotes"


def _wrong_number(entry: object) -> str:
    """Types of control records are int16, and none of them is negative."""
    if type(entry) is int and SHIPPED_CONTROL_TYPES <= entry <= 0x7FFF:
        return ""
    return f"must be a number from {SHIPPED_CONTROL_TYPES} to 0x7fff; Kafka has given those below"


def line_of(text: str, path: tuple[str, ...]) -> int:
    """The line that sets a key or opens its table; that of the table where the key is not seen."""
    lines = text.splitlines()
    found = 0
    for key in path:
        wanted = re.compile(rf"\s*\[?\s*[\"']?{re.escape(key)}[\"']?\s*[\]=.]")
        numbered = enumerate(lines[found:], start=found + 1)
        found = next((number for number, line in numbered if wanted.match(line)), found)
    return found or 1
