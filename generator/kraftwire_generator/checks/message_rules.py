"""The rules for one message; entry points: `check_spec` and `check_message`.

All rules run, whatever the others find, so that one run reports everything. Rules between messages
are in `set_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kraftwire_generator.checks.field_rules import (
    NAME,
    NAME_ADVICE,
    field_errors,
    occurrence_problem,
)
from kraftwire_generator.checks.structs import ResolvedMessage, placed_fields, resolve
from kraftwire_generator.errors import Finding, Severity
from kraftwire_generator.language.spec import FieldSpec, MessageSpec, field_path

_STRUCT_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")
# Each tag is a branch of one `elif` chain, whose branches are nested for Python's compiler.
MOST_TAGS = 500
_FIRST_FLEXIBLE_HEADER = {"request": 2, "response": 1}

_Fields = tuple[FieldSpec, ...]
_FieldProblems = Iterator[tuple[FieldSpec, str]]


def check_spec(
    spec: MessageSpec, *, complete: bool = True
) -> tuple[ResolvedMessage, list[Finding]]:
    """Return the message with its structs, and everything that is wrong with it.

    If the message is not `complete`, nothing is reported as missing or unused.
    """
    resolved, problems = resolve(spec, complete=complete)
    return resolved, [*problems, *check_message(resolved, complete=complete)]


def check_message(resolved: ResolvedMessage, *, complete: bool = True) -> list[Finding]:
    """Return everything that is wrong with a message, except what `resolve` reports."""
    spec = resolved.spec
    problems = (*_message_errors(spec), *_header_errors(spec))
    findings = [Finding(spec.file, spec.line, "", problem) for problem in problems]
    findings.extend(_common_struct_findings(spec, complete))
    for place in placed_fields(spec):
        findings += [place.finding(problem) for problem in field_errors(place)]
        if (problem := occurrence_problem(place)) is not None:
            findings.append(place.finding(problem, "warning"))
    findings.extend(_sibling_findings(spec, complete))
    return findings


def _message_errors(spec: MessageSpec) -> Iterator[str]:
    valid, flexible = spec.valid_versions, spec.flexible_versions
    if not NAME.fullmatch(spec.name):
        yield f"{spec.name!r} cannot be a message name; {NAME_ADVICE}"
    if valid.is_open:
        yield f"validVersions {valid} must have an end; write for example 0-3"
    if flexible and not flexible.is_open:
        yield f"flexibleVersions {flexible} must have no end; write none, or {flexible.lowest}+"
    if spec.listeners and spec.type != "request":
        yield f"only a request has listeners, this is a {spec.type}; remove the key"
    if spec.latest_version_unstable and spec.type != "request":
        yield f"only a request has latestVersionUnstable, this is a {spec.type}; remove the key"


def _header_errors(spec: MessageSpec) -> Iterator[str]:
    if spec.header_versions is None:
        return
    if spec.type not in ("request", "response"):
        yield f"only requests and responses have headerVersions, this is a {spec.type}; remove them"
    ranges = [body for body, _ in spec.header_versions]
    headers = [header for _, header in spec.header_versions]
    starts = [0, *(body.highest + 1 for body in ranges[:-1])]
    if not ranges or [body.lowest for body in ranges] != starts or not ranges[-1].is_open:
        listed = ", ".join(map(str, ranges)) or "empty"
        yield (
            "headerVersions must name every version once, from 0 on and with an open end, "
            f'such as "0-1" and "2+"; here they are {listed}'
        )
    if headers != sorted(headers):
        listed = ", ".join(map(str, headers))
        yield f"header versions never decrease as versions rise, here they are {listed}"
    if spec.name == "ApiVersionsResponse":
        # A client reads it before it knows the broker's versions (KIP-511).
        if set(headers) - {0}:
            yield 'ApiVersionsResponse always has header version 0; write {"0+": "0"}'
        return
    first = _FIRST_FLEXIBLE_HEADER.get(spec.type, 0)
    for body, header in spec.header_versions:
        flexible = body.intersect(spec.flexible_versions)
        if header < first and flexible.intersect(spec.valid_versions):
            yield (
                f"versions {flexible} are flexible and need a flexible header, "
                f"but headerVersions gives {header}; write {first} or higher"
            )
            return


def _common_struct_findings(spec: MessageSpec, complete: bool) -> Iterator[Finding]:
    used = {place.field.struct_name for place in placed_fields(spec)}
    for struct in spec.common_structs:
        name = struct.name
        severity: Severity = "error"
        if not _STRUCT_NAME.fullmatch(name):
            problem = f"{name!r} cannot be a struct name; write letters and digits, a capital first"
        elif not struct.versions:
            problem = f"the common struct {name} exists in no version; write for example 0+"
        elif complete and name not in used:
            problem, severity = f"no field uses the common struct {name}; remove it", "warning"
        else:
            continue
        yield Finding(spec.file, struct.line, name, problem, severity)


# -- rules between the fields of one struct ------------------------------------------------------


def _equal_names(fields: _Fields) -> _FieldProblems:
    # An attribute is the name in lower case with underscores, so two attributes can be equal only
    # if the names differ at most in case.
    seen: dict[str, FieldSpec] = {}
    for field in fields:
        first = seen.setdefault(field.name.lower(), field)
        if first is not field:
            same = "" if first.name == field.name else f" except for its case ({first.name})"
            yield field, f"an earlier field has this name{same}; rename one of the two"


def _equal_tags(fields: _Fields) -> _FieldProblems:
    seen: dict[int, FieldSpec] = {}
    for field in fields:
        if field.tag is not None:
            first = seen.setdefault(field.tag, field)
            if first is not field:
                yield field, f"{first.name} has tag {field.tag} already; take the next free tag"


def _too_many_tags(fields: _Fields) -> _FieldProblems:
    tagged = [field for field in fields if field.tag is not None]
    for field in tagged[MOST_TAGS : MOST_TAGS + 1]:
        advice = "put the others into a struct"
        yield field, f"a struct can have {MOST_TAGS} tagged fields, not {len(tagged)}; {advice}"


def _tags_out_of_order(fields: _Fields) -> _FieldProblems:
    highest = -1
    for field in fields:
        if field.tag is not None:
            if field.tag < highest:
                yield field, f"tag {field.tag} comes after tag {highest}; put tags in order"
            highest = max(highest, field.tag)


def _gap_in_tags(fields: _Fields) -> _FieldProblems:
    if any((field.tag is None) == bool(field.tagged_versions) for field in fields):
        return  # `field_rules` reports a missing tag
    tagged = {field.tag: field for field in fields if field.tag is not None and field.tag >= 0}
    for expected, tag in enumerate(sorted(tagged)):
        if tag != expected:
            yield tagged[tag], f"tags count from 0 without a gap; write {expected} for tag {tag}"
            return


def _sibling_findings(spec: MessageSpec, complete: bool) -> Iterator[Finding]:
    rules: list[tuple[Callable[[_Fields], _FieldProblems], Severity]] = [
        (_equal_names, "error"),
        (_equal_tags, "error"),
        (_too_many_tags, "error"),
        (_tags_out_of_order, "warning"),
    ]
    if complete:
        rules.append((_gap_in_tags, "error"))
    groups = [("", spec.fields)]
    groups += [(struct.name, struct.fields) for struct in spec.common_structs]
    groups += [(place.path, place.field.fields) for place in placed_fields(spec)]
    for path, fields in groups:
        for rule, severity in rules:
            for field, problem in rule(fields):
                here = field_path(path, field.name)
                yield Finding(spec.file, field.line, here, problem, severity)
