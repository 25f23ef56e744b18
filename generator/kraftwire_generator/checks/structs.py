"""Resolves the struct names of a message, and reports names without a struct.

A struct is defined inline, by the field that has its `fields`, and only that field uses it; or it
is defined in `commonStructs`, and any field may use it. Entry points: `resolve`, and
`placed_fields`, which walks all fields.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from kraftwire_generator.errors import Finding, Severity
from kraftwire_generator.language.field_types import PRIMITIVES, Array
from kraftwire_generator.language.spec import FieldSpec, MessageSpec, StructSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.parser.json_text import DEEPEST_NESTING

_Structs = Mapping[str, StructSpec]


@dataclass(frozen=True)
class ResolvedMessage:
    """A message and its structs by name: inline ones in order of appearance, then common ones."""

    spec: MessageSpec
    structs: _Structs


@dataclass(frozen=True, slots=True)
class PlacedField:
    """A field, its path, and the versions of the struct or message that contains it (`within`)."""

    message: MessageSpec
    field: FieldSpec
    path: str
    within: VersionRange
    is_top_level: bool = False
    in_common: bool = False

    @property
    def effective_versions(self) -> VersionRange:
        """The versions in which the field occurs."""
        return self.field.versions.intersect(self.within)

    def finding(self, problem: str, severity: Severity = "error") -> Finding:
        """Return a finding about this field."""
        return Finding(self.message.file, self.field.line, self.path, problem, severity)


def placed_fields(spec: MessageSpec) -> Iterator[PlacedField]:
    """Yield every field of the message, then of its common structs, parents before children."""
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
    within = place.effective_versions
    for child in place.field.fields:
        path = f"{place.path}.{child.name}"
        yield from _placed(
            replace(place, field=child, path=path, within=within, is_top_level=False)
        )


def resolve(spec: MessageSpec, *, complete: bool = True) -> tuple[ResolvedMessage, list[Finding]]:
    """Return the message with its structs, and a finding for each wrong definition or use.

    If the message is not `complete`, no struct is reported as missing.
    """
    findings: list[Finding] = []
    places = list(placed_fields(spec))
    common: dict[str, StructSpec] = {}
    for struct in spec.common_structs:
        if common.setdefault(struct.name, struct) is not struct:
            problem = f"the common struct {struct.name} is defined twice; remove one of the two"
            findings.append(Finding(spec.file, struct.line, struct.name, problem))
    inline: dict[str, StructSpec] = {}
    for place in places:
        if place.field.fields:
            findings += _define(place, inline, common)
    for place in places:
        if not place.field.fields:
            reason = _reference_problem(place, inline, common, complete)
            if reason is not None:
                findings.append(place.finding(reason))
    findings += _nesting_findings(spec, common)
    return ResolvedMessage(spec, {**inline, **common}), findings


def _define(
    place: PlacedField, inline: dict[str, StructSpec], common: _Structs
) -> Iterator[Finding]:
    """Add the struct that a field defines to `inline`, or report why it cannot be one."""
    field, name = place.field, place.field.struct_name
    if name is None:
        # Kafka skips the fields of an array of primitives.
        severity: Severity = "warning" if isinstance(field.type, Array) else "error"
        problem = f"{field.type} is not a struct; remove fields, or name a struct as the type"
        yield place.finding(problem, severity)
    elif place.in_common:
        yield place.finding(f"common structs hold no inline structs; move {name} to commonStructs")
    elif name in common:
        problem = f"{name} is a common struct already; remove fields, or rename one of the two"
        yield place.finding(problem)
    elif name in inline:
        problem = f"the struct {name} is defined twice; move it to commonStructs, or rename one"
        yield place.finding(problem)
    else:
        inline[name] = StructSpec(name, field.versions, field.fields, field.line)


def _reference_problem(
    place: PlacedField, inline: _Structs, common: _Structs, complete: bool
) -> str | None:
    """Return what is wrong with a field that uses a struct without defining it."""
    name = place.field.struct_name
    if name is None:
        return None
    if name in common:
        versions = common[name].versions
        if versions.covers(place.effective_versions):
            return None
        return (
            f"{name} exists in versions {versions} only, this field in "
            f"{place.effective_versions}; make them agree"
        )
    if name in inline:
        return f"{name} is defined by another field; move it to commonStructs to use it here"
    if name.lower() in PRIMITIVES:
        return f"the struct {name} does not exist; write {name.lower()} for the primitive type"
    if not complete:
        return None
    return f"the struct {name} does not exist; add fields here, or define it in commonStructs"


# -- nesting -------------------------------------------------------------------------------------


def _nesting_findings(spec: MessageSpec, common: _Structs) -> list[Finding]:
    """Report common structs that nest too deeply, and each cycle of them once."""
    uses = {name: _used_structs(struct) & common.keys() for name, struct in common.items()}
    depths = _depths(uses)
    # The structs without a depth are in a cycle or lead into one. The latter are removed in the
    # same way, with the uses reversed.
    leading = {name: used - depths.keys() for name, used in uses.items() if name not in depths}
    before = _depths(_users(leading))
    cyclic = {name: sorted(leading[name]) for name in leading if name not in before}
    problems: dict[str, str] = {
        name: f"nested more than {DEEPEST_NESTING} levels deep; use fewer levels"
        for name, depth in depths.items()
        if depth == DEEPEST_NESTING + 1  # the structs around it are deeper still
    }
    reported: set[str] = set()
    for name in cyclic:
        cycle = () if name in reported else _way_back(name, cyclic)
        if cycle:
            reported.update(cycle)
            way = " -> ".join((*cycle, name))
            problems[name] = f"{way}: a struct cannot contain itself; break this up"
    return [
        Finding(spec.file, common[name].line, name, problem) for name, problem in problems.items()
    ]


def _used_structs(struct: StructSpec) -> set[str]:
    return {field.struct_name for field in struct.fields if field.struct_name is not None}


def _users(uses: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """Return which structs use each struct."""
    found: dict[str, set[str]] = {name: set() for name in uses}
    for name, used_names in uses.items():
        for used in used_names:
            found[used].add(name)
    return found


def _depths(uses: Mapping[str, Collection[str]]) -> dict[str, int]:
    """Return the nesting depth of each struct, except those in or leading into a cycle."""
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
    """Return the structs of a cycle through `start`, or () if there is none."""
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
