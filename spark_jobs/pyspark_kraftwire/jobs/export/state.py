"""What an export was begun with, kept beside its data: a resumed run must be the same run.

`_kraftwire/export.json` has how it is written, the options, and the size, the time of change
and the splits of every segment. Options of the file system are not kept: they have secrets,
and say nothing about the data.
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
_MEND = "take another directory, or remove this one to begin anew"


def fingerprint(
    splits: Iterable[Split], options: Mapping[str, str], how: Mapping[str, object]
) -> dict[str, Any]:
    """What makes an export the one it is; `how` is all but the options of the source."""
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
    """Begin an export in a directory, or go on with one that was begun; whether it goes on.

    `KraftwireError` where the directory has other data, or an export of something else.
    """
    data = output.read(_STATE)
    if data is None:
        if any(not name.startswith(f"{HIDDEN}/") for name in output.sizes()):
            reason = f"it has files, and none that says which export they are of; {_MEND}"
            raise KraftwireError(f"{output.path('').rstrip('/')}: {reason}")
        output.write(_STATE, json.dumps(state, indent=1).encode())
        return False
    try:
        before = json.loads(data)
        difference = _difference(before, json.loads(json.dumps(state)))
    except (ValueError, KeyError, TypeError, AttributeError):
        difference = "it cannot be read"
    if difference is not None:
        reason = f"it was begun by another run: {difference}; {_MEND}"
        raise KraftwireError(f"{output.path(_STATE)}: {reason}")
    output.clean()
    return True


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """The first thing in which two states differ, in words."""
    if before["form"] != now["form"]:
        return f"it is of form {before['form']}, and this version writes {now['form']}"
    for part, word in (("how", ""), ("options", "option ")):
        for name in sorted(before[part].keys() | now[part].keys()):
            then, wanted = before[part].get(name), now[part].get(name)
            if then != wanted:
                return f"{word}{name} was {_said(then)}, and is {_said(wanted)}"
    for file in sorted(before["files"].keys() | now["files"].keys()):
        then, there = before["files"].get(file), now["files"].get(file)
        if there is None:
            return f"the segment {file} is not there any more"
        if then is None:
            return f"the segment {file} has come since"
        if then["bytes"] != there["bytes"]:
            return f"the segment {file} had {then['bytes']} bytes, and has {there['bytes']}"
        if then != there:
            return f"the segment {file} has changed since"
    return None


def _said(value: object) -> str:
    return "not given" if value is None else json.dumps(value)
