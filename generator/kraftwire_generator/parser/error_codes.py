"""`error_codes.toml`: the names of a set's error codes, which specs do not contain.

[error_codes]
NOT_CONTROLLER = 41
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from kraftwire_generator.errors import Finding, SpecError
from kraftwire_generator.parser.set_settings import ERROR_CODES_FILE

_NAME = re.compile("[A-Z][A-Z0-9_]*")
_INT16 = range(-0x8000, 0x8000)


def read_error_codes(directory: Path) -> list[tuple[int, str]]:
    """Return number and name of each error code, by number; raise `SpecError` on a bad file."""
    file = directory / ERROR_CODES_FILE
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("error_codes")
    except (OSError, ValueError, RecursionError) as error:
        problem = f"cannot be read: {error}; `kraftwire specs import` writes this file"
        raise SpecError([Finding(file.as_posix(), 1, "", problem)]) from None
    if not isinstance(table, dict):
        problem = "the table error_codes is missing; `kraftwire specs import` writes it"
        raise SpecError([Finding(file.as_posix(), 1, "", problem)])
    findings = [
        Finding(file.as_posix(), 1, name, "an error code is an int16 such as NOT_CONTROLLER = 41")
        for name, number in table.items()
        if not _NAME.fullmatch(name) or type(number) is not int or number not in _INT16
    ]
    if findings:
        raise SpecError(findings)
    return sorted((number, name) for name, number in table.items())
