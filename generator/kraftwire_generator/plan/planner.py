"""Makes a `MessagePlan` of each checked message, and a `PackagePlan` of each set."""

from __future__ import annotations

from collections import defaultdict

from kraftwire_generator.checks.spec_set import SpecSet
from kraftwire_generator.checks.structs import ResolvedMessage
from kraftwire_generator.language.header_versions import header_versions
from kraftwire_generator.language.names import class_name, module_name, struct_class_name
from kraftwire_generator.language.spec import FieldSpec, MessageSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.plan.docstrings import message_docstring, struct_docstring
from kraftwire_generator.plan.field_code import FieldCode
from kraftwire_generator.plan.literals import literal, type_expression, version_range
from kraftwire_generator.plan.plan_data import FieldPlan, MessagePlan, PackagePlan, StructPlan
from kraftwire_generator.plan.struct_code import RunFormats, StructCode

_KEY, _VALUE = "coordinator-key", "coordinator-value"


def plan_message(message: ResolvedMessage, source: str) -> MessagePlan:
    """Plan one module; `source` is the spec's path within its set, for the module docstring."""
    spec = message.spec
    valid, flexible = spec.valid_versions, spec.flexible_versions
    name = class_name(spec.name)
    formats = RunFormats()
    occurrences = _occurrences(message)
    structs = tuple(
        _plan_struct(
            struct.name,
            StructCode(name, struct.fields, occurrences[struct.name], flexible, formats),
        )
        for struct in message.structs.values()
    )
    code = StructCode(name, spec.fields, valid, flexible, formats)
    body = StructPlan(
        class_name=name,
        docstring=message_docstring(spec, code.codes),
        fields=_plan_fields(code),
        layout=(*_layout_head(spec.name, code), *_message_layout(spec)),
        decode=code.decode(),
        encode=code.encode(),
    )
    return MessagePlan(
        module=module_name(spec.name),
        source=source,
        constants=tuple((constant, types) for types, constant in formats.names.items()),
        message=body,
        structs=structs,
        api_key=literal(spec.api_key),
        valid_versions=version_range(valid),
        flexible_versions=version_range(valid.intersect(flexible)),
    )


def _occurrences(message: ResolvedMessage) -> dict[str, VersionRange]:
    """Return the versions of the message in which each struct is used.

    A struct is visited again only if a use adds versions: common structs that refer to one
    another can form far more paths than there are structs.
    """
    found: dict[str, VersionRange] = defaultdict(lambda: VersionRange.NONE)

    def visit(fields: tuple[FieldSpec, ...], versions: VersionRange) -> None:
        for field in fields:
            name = field.struct_name
            if name is None:
                continue
            here, known = versions.intersect(field.versions), found[name]
            if known.covers(here):
                continue
            if known:
                here = VersionRange(
                    min(here.lowest, known.lowest), max(here.highest, known.highest)
                )
            found[name] = here
            visit(message.structs[name].fields, here)

    visit(message.spec.fields, message.spec.valid_versions)
    return found


def _plan_struct(name: str, code: StructCode) -> StructPlan:
    return StructPlan(
        class_name=struct_class_name(name, code.message_class),
        docstring=struct_docstring(name, code.versions, code.codes),
        fields=_plan_fields(code),
        layout=_layout_head(name, code),
        decode=code.decode(),
        encode=code.encode(),
    )


def _plan_fields(code: StructCode) -> tuple[FieldPlan, ...]:
    return tuple(
        FieldPlan(
            attribute=field.attribute,
            hint=field.hint,
            default=field.default_expression,
            layout=_field_layout(field, code.versions),
        )
        for field in code.codes
    )


def _field_layout(code: FieldCode, versions: VersionRange) -> tuple[str, ...]:
    """Return the arguments of a field's row, except those that equal the defaults of `Field`."""
    spec = code.spec
    row = [
        f'"{code.attribute}"',
        f'"{spec.name}"',
        type_expression(spec.type, code.message_class),
        version_range(versions.intersect(spec.versions)),
        literal(code.default),
    ]
    for key, span in (("nullable", spec.nullable_versions), ("tagged", spec.tagged_versions)):
        within = versions.intersect(span)
        if within:
            row.append(f"{key}={version_range(within)}")
    if spec.tag is not None:
        row.append(f"tag={spec.tag}")
    if spec.flexible_versions is not None:
        row.append(f"flexible={version_range(versions.intersect(spec.flexible_versions))}")
    if spec.entity_type is not None:
        row.append(f"entity_type={literal(spec.entity_type)}")
    flags = {
        "ignorable": spec.ignorable,
        "map_key": spec.map_key,
        "zero_copy": spec.zero_copy,
    }
    return (*row, *(f"{name}=True" for name, is_set in flags.items() if is_set))


def _layout_head(name: str, code: StructCode) -> tuple[str, ...]:
    flexible = version_range(code.versions.intersect(code.flexible))
    return (f'"{name}"', version_range(code.versions), flexible)


def _message_layout(spec: MessageSpec) -> tuple[str, ...]:
    """Return the arguments of LAYOUT that only messages have."""
    row = [f'type="{spec.type}"']
    if spec.api_key is not None:
        row.append(f"api_key={spec.api_key}")
    headers = header_versions(spec)
    if headers:
        pairs = ", ".join(f"({version_range(body)}, {header})" for body, header in headers)
        row.append(f"headers=({pairs},)" if len(headers) == 1 else f"headers=({pairs})")
    deprecated = spec.valid_versions.intersect(spec.deprecated_versions)
    if deprecated:
        row.append(f"deprecated={version_range(deprecated)}")
    if spec.listeners:
        row.append(f"listeners={spec.listeners!r}")
    if spec.latest_version_unstable:
        row.append("latest_version_unstable=True")
    return tuple(row)


def plan_package(spec_set: SpecSet, package: str) -> PackagePlan:
    """Plan the `__init__` of a set's package."""
    specs = [
        (module, message.spec)
        for module, message in spec_set.messages
        if message.spec.valid_versions
    ]
    return PackagePlan(
        title=spec_set.settings.title,
        package=package,
        release=spec_set.settings.release,
        messages=tuple(
            sorted((class_name(spec.name), module_name(spec.name)) for _, spec in specs)
        ),
        requests=_by_key(specs, "request"),
        responses=_by_key(specs, "response"),
        records=_records(spec_set, specs),
        control_records=_control_records(spec_set, specs),
    )


def _by_key(specs: list[tuple[str, MessageSpec]], kind: str) -> tuple[tuple[int, str], ...]:
    return tuple(
        sorted(
            (spec.api_key, class_name(spec.name))
            for _, spec in specs
            if spec.type == kind and spec.api_key is not None
        )
    )


def _records(
    spec_set: SpecSet, specs: list[tuple[str, MessageSpec]]
) -> tuple[tuple[str, tuple[tuple[int, str], ...]], ...]:
    """Return the stored records by log and id, as source of (key class or None, value class).

    A module with records is a log, which set.toml may rename. A key without a value, as drafts may
    have, is left out.
    """
    names = {module: log for log, module in spec_set.settings.records.items()}
    logs: dict[str, dict[int, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for module, spec in specs:
        if spec.type in ("metadata", _KEY, _VALUE) and spec.api_key is not None:
            log = names.get(module, module or spec_set.settings.title)
            logs[log][spec.api_key][spec.type] = class_name(spec.name)
    return tuple(
        (log, tuple((record_id, _pair(kinds)) for record_id, kinds in pairs))
        for log, ids in sorted(logs.items())
        if (pairs := sorted(item for item in ids.items() if set(item[1]) != {_KEY}))
    )


def _control_records(
    spec_set: SpecSet, specs: list[tuple[str, MessageSpec]]
) -> tuple[tuple[int, str], ...]:
    types = spec_set.settings.control_records
    return tuple(
        sorted((types[spec.name], class_name(spec.name)) for _, spec in specs if spec.name in types)
    )


def _pair(kinds: dict[str, str]) -> str:
    value = kinds.get(_VALUE) or kinds["metadata"]
    return repr((kinds.get(_KEY), value))
