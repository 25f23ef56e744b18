"""The state of an export, stored beside its data: only the same export can be resumed.

`_kraftwire/export.json` has the arguments, the options, and the size, modification time and splits
of every segment. File system options are not stored: they have secrets and do not affect the data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from kraftwire.log.sources.storage import LOCAL
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.jobs.export.outputs import OutputDirectory
from pyspark_kraftwire.options import FILE_SYSTEM
from pyspark_kraftwire.split import Split

HIDDEN = "_kraftwire"
_STATE = f"{HIDDEN}/export.json"
_FORM = 1
_ADVICE = "name another directory, or remove this one to start again"


def fingerprint(
    splits: Iterable[Split], options: Mapping[str, str], how: Mapping[str, object]
) -> dict[str, Any]:
    """Return what identifies an export; `how` is everything except the source's options."""
    files: dict[str, dict[str, Any]] = {}
    for split in splits:
        file = split.file
        name = file.full_name
        if name not in files:
            changed = file.path.stat().st_mtime_ns if file.storage is LOCAL else None
            files[name] = {"bytes": split.file_size, "changed": changed, "splits": []}
        files[name]["splits"].append([split.start, split.end])
    shown = {
        name.lower(): value
        for name, value in options.items()
        if not name.lower().startswith(FILE_SYSTEM)
    }
    return {"form": _FORM, "how": dict(how), "options": shown, "files": files}


def begin(output: OutputDirectory, state: Mapping[str, Any]) -> bool:
    """Start an export in a directory, or resume it; return whether it is resumed.

    Raise `KraftwireError` if the directory has other data, or another export.
    """
    data = output.read(_STATE)
    if data is None:
        if any(not name.startswith(f"{HIDDEN}/") for name in output.sizes()):
            reason = f"it has files, but no state of an export; {_ADVICE}"
            raise KraftwireError(f"{output.path('').rstrip('/')}: {reason}")
        output.write(_STATE, json.dumps(state, indent=1).encode())
        return False
    try:
        before = json.loads(data)
        difference = _difference(before, json.loads(json.dumps(state)))
    except (ValueError, KeyError, TypeError, AttributeError):
        difference = "it cannot be read"
    if difference is not None:
        reason = f"it belongs to another export: {difference}; {_ADVICE}"
        raise KraftwireError(f"{output.path(_STATE)}: {reason}")
    output.clean()
    return True


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Describe the first difference between two states."""
    if before["form"] != now["form"]:
        return f"its format is {before['form']}, this version writes {now['form']}"
    for part, word in (("how", ""), ("options", "option ")):
        for name in sorted(before[part].keys() | now[part].keys()):
            then, given = before[part].get(name), now[part].get(name)
            if then != given:
                return f"{word}{name} was {_format_value(then)}, now it is {_format_value(given)}"
    for file in sorted(before["files"].keys() | now["files"].keys()):
        then, current = before["files"].get(file), now["files"].get(file)
        if current is None:
            return f"the segment {file} no longer exists"
        if then is None:
            return f"the segment {file} is new"
        if then["bytes"] != current["bytes"]:
            return f"the segment {file} had {then['bytes']} bytes, now it has {current['bytes']}"
        if then != current:
            return f"the segment {file} has changed since"
    return None


def _format_value(value: object) -> str:
    return "not given" if value is None else json.dumps(value)
