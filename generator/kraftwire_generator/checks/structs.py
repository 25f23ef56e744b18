"""Which structs a message has, and whether every use of one finds its definition.

A struct is defined inline, by the one field that gives it `fields`, or in `commonStructs`,
where any field may use it. `placed_fields` walks all fields with the versions in which
their surroundings exist; resolve and check both work on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from kraftwire_generator.errors import Finding, Severity
from kraftwire_generator.language.field_types import (
    PRIMITIVES,
    Array,
    FieldType,
    Struct,
    element_of,
)
from kraftwire_generator.language.spec import FieldSpec, MessageSpec, StructSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.parser.json_text import DEEPEST_NESTING


@dataclass(frozen=True)
class ResolvedMessage:
    """A message and its structs by name: inline ones in order of appearance, then common ones."""

    spec: MessageSpec
    structs: Mapping[str, StructSpec]


@dataclass(frozen=True, slots=True)
class PlacedField:
    """A field, its path of spec names, and the versions in which its struct or message exists."""

    message: MessageSpec
    field: FieldSpec
    path: str
    within: VersionRange
    is_top_level: bool = False
    in_common: bool = False

    @property
    def effective_versions(self) -> VersionRange:
        """The versions in which the field can really occur."""
        return self.field.versions.intersect(self.within)


def struct_name(field_type: FieldType) -> str | None:
    """The struct that a type names, itself or as an array's element; None for any other."""
    element = element_of(field_type)
    return element.name if isinstance(element, Struct) else None


def placed_fields(spec: MessageSpec) -> Iterator[PlacedField]:
    """Every field of the message, then of its common structs, parents before children."""
    for field in spec.fields:
        within = spec.valid_versions
        yield from _placed(PlacedField(spec, field, field.name, within, is_top_level=True))
    for struct in spec.common_structs:
        within = struct.versions.intersect(spec.valid_versions)
        for field in struct.fields:
            path = f"{struct.name}.{field.name}"
            yield from _placed(PlacedField(spec, field, path, within, in_common=True))


def _placed(place: PlacedField) -> Iterator[PlacedField]:
    yield place
    for child in place.field.fields:
        yield from _placed(
            replace(
                place,
                field=child,
                path=f"{place.path}.{child.name}",
                within=place.effective_versions,
                is_top_level=False,
            )
        )


def resolve(spec: MessageSpec, *, complete: bool = True) -> tuple[ResolvedMessage, list[Finding]]:
    """The message with its structs, and every struct that is missing or defined wrongly.

    Of a message that is not `complete`, nothing is said to be missing.
    """
    findings: list[Finding] = []
    places = list(placed_fields(spec))
    common = _common_structs(spec, findings)
    inline = _inline_structs(spec, places, common, findings)
    for place in places:
        if not place.field.fields:
            problem = _reference_problem(place, inline, common, complete)
            if problem:
                findings.append(Finding(spec.file, place.field.line, place.path, problem))
    findings.extend(_nesting_findings(spec, common))
    return ResolvedMessage(spec, {**inline, **common}), findings


def _common_structs(spec: MessageSpec, findings: list[Finding]) -> dict[str, StructSpec]:
    found: dict[str, StructSpec] = {}
    for struct in spec.common_structs:
        if struct.name in found:
            sentence = f"the common struct {struct.name} is defined twice; remove one of the two"
            findings.append(Finding(spec.file, struct.line, struct.name, sentence))
        else:
            found[struct.name] = struct
    return found


def _inline_structs(
    spec: MessageSpec,
    places: list[PlacedField],
    common: Mapping[str, StructSpec],
    findings: list[Finding],
) -> dict[str, StructSpec]:
    found: dict[str, StructSpec] = {}
    for place in places:
        field = place.field
        if not field.fields:
            continue
        name = struct_name(field.type)
        if name is None:
            problem = f"{field.type} is no struct; remove fields, or name a struct as the type"
            # Kafka reads past the fields of an array of primitives.
            severity: Severity = "warning" if isinstance(field.type, Array) else "error"
            findings.append(Finding(spec.file, field.line, place.path, problem, severity))
            continue
        if place.in_common:
            problem = f"common structs hold no inline structs; move {name} to commonStructs"
        elif name in common:
            problem = f"{name} is a common struct already; remove fields, or rename one of the two"
        elif name in found:
            problem = f"the struct {name} is defined twice; move it to commonStructs, or rename one"
        else:
            found[name] = StructSpec(name, field.versions, field.fields, field.line)
            continue
        findings.append(Finding(spec.file, field.line, place.path, problem))
    return found


def _reference_problem(
    place: PlacedField,
    inline: Mapping[str, StructSpec],
    common: Mapping[str, StructSpec],
    complete: bool,
) -> str | None:
    """What is wrong with a field that uses a struct without defining it."""
    name = struct_name(place.field.type)
    if name is None:
        return None
    if name in common:
        outside = not common[name].versions.covers(place.effective_versions)
        return (
            f"{name} exists in versions {common[name].versions} only, this field in "
            f"{place.effective_versions}; make them agree"
            if outside
            else None
        )
    if name in inline:
        return f"{name} is another field's own struct; move it to commonStructs to use it here"
    if name.lower() in PRIMITIVES:
        return f"there is no struct {name}; write {name.lower()} for the type of that name"
    if not complete:
        return None
    return f"there is no struct {name}; give this field fields, or define it in commonStructs"


def _nesting_findings(spec: MessageSpec, common: Mapping[str, StructSpec]) -> list[Finding]:
    """Common structs that contain themselves, each cycle told once, or that nest too deeply."""
    uses = {name: _used_structs(struct) & common.keys() for name, struct in common.items()}
    depths = _depths(uses)
    # What is left leads into a cycle; without what only leads there, it lies in or between two.
    leading = {name: used - depths.keys() for name, used in uses.items() if name not in depths}
    before = _depths(_users(leading))
    cyclic = {name: sorted(leading[name]) for name in leading if name not in before}
    problems: dict[str, str] = {
        name: f"nested more than {DEEPEST_NESTING} levels deep; use fewer levels"
        for name, depth in depths.items()
        if depth == DEEPEST_NESTING + 1  # those around it are deeper still
    }
    told: set[str] = set()
    for name in cyclic:
        cycle = () if name in told else _way_back(name, cyclic)
        if cycle:
            told.update(cycle)
            way = " -> ".join((*cycle, name))
            problems[name] = f"{way}: a struct cannot contain itself; break this up"
    return [
        Finding(spec.file, common[name].line, name, problem) for name, problem in problems.items()
    ]


def _used_structs(struct: StructSpec) -> set[str]:
    return {name for field in struct.fields if (name := struct_name(field.type)) is not None}


def _users(uses: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """The reverse of `uses`: by which structs each one is used."""
    found: dict[str, set[str]] = {name: set() for name in uses}
    for name, used_names in uses.items():
        for used in used_names:
            found[used].add(name)
    return found


def _depths(uses: Mapping[str, Collection[str]]) -> dict[str, int]:
    """How many levels of structs each struct is; those that lead into a cycle are left out."""
    users = _users(uses)
    unknown = {name: len(used) for name, used in uses.items()}
    depths = dict.fromkeys((name for name, count in unknown.items() if not count), 1)
    ready = list(depths)
    lowest = dict.fromkeys(uses, 1)
    while ready:
        name = ready.pop()
        for user in users[name]:
            lowest[user] = max(lowest[user], depths[name] + 1)
            unknown[user] -= 1
            if not unknown[user]:
                depths[user] = lowest[user]
                ready.append(user)
    return depths


def _way_back(start: str, uses: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """The structs from `start` through its uses back to it, () where no way leads back."""
    came_from: dict[str, str] = {}
    open_ends = [start]
    while open_ends:
        name = open_ends.pop()
        for used in uses[name]:
            if used == start:
                way = [name]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return tuple(reversed(way))
            if used not in came_from:
                came_from[used] = name
                open_ends.append(used)
    return ()
