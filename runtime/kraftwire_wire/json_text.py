"""Parses untrusted JSON: message bodies, cassettes, quorum-state, options.

Unlike `json`, raises ValueError if an object repeats a key, where a reviewer and a program could
read different values, and if the nesting is too deep for Python.
"""

from __future__ import annotations

import json
from typing import Any

_LONGEST_QUOTED_KEY = 40


class RepeatedKey(ValueError):
    """A JSON object has the same key more than once."""


def parse_json(text: str | bytes) -> Any:
    """Parse a JSON text; raise ValueError if it is not valid."""
    try:
        return json.loads(text, object_pairs_hook=_make_object)
    except RecursionError:
        raise _too_deep() from None


def parse_json_at(text: str, position: int) -> tuple[Any, int]:
    """Parse the value that starts at a position; return it and the position after it."""
    try:
        return _DECODER.raw_decode(text, position)
    except RecursionError:
        raise _too_deep() from None


def _make_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        seen: set[str] = set()
        for key, _ in members:
            if key in seen:
                raise RepeatedKey(
                    f"an object has the key {key[:_LONGEST_QUOTED_KEY]!r} more than once; "
                    "keep one of them"
                )
            seen.add(key)
    return found


def _too_deep() -> ValueError:
    return ValueError("it is nested too deeply")


_DECODER = json.JSONDecoder(object_pairs_hook=_make_object)
