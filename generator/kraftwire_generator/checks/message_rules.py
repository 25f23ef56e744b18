"""The rules for one message, one function each; those for a single field are in check_fields.

Every rule looks at the whole of what it judges and none stops another, so that one run
tells everything. Rules over several messages are in check_set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kraftwire_generator.checks.field_rules import FIELD_ERRORS, FIELD_WARNINGS, NAME, NAME_ADVICE
from kraftwire_generator.checks.structs import ResolvedMessage, placed_fields, struct_name
from kraftwire_generator.errors import Finding, Severity
from kraftwire_generator.language.spec import FieldSpec, MessageSpec

_STRUCT_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")
# Each tag is a branch of one `elif` chain, which Python's compiler nests as deep as it is long.
MOST_TAGS = 500
_FIRST_FLEXIBLE_HEADER = {"request": 2, "response": 1}

MessageRule = Callable[[MessageSpec], str | None]
FieldsRule = Callable[[tuple[FieldSpec, ...]], Iterator[tuple[FieldSpec, str]]]


def check_message(resolved: ResolvedMessage, *, complete: bool = True) -> list[Finding]:
    """Everything that is wrong with a message whose structs `resolve` has looked at.

    Of a message that is not `complete`, nothing is said to be missing or unused.
    """
    spec = resolved.spec
    findings = [
        Finding(spec.file, spec.line, "", problem)
        for rule in MESSAGE_ERRORS
        if (problem := rule(spec)) is not None
    ]
    findings.extend(_common_struct_findings(spec, complete))
    findings.extend(_field_findings(spec))
    findings.extend(_sibling_findings(spec, complete))
    return findings


def name_is_identifier(spec: MessageSpec) -> str | None:
    """A name is letters and digits, a letter first."""
    if NAME.fullmatch(spec.name):
        return None
    return f"{spec.name!r} cannot be a message name; {NAME_ADVICE}"


def has_highest_version(spec: MessageSpec) -> str | None:
    """The valid versions end somewhere."""
    if not spec.valid_versions.is_open:
        return None
    return f"validVersions {spec.valid_versions} must have an end; write for example 0-3"


def flexible_versions_open(spec: MessageSpec) -> str | None:
    """Once flexible, a message stays flexible."""
    flexible = spec.flexible_versions
    if not flexible or flexible.is_open:
        return None
    return f"flexibleVersions {flexible} must have no end; write none, or {flexible.lowest}+"


def listeners_on_request(spec: MessageSpec) -> str | None:
    """Only requests come in through listeners."""
    if spec.type == "request" or not spec.listeners:
        return None
    return f"only a request has listeners, this is a {spec.type}; remove the key"


def unstable_latest_on_request(spec: MessageSpec) -> str | None:
    """Only a request can have an unstable latest version."""
    if spec.type == "request" or not spec.latest_version_unstable:
        return None
    return f"only a request has latestVersionUnstable, this is a {spec.type}; remove the key"


def header_versions_on_request_or_response(spec: MessageSpec) -> str | None:
    """Only requests and responses have headers."""
    if spec.header_versions is None or spec.type in ("request", "response"):
        return None
    return f"only requests and responses have headerVersions, this is a {spec.type}; remove them"


def header_versions_without_gap(spec: MessageSpec) -> str | None:
    """The ranges start at 0, each starts where the one before ends, and the last is open."""
    if spec.header_versions is None:
        return None
    ranges = [body_versions for body_versions, _ in spec.header_versions]
    starts = [body_versions.lowest for body_versions in ranges]
    ends = [body_versions.highest for body_versions in ranges]
    if ranges and starts == [0, *(end + 1 for end in ends[:-1])] and ranges[-1].is_open:
        return None
    listed = ", ".join(map(str, ranges)) or "empty"
    return (
        "headerVersions must name every version once, from 0 on and with an open end, "
        f'such as "0-1" and "2+"; here they are {listed}'
    )


def header_versions_never_fall(spec: MessageSpec) -> str | None:
    """A later version has the same header version or a later one."""
    headers = [header for _, header in spec.header_versions or ()]
    if headers == sorted(headers):
        return None
    listed = ", ".join(map(str, headers))
    return f"header versions never decrease as versions rise, here they are {listed}"


def flexible_body_has_flexible_header(spec: MessageSpec) -> str | None:
    """A flexible version has a flexible header, apart from ApiVersionsResponse."""
    first = _FIRST_FLEXIBLE_HEADER.get(spec.type)
    if first is None or spec.name == "ApiVersionsResponse":
        return None
    for body_versions, header in spec.header_versions or ():
        flexible = body_versions.intersect(spec.flexible_versions)
        if header < first and flexible.intersect(spec.valid_versions):
            return (
                f"versions {flexible} are flexible and need a flexible header, "
                f"but headerVersions gives {header}; write {first} or higher"
            )
    return None


def api_versions_response_has_header_0(spec: MessageSpec) -> str | None:
    """A client reads ApiVersionsResponse before it knows any version."""
    headers = {header for _, header in spec.header_versions or ()}
    if spec.name != "ApiVersionsResponse" or not headers - {0}:
        return None
    return 'ApiVersionsResponse always has header version 0; write {"0+": "0"}'


def _common_struct_findings(spec: MessageSpec, complete: bool) -> Iterator[Finding]:
    """Common structs are capitalised, exist in some version, and are used."""
    used = {struct_name(place.field.type) for place in placed_fields(spec)}
    for struct in spec.common_structs:
        name = struct.name
        if not _STRUCT_NAME.fullmatch(name):
            problem = f"{name!r} cannot be a struct name; write letters and digits, a capital first"
            yield Finding(spec.file, struct.line, name, problem)
        elif not struct.versions:
            problem = f"the common struct {name} exists in no version; write for example 0+"
            yield Finding(spec.file, struct.line, name, problem)
        elif complete and name not in used:
            problem = f"no field uses the common struct {name}; remove it"
            yield Finding(spec.file, struct.line, name, problem, "warning")


def _field_findings(spec: MessageSpec) -> Iterator[Finding]:
    for place in placed_fields(spec):
        for rule in FIELD_ERRORS:
            if (problem := rule(place)) is not None:
                yield Finding(spec.file, place.field.line, place.path, problem)
        for rule in FIELD_WARNINGS:
            if (problem := rule(place)) is not None:
                yield Finding(spec.file, place.field.line, place.path, problem, "warning")


def names_differ(fields: tuple[FieldSpec, ...]) -> Iterator[tuple[FieldSpec, str]]:
    """No two fields have one name, whatever the case.

    Attribute names are the names in lower case plus underscores, so that two of them can
    only be equal where the names are.
    """
    seen: dict[str, FieldSpec] = {}
    for field in fields:
        first = seen.setdefault(field.name.lower(), field)
        if first is not field:
            same = "" if first.name == field.name else f" but for its case ({first.name})"
            yield field, f"an earlier field has this name{same}; rename one of the two"


def tags_differ(fields: tuple[FieldSpec, ...]) -> Iterator[tuple[FieldSpec, str]]:
    """No two fields of one struct have one tag."""
    seen: dict[int, FieldSpec] = {}
    for field in fields:
        if field.tag is not None:
            first = seen.setdefault(field.tag, field)
            if first is not field:
                yield field, f"{first.name} has tag {field.tag} already; take the next free tag"


def tags_without_gap(fields: tuple[FieldSpec, ...]) -> Iterator[tuple[FieldSpec, str]]:
    """The tags of a struct count from 0; told once, and not while tags are missing or wrong."""
    if any((field.tag is None) == bool(field.tagged_versions) for field in fields):
        return
    tagged = {field.tag: field for field in fields if field.tag is not None and field.tag >= 0}
    for expected, tag in enumerate(sorted(tagged)):
        if tag != expected:
            yield tagged[tag], f"tags count from 0 without a gap; write {expected} for tag {tag}"
            return


def tags_not_too_many(fields: tuple[FieldSpec, ...]) -> Iterator[tuple[FieldSpec, str]]:
    """A struct has no more tags than generated code can tell apart."""
    tagged = [field for field in fields if field.tag is not None]
    for field in tagged[MOST_TAGS : MOST_TAGS + 1]:
        advice = "put the others into a struct"
        yield field, f"a struct can have {MOST_TAGS} tagged fields, not {len(tagged)}; {advice}"


def tags_in_order(fields: tuple[FieldSpec, ...]) -> Iterator[tuple[FieldSpec, str]]:
    """A warning: tags are easier to follow, and to continue, in ascending order."""
    highest = -1
    for field in fields:
        if field.tag is not None:
            if field.tag < highest:
                yield field, f"tag {field.tag} stands after tag {highest}; put tags in order"
            highest = max(highest, field.tag)


def _sibling_findings(spec: MessageSpec, complete: bool) -> Iterator[Finding]:
    rules: list[tuple[FieldsRule, Severity]] = [
        (names_differ, "error"),
        (tags_differ, "error"),
        (tags_not_too_many, "error"),
        (tags_in_order, "warning"),
    ]
    if complete:
        rules.append((tags_without_gap, "error"))
    groups = [("", spec.fields)]
    groups += [(struct.name, struct.fields) for struct in spec.common_structs]
    groups += [(place.path, place.field.fields) for place in placed_fields(spec)]
    for path, fields in groups:
        for rule, severity in rules:
            for field, problem in rule(fields):
                here = f"{path}.{field.name}" if path else field.name
                yield Finding(spec.file, field.line, here, problem, severity)


MESSAGE_ERRORS: tuple[MessageRule, ...] = (
    name_is_identifier,
    has_highest_version,
    flexible_versions_open,
    listeners_on_request,
    unstable_latest_on_request,
    header_versions_on_request_or_response,
    header_versions_without_gap,
    header_versions_never_fall,
    flexible_body_has_flexible_header,
    api_versions_response_has_header_0,
)
