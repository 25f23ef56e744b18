"""Writes the docstrings of generated classes: type, default and versions of each field."""

from __future__ import annotations

import textwrap
from uuid import UUID

from kraftwire_generator.language.field_types import Array, Struct, element_of
from kraftwire_generator.language.names import struct_class_name
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.plan.field_code import FieldCode
from kraftwire_generator.plan.literals import docstring_text

_WIDTH = 92
_ZERO_UUID = UUID(int=0)


def message_docstring(spec: MessageSpec, fields: list[FieldCode]) -> str:
    """Return the docstring of a message."""
    kind = spec.type.replace("-", " ")
    key_name = "API key" if spec.type in ("request", "response") else "record id"
    key = f", {key_name} {spec.api_key}" if spec.api_key is not None else ""
    valid = spec.valid_versions
    parts = [f"{spec.name}: a {kind} message{key}; {valid.with_noun}"]
    parts.append(_share(valid, spec.flexible_versions, "flexible") or "not flexible")
    deprecated = _share(valid, spec.deprecated_versions, "deprecated")
    if deprecated:
        parts.append(deprecated)
    return _docstring(", ".join(parts) + ".", fields, valid)


def struct_docstring(name: str, versions: VersionRange, fields: list[FieldCode]) -> str:
    """Return the docstring of a struct within a message."""
    when = f"in {versions.with_noun}" if versions else "in no version of the message"
    return _docstring(f"{name}, {when}.", fields, versions)


def _docstring(title: str, fields: list[FieldCode], versions: VersionRange) -> str:
    """Return the title and the descriptions of the fields, escaped for use in triple quotes."""
    lines = textwrap.wrap(title, _WIDTH)
    if fields:
        lines += ["", "Fields:"]
    for code in fields:
        lines += textwrap.wrap(
            f"{code.attribute}: {_field_text(code, versions)}",
            _WIDTH,
            initial_indent="    ",
            subsequent_indent="        ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    text = "\n".join(lines)
    return docstring_text(text + "\n" if len(lines) > 1 else text)


def _field_text(code: FieldCode, versions: VersionRange) -> str:
    """Return the description of a field: type, default, versions, tag, and the spec's `about`."""
    spec = code.spec
    parts = [_type(code)]
    present = versions.intersect(spec.versions)
    nullable = versions.intersect(spec.nullable_versions)
    if nullable:
        when = "" if nullable == present else f" in {spec.nullable_versions.with_noun}"
        parts[0] += f" or null{when}"
    default = _default(code)
    if default:
        parts.append(default)
    if present != versions:
        parts.append(spec.versions.with_noun)
    tagged = versions.intersect(spec.tagged_versions)
    if tagged:
        when = "" if tagged == present else f" in {spec.tagged_versions.with_noun}"
        parts.append(f"tag {spec.tag}{when}")
    if spec.entity_type:
        parts.append(f"entity {spec.entity_type}")
    text = "; ".join(parts) + "."
    about = " ".join(spec.about.split())
    return f"{text} {about}" if about else text


def _share(valid: VersionRange, some: VersionRange, adjective: str) -> str:
    """Return the adjective and the valid versions that it applies to; "" if it applies to none."""
    both = valid.intersect(some)
    if both == valid:
        return adjective if valid.lowest == valid.highest else f"all {adjective}"
    return f"{adjective} {both}" if both else ""


def _type(code: FieldCode) -> str:
    spec = code.spec
    element = element_of(spec.type)
    name = str(element)
    if isinstance(element, Struct):
        name = struct_class_name(element.name, code.message_class)
    if isinstance(spec.type, Array):
        return f"list of {name}"
    return f"{name}, {spec.unit}" if spec.unit else name


def _default(code: FieldCode) -> str:
    """Return a note about the default, or "" if it is zero or empty."""
    if code.spec.is_optional_struct:
        return "None when not sent"
    if code.default is None:
        return "default null"
    if not code.default or code.default == _ZERO_UUID:
        return ""
    return f"default {code.default_expression}"
