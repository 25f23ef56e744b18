"""Which structs a message has, and which uses of a struct are wrong."""

from __future__ import annotations

import pytest

from kraftwire_generator.checks.structs import ResolvedMessage, placed_fields, resolve
from kraftwire_generator.errors import Finding
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.parser.json_text import DEEPEST_NESTING
from kraftwire_generator.parser.message_parser import parse_message


def resolve_text(
    fields: str, common: str = "", valid: str = "0-3"
) -> tuple[ResolvedMessage, list[Finding]]:
    text = (
        f'{{"name": "Ping", "type": "data", "validVersions": "{valid}",'
        f' "flexibleVersions": "none",\n"commonStructs": [{common}],\n"fields": [\n{fields}]}}'
    )
    spec, findings = parse_message(text, "ping.json")
    assert spec is not None
    assert findings == []
    return resolve(spec)


def field(name: str, type_text: str, versions: str = "0+", fields: str = "") -> str:
    inner = f', "fields": [{fields}]' if fields else ""
    return f'{{"name": "{name}", "type": "{type_text}", "versions": "{versions}"{inner}}}'


def struct(name: str, fields: str, versions: str = "0+") -> str:
    return f'{{"name": "{name}", "versions": "{versions}", "fields": [{fields}]}}'


X = field("X", "int8")


def test_inline_structs_come_depth_first_then_common_ones() -> None:
    deep = field("B", "Inner", "1+", X)
    fields = ", ".join(
        [
            field("A", "[]Outer", "1-2", f"{X}, {deep}"),
            field("C", "Last", "0+", X),
            field("D", "Shared"),
        ]
    )
    resolved, findings = resolve_text(fields, struct("Shared", X))
    assert findings == []
    assert list(resolved.structs) == ["Outer", "Inner", "Last", "Shared"]
    assert str(resolved.structs["Outer"].versions) == "1-2"
    assert str(resolved.structs["Inner"].versions) == "1+"
    assert [item.name for item in resolved.structs["Outer"].fields] == ["X", "B"]


def test_places_know_the_versions_around_them() -> None:
    fields = field("A", "Outer", "1-9", field("B", "Inner", "2+", X))
    resolved, _ = resolve_text(fields, struct("Shared", field("Y", "int8"), "3+"))
    places = {place.path: place for place in placed_fields(resolved.spec)}
    assert list(places) == ["A", "A.B", "A.B.X", "Shared.Y"]
    assert [str(place.within) for place in places.values()] == ["0-3", "1-3", "2-3", "3"]
    assert places["A.B"].effective_versions == VersionRange.parse("2-3")
    assert [place.is_top_level for place in places.values()] == [True, False, False, False]
    assert [place.in_common for place in places.values()] == [False, False, False, True]


ACCEPTED = [
    (field("A", "[]S"), struct("S", X)),
    (f'{field("A", "[]S")}, {field("B", "S")}', struct("S", X)),
    (field("A", "S"), struct("S", field("B", "[]T")) + ", " + struct("T", X)),
    (field("A", "S"), struct("S", "")),
    (field("A", "S", "1+"), struct("S", X, "1-3")),
    (field("A", "Ping", "0+", X), ""),
]


@pytest.mark.parametrize(("fields", "common"), ACCEPTED)
def test_accepted(fields: str, common: str) -> None:
    assert resolve_text(fields, common)[1] == []


REFUSED = [
    (field("A", "S"), "", "A", "the struct S does not exist"),
    (field("A", "[]S"), "", "A", "the struct S does not exist"),
    (field("A", "Int32"), "", "A", "write int32"),
    (f'{field("A", "S", fields=X)}, {field("B", "S", fields=X)}', "", "B", "is defined twice"),
    (field("A", "S", fields=field("B", "S", fields=X)), "", "A.B", "is defined twice"),
    (f'{field("A", "S", fields=X)}, {field("B", "S")}', "", "B", "is defined by another field"),
    (field("A", "S", fields=field("B", "[]S")), "", "A.B", "is defined by another field"),
    (field("A", "S", fields=X), struct("S", X), "A", "is a common struct already"),
    (field("A", "int8", fields=X), "", "A", "int8 is not a struct; remove fields"),
    (field("A", "S"), struct("S", X) + ", " + struct("S", X), "S", "is defined twice"),
    (field("A", "S"), struct("S", field("B", "T", fields=X)), "S.B", "hold no inline structs"),
    (field("A", "S"), struct("S", field("B", "[]S")), "S", "S -> S: a struct cannot contain"),
    (field("A", "S"), struct("S", X, "1-2"), "A", "exists in versions 1-2 only, this field in 0-3"),
    (field("A", "S", "2+"), struct("S", X, "3+"), "A", "this field in 2-3"),
    (
        field("A", "S"),
        struct("S", field("B", "T")) + ", " + struct("T", field("C", "[]S")),
        "S",
        "S -> T -> S",
    ),
    (field("A", "S"), struct("S", field("B", "T")) + ", " + struct("T", X, "1+"), "S.B", "in 0-3"),
]


@pytest.mark.parametrize(("fields", "common", "path", "phrase"), REFUSED)
def test_refused(fields: str, common: str, path: str, phrase: str) -> None:
    _, findings = resolve_text(fields, common)
    assert [(finding.path, finding.severity) for finding in findings] == [(path, "error")]
    assert phrase in findings[0].message
    assert findings[0].line == (2 if common and path[0] != "A" else 4)


def test_fields_of_an_array_of_primitives_are_a_warning() -> None:
    resolved, findings = resolve_text(field("A", "[]int8", fields=X))
    assert [finding.severity for finding in findings] == ["warning"]
    assert resolved.structs == {}


def test_a_removed_message_has_no_versions_to_fall_outside_of() -> None:
    assert resolve_text(field("A", "S"), struct("S", X, "1-2"), valid="none")[1] == []


def chain(levels: int, innermost: str = X) -> str:
    """Common structs `S0` around `S1` around ..., one a line, and the last one's fields."""
    structs = [struct(f"S{i}", field("A", f"S{i + 1}")) for i in range(levels - 1)]
    return ",\n".join([*structs, struct(f"S{levels - 1}", innermost)])


@pytest.mark.slow
def test_common_structs_nest_only_so_deep() -> None:
    assert resolve_text(field("A", "S0"), chain(DEEPEST_NESTING))[1] == []
    _, (finding,) = resolve_text(field("A", "S0"), chain(5000))
    assert finding.path == f"S{4999 - DEEPEST_NESTING}"
    assert "nested more than 100 levels deep; use fewer levels" in finding.message


@pytest.mark.parametrize("cycle_starts_at", [0, 2500, 4999])
def test_a_cycle_is_told_once_however_long_it_and_the_way_to_it_are(cycle_starts_at: int) -> None:
    common = chain(5000, field("A", f"S{cycle_starts_at}"))
    _, (finding,) = resolve_text(field("A", "S0"), common)
    assert finding.path == f"S{cycle_starts_at}"
    assert "a struct cannot contain itself" in finding.message
