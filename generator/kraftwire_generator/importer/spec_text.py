"""Writes a `MessageSpec` as the JSON of a spec file, with its facts and nothing else.

Equal specs give equal bytes. Keys have a fixed order; keys with the language's default are left
out, and so are `about` and comments. A field without sub-fields takes one line. Parsing the text
gives the same spec, except for `about`, `file` and lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from kraftwire_generator.language.spec import FieldSpec, MessageSpec

_Facts = dict[str, object]


def spec_to_json(spec: MessageSpec) -> str:
    """Return the text of a spec file for `spec`."""
    members = [f'"{key}": {_inline(value)}' for key, value in message_facts(spec).items()]
    if spec.fields or spec.valid_versions:
        members.append(_block('"fields": [', _field_items(spec.fields, "    "), "  ]"))
    if spec.common_structs:
        structs = (
            _item({"name": struct.name, "versions": str(struct.versions)}, struct.fields, "    ")
            for struct in spec.common_structs
        )
        members.append(_block('"commonStructs": [', structs, "  ]"))
    return "{\n" + ",\n".join(f"  {member}" for member in members) + "\n}\n"


def message_facts(spec: MessageSpec) -> _Facts:
    """Return the keys of a message with their values, except its fields and structs."""
    facts: _Facts = {}
    if spec.api_key is not None:
        facts["apiKey"] = spec.api_key
    facts["type"] = spec.type
    if spec.listeners:
        facts["listeners"] = list(spec.listeners)
    facts["name"] = spec.name
    facts["validVersions"] = str(spec.valid_versions)
    if spec.deprecated_versions:
        facts["deprecatedVersions"] = str(spec.deprecated_versions)
    if spec.flexible_versions or spec.valid_versions:
        facts["flexibleVersions"] = str(spec.flexible_versions)
    if spec.latest_version_unstable:
        facts["latestVersionUnstable"] = True
    if spec.header_versions is not None:
        facts["headerVersions"] = {str(body): str(head) for body, head in spec.header_versions}
    return facts


def field_facts(field: FieldSpec) -> _Facts:
    """Return the keys of a field with their values, except its own fields."""
    facts: _Facts = {"name": field.name, "type": str(field.type), "versions": str(field.versions)}
    if field.nullable_versions:
        facts["nullableVersions"] = str(field.nullable_versions)
    if field.tagged_versions:
        facts["taggedVersions"] = str(field.tagged_versions)
    if field.tag is not None:
        facts["tag"] = field.tag
    if field.flexible_versions is not None:
        facts["flexibleVersions"] = str(field.flexible_versions)
    if field.default is not None:
        facts["default"] = field.default
    flags = {"ignorable": field.ignorable, "mapKey": field.map_key, "zeroCopy": field.zero_copy}
    facts |= {key: True for key, is_set in flags.items() if is_set}
    if field.entity_type is not None:
        facts["entityType"] = field.entity_type
    return facts


def _field_items(fields: Sequence[FieldSpec], indent: str) -> Iterator[str]:
    return (_item(field_facts(field), field.fields, indent) for field in fields)


def _item(facts: _Facts, fields: Sequence[FieldSpec], indent: str) -> str:
    """Return one object of a list: on one line, or with each field on a separate line."""
    members = ", ".join(f'"{key}": {_inline(value)}' for key, value in facts.items())
    if not fields:
        return f"{indent}{{ {members} }}"
    head = f'{indent}{{ {members}, "fields": ['
    return _block(head, _field_items(fields, indent + "  "), indent + "]") + " }"


def _block(head: str, items: Iterator[str], end: str) -> str:
    lines = ",\n".join(items)
    return f"{head}\n{lines}\n{end}" if lines else f"{head}]"


def _inline(value: object) -> str:
    if isinstance(value, dict):
        members = ", ".join(f'"{key}": {_inline(item)}' for key, item in value.items())
        return f"{{ {members} }}"
    return json.dumps(value)
