"""`set.toml`: the settings of a spec set. The file and each of its keys are optional.

title = "Apache Kafka"
release = "4.4.0"           # the Kafka release that the specs are from
base_release = "3.4"        # the release that a draft builds on
draft = false
[records]                   # log of records -> the module of its messages
cluster-metadata = "metadata"
[modules]                   # module -> its release, if it differs
raft = "4.3.1"
[control_records]           # message -> the type of the control records that contain it
AddVoterRecord = 0x7001     # (Kafka's own need no line)
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kraftwire_generator.errors import Finding
from kraftwire_generator.parser.message_parser import NOT_REGULAR

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
SHIPPED_CONTROL_TYPES = 7
"""Kafka uses the control record types below this one; drafts use this one and above."""
_ERROR_LINE = re.compile(r"\(at line ([0-9]+), ")


@dataclass(frozen=True)
class SetSettings:
    """The contents of a `set.toml`; `text` is the whole file, in which findings look up lines."""

    title: str
    release: str = ""
    base_release: str | None = None
    draft: bool = False
    records: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)
    control_records: Mapping[str, int] = field(default_factory=dict)
    text: str = ""


def read_settings(directory: Path) -> tuple[SetSettings, list[Finding]]:
    """Return the settings of a set and their problems; keys with problems keep their defaults."""
    path = directory / SETTINGS_FILE
    title = directory.resolve().name
    if not path.exists():
        return SetSettings(title), []
    if not path.is_file():  # a pipe would never end
        return SetSettings(title), [Finding(path.as_posix(), 1, "", NOT_REGULAR)]
    try:
        text = path.read_bytes().decode()
        values = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        match = _ERROR_LINE.search(str(error))
        line, problem = int(match[1]) if match else 1, f"cannot be read as TOML: {error}"
        return SetSettings(title), [Finding(path.as_posix(), line, "", problem)]
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
            problem_of = _control_type_problem if key == "control_records" else _text_problem
            problems = ((name, problem_of(entry)) for name, entry in value.items())
            found |= {(key, name): problem for name, problem in problems if problem}
    return found


def _text_problem(entry: object) -> str:
    return "" if isinstance(entry, str) else "must be text in double quotes"


def _control_type_problem(entry: object) -> str:
    if type(entry) is int and SHIPPED_CONTROL_TYPES <= entry <= 0x7FFF:
        return ""
    return f"must be a number from {SHIPPED_CONTROL_TYPES} to 0x7fff; Kafka uses those below"


def line_of(text: str, path: tuple[str, ...]) -> int:
    """Return the line that sets a key, or opens its table if the key is not found."""
    lines = text.splitlines()
    found = 0
    for key in path:
        setting = re.compile(rf"\s*\[?\s*[\"']?{re.escape(key)}[\"']?\s*[\]=.]")
        numbered = enumerate(lines[found:], start=found + 1)
        found = next((number for number, line in numbered if setting.match(line)), found)
    return found or 1
