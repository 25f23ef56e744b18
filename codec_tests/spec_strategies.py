"""Random message specs over the whole language, all of them valid: a hypothesis strategy.

Names are drawn from those that could do harm: keywords, builtins, methods, and every name
that generated code refers to.
"""

from __future__ import annotations

import base64
import keyword
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

HOSTILE_TEXT = st.text(
    st.characters() | st.sampled_from("\"'\\\n\r\t\0{}%#\u2028\u2029\x85\u202e\u200f\ud800"),
    max_size=30,
) | st.sampled_from(['"""', "'''", '"""\nimport os\n"""', "\\", '\\"""', "{{ x }}", "{% x %}"])

FIELD_NAMES = sorted(
    {name.capitalize() for name in keyword.kwlist}
    | {"List", "Field", "Range", "Classmethod", "Int", "Str", "Bytes", "Float", "Bool", "Tuple"}
    | {"Decode", "Encode", "Codec", "ToJson", "FromJson", "HeaderVersion", "UnknownTaggedFields"}
    | {"Self", "Cls", "Message", "Reader", "Writer", "Version", "Tag", "Tags", "Dataclass", "Super"}
    | {"Object", "Property", "Type", "Fixed", "Layout", "Id", "Name", "Topics", "Partition"}
)
CLASS_NAMES = sorted(
    {name.capitalize() for name in keyword.kwlist}
    | {"Field", "Layout", "Message", "Struct", "UUID", "Reader", "Writer", "TagSection", "NEVER"}
    | {"ClassVar", "Self", "Registry", "LAYOUT", "Any", "Super", "Dataclass", "Fixed", "Init"}
    | {"List", "Int", "Str", "Range", "Vote", "Topic", "Annotations", "Object"}
)
_INTEGERS = {"int8": 7, "int16": 15, "uint16": 16, "int32": 31, "uint32": 32, "int64": 63}
_PRIMITIVES = [*_INTEGERS, "bool", "float64", "string", "uuid", "bytes", "records"]
_ELEMENTS = [*_INTEGERS, "bool", "float64", "string", "uuid"]


@dataclass
class _Builder:
    """What the parts of one spec have in common."""

    draw: Any
    flexible: int | None
    free: list[str] = field(default_factory=list)
    common: list[dict[str, Any]] = field(default_factory=list)

    def one_of(self, *items: Any) -> Any:
        return self.draw(st.sampled_from(items))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))  # type: ignore[no-any-return]

    def fields(self, low: int, high: int, depth: int, count: int) -> list[dict[str, Any]]:
        names = self.draw(
            st.lists(st.sampled_from(FIELD_NAMES), unique=True, min_size=1, max_size=count)
        )
        made = [self.field(name, low, high, depth) for name in names]
        if depth:
            # An array of structs that take no bytes is refused by readers as a false count.
            made.insert(0, {"name": "AlwaysThere", "type": "int8", "versions": "0+"})
        tagged = [item for item in made if "taggedVersions" in item]
        for item, tag in zip(tagged, self.draw(st.permutations(range(len(tagged)))), strict=True):
            item["tag"] = tag
        return made

    def field(self, name: str, low: int, high: int, depth: int) -> dict[str, Any]:
        start = self.number(low, high)
        end = self.number(start, high)
        versions = self.one_of(f"{start}+", f"{start}-{end}", "0+")
        spec: dict[str, Any] = {"name": name, "about": self.draw(HOSTILE_TEXT)}
        spec["ignorable"] = self.draw(st.booleans())
        self.type(spec, start, end if "-" in versions else high, depth)
        is_tagged = versions.endswith("+") and self.flexible is not None and self.one_of(0, 0, 1)
        if is_tagged and spec["type"] != "records":
            lowest = int(versions[:-1])
            spec["taggedVersions"] = f"{max(self.number(lowest, high), self.flexible or 0)}+"
        spec["versions"] = versions
        self.null_and_default(spec)
        if spec["type"] in ("string", "bytes") and "taggedVersions" not in spec:
            own = ["none"] if self.flexible is None else ["none", f"{self.flexible + 1}+"]
            if self.one_of(0, 0, 1):
                spec["flexibleVersions"] = self.one_of(*own)
        return spec

    def type(self, spec: dict[str, Any], low: int, high: int, depth: int) -> None:
        kind = self.one_of("primitive", "primitive", "array", "struct", "common")
        if kind == "struct" and depth < 2 and self.free:
            spec["type"] = self.one_of("", "[]") + self.free.pop()
            spec["fields"] = self.fields(low, high, depth + 1, 3)
        elif kind == "common" and self.common:
            spec["type"] = self.one_of("", "[]") + self.one_of(*self.common)["name"]
        elif kind == "array":
            spec["type"] = "[]" + self.one_of(*_ELEMENTS)
        else:
            spec["type"] = self.one_of(*_PRIMITIVES)

    def null_and_default(self, spec: dict[str, Any]) -> None:
        kind, versions = spec["type"], spec["versions"]
        nullable = kind in ("string", "bytes", "records") or not kind[0].islower()
        if nullable and self.one_of(0, 1):
            later = f"{self.number(1, 6)}+"
            spec["nullableVersions"] = versions if "taggedVersions" in spec else later
            if spec["nullableVersions"] == versions:
                spec["default"] = self.one_of("null", "")
        if "default" not in spec:
            default = self.default(kind)
            if default not in (None, "null"):
                spec["default"] = default

    def default(self, kind: str) -> str | None:
        if kind in _INTEGERS:
            bits = _INTEGERS[kind]
            lowest = 0 if kind.startswith("u") else -(1 << bits)
            return str(self.number(lowest, (1 << bits) - 1))
        if kind == "bool":
            return str(self.one_of("true", "false"))
        if kind == "float64":
            return str(self.one_of("0", "-0.0", "1.5", "1e400", "NaN", "-Infinity"))
        if kind == "uuid":
            raw = self.draw(st.binary(min_size=16, max_size=16))
            return base64.urlsafe_b64encode(raw).decode().rstrip("=")
        return str(self.draw(HOSTILE_TEXT)) if kind == "string" else None


@st.composite
def specs(draw: Any) -> dict[str, Any]:
    """A spec, as the JSON object of its file."""
    lowest = draw(st.integers(0, 3))
    highest = lowest + draw(st.integers(0, 4))
    flexible = draw(st.none() | st.integers(0, highest + 1))
    builder = _Builder(draw, flexible, draw(st.permutations(CLASS_NAMES)))
    name = builder.free.pop()
    for _ in range(draw(st.integers(0, 2))):
        fields = builder.fields(0, highest, 2, 2)
        builder.common.append({"name": builder.free.pop(), "versions": "0+", "fields": fields})
    return {
        "name": name if draw(st.booleans()) else builder.one_of(name.lower(), builder.free[0]),
        "type": draw(st.sampled_from(["data", "header", "metadata"])),
        "validVersions": f"{lowest}-{highest}",
        "flexibleVersions": "none" if flexible is None else f"{flexible}+",
        "fields": builder.fields(lowest, highest, 0, 6),
        "commonStructs": builder.common,
    }
