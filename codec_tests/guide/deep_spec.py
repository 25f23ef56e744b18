"""A spec that nests as deeply as specs may: inline structs around common ones."""

from __future__ import annotations

from typing import Any

from kraftwire_generator.parser.json_text import DEEPEST_NESTING

from codec_tests.spec_files import field_spec, message_spec

# Each takes an object and a list, and JSON may nest as deeply as structs.
INLINE_DEEP = DEEPEST_NESTING // 2 - 4


def deepest_spec() -> dict[str, Any]:
    """The message `Deep`, flexible, with one field at the bottom of all structs."""
    names = [f"S{level}" for level in range(DEEPEST_NESTING)]
    inner = [field_spec("F", f"[]{name}") for name in names[1:]]
    common = [
        {"name": name, "versions": "0+", "fields": [field]}
        for name, field in zip(names, [*inner, field_spec()], strict=True)
    ]
    top = field_spec("Top", names[0])
    for level in range(INLINE_DEEP):
        top = field_spec(f"I{level}", f"[]I{level}", fields=[top])
    return message_spec("Deep", top, flexibleVersions="0+", commonStructs=common)
