"""Parses JSON text from outside: message bodies, cassettes, quorum-state, options.

`json` alone takes the last of two equal keys, so a reviewer and a program could read different
values from one text, and nests until Python gives up. Here both raise ValueError.
"""

from __future__ import annotations

import json
from typing import Any

_LONGEST_QUOTED_KEY = 40


class RepeatedKey(ValueError):
    """An object has the same key more than once."""


def parse_json(text: str | bytes) -> Any:
    """Return the value that the text holds; raise ValueError if it is not JSON."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise _too_deep() from None


def parse_json_at(text: str, position: int) -> tuple[Any, int]:
    """Return the value that starts at a position, and the position after it."""
    try:
        return _DECODER.raw_decode(text, position)
    except RecursionError:
        raise _too_deep() from None


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
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


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
