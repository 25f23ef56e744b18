"""Parses a spec file into a `MessageSpec`, and reports every problem of the text in one run.

A missing or wrong key is reported and replaced by the value that causes the fewest follow-on
findings, so that later steps can check the rest of the file. The result has no spec only if the
text is not a JSON object, or has no valid `name` and `type`.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast, get_args

from kraftwire_generator.errors import Finding, not_utf8
from kraftwire_generator.language.field_types import FieldType, Primitive, parse_type
from kraftwire_generator.language.spec import (
    FieldSpec,
    MessageSpec,
    MessageType,
    StructSpec,
    field_path,
)
from kraftwire_generator.language.versions import HIGHEST_VERSION, VersionRange
from kraftwire_generator.parser.json_text import JsonError, JsonObject, parse_json
from kraftwire_generator.parser.spec_object import SpecObject

LISTENERS = ("broker", "controller", "zkBroker")

MESSAGE_KEYS = (
    "name",
    "type",
    "apiKey",
    "validVersions",
    "flexibleVersions",
    "deprecatedVersions",
    "headerVersions",
    "listeners",
    "latestVersionUnstable",
    "commonStructs",
    "fields",
)
STRUCT_KEYS = ("name", "versions", "deprecatedVersions", "fields")
FIELD_KEYS = (
    "name",
    "type",
    "versions",
    "nullableVersions",
    "taggedVersions",
    "tag",
    "flexibleVersions",
    "default",
    "ignorable",
    "mapKey",
    "entityType",
    "zeroCopy",
    "about",
    "fields",
)

NOT_REGULAR = "is not a regular file; replace it with one"
_ALL_VERSIONS = VersionRange(0, HIGHEST_VERSION)
_INT16 = (-(2**15), 2**15 - 1)
_INT32 = (-(2**31), 2**31 - 1)


def read_message(path: Path) -> tuple[MessageSpec | None, list[Finding]]:
    """Return the spec in a file, and all problems of the file."""
    file = path.as_posix()
    try:
        if path.exists() and not path.is_file():  # a pipe would never end
            return None, [Finding(file, 1, "", NOT_REGULAR)]
        data = path.read_bytes()
    except OSError as error:
        return None, [Finding(file, 1, "", f"cannot be read: {error.strerror}")]
    try:
        return parse_message(data.decode(), file)
    except UnicodeDecodeError as error:
        return None, [not_utf8(file, data, error)]


def parse_message(text: str, file: str) -> tuple[MessageSpec | None, list[Finding]]:
    """Return the spec in the text, and all problems of the text."""
    try:
        value = parse_json(text)
    except JsonError as error:
        return None, [Finding(file, error.line, "", error.message)]
    if not isinstance(value, JsonObject):
        return None, [Finding(file, 1, "", "a spec is one JSON object; start it with {")]
    return message_of(value, file)


def message_of(value: JsonObject, file: str) -> tuple[MessageSpec | None, list[Finding]]:
    """Return the spec in a JSON object, and all its problems."""
    findings: list[Finding] = []
    return _message(SpecObject(value, "", file, findings), file), findings


def _message(source: SpecObject, file: str) -> MessageSpec | None:
    source.refuse_unknown_keys(MESSAGE_KEYS, "message")
    name = _required_text(source, "name", "message")
    message_type = _message_type(source)
    valid = source.versions("validVersions", VersionRange.NONE)
    if valid is None:
        source.report(
            "a message needs validVersions; write for example 0-3, or none", "validVersions"
        )
    flexible = source.versions("flexibleVersions", _ALL_VERSIONS)
    removed = valid is not None and not valid
    if not removed and not source.has("flexibleVersions"):
        source.report("a message needs flexibleVersions; write none or 2+", "flexibleVersions")
        flexible = _ALL_VERSIONS
    spec = MessageSpec(
        name=name or "",
        type=message_type or "data",
        valid_versions=valid or VersionRange.NONE,
        flexible_versions=flexible or VersionRange.NONE,
        fields=_fields(source),
        api_key=source.integer("apiKey", *_INT16),
        deprecated_versions=_versions(source, "deprecatedVersions"),
        common_structs=_common_structs(source),
        listeners=_listeners(source),
        latest_version_unstable=source.flag("latestVersionUnstable"),
        header_versions=_header_versions(source),
        file=file,
        line=source.line,
    )
    return spec if name and message_type else None


def _message_type(source: SpecObject) -> MessageType | None:
    text = _required_text(source, "type", "message")
    known = get_args(MessageType)
    if text is None or text in known:
        return cast(MessageType, text) if text else None
    source.report(f"unknown message type {text!r}; write one of {', '.join(known)}", "type")
    return None


def _listeners(source: SpecObject) -> tuple[str, ...]:
    listeners = source.texts("listeners")
    for listener in listeners:
        if listener not in LISTENERS:
            known = ", ".join(LISTENERS)
            source.report(f"unknown listener {listener!r}; write one of {known}", "listeners")
    return listeners


def _header_versions(source: SpecObject) -> tuple[tuple[VersionRange, int], ...] | None:
    """Return `headerVersions` in ascending order; None if any of it is unreadable."""
    value = source.source.members.get("headerVersions")
    if value is None:
        return None
    if not isinstance(value, JsonObject):
        example = '{"0-1": "1", "2+": "2"}'
        source.report(f"headerVersions must be an object such as {example}", "headerVersions")
        return None
    pairs = []
    entries = source.nested(value, "headerVersions")
    for key in value.members:
        header_version = entries.integer(key, 0, HIGHEST_VERSION)
        try:
            body_versions = VersionRange.parse(key)
        except ValueError as error:
            entries.report(str(error), key)
            continue
        if header_version is not None:
            pairs.append((body_versions, header_version))
        elif not entries.has(key):
            entries.report(f"{key} has no header version; write a number", key)
    if len(pairs) < len(value.members):
        return None
    return tuple(sorted(pairs, key=lambda pair: pair[0].lowest))


def _common_structs(source: SpecObject) -> tuple[StructSpec, ...]:
    objects = source.objects("commonStructs")
    return tuple(_common_struct(source, index, value) for index, value in enumerate(objects))


def _common_struct(source: SpecObject, index: int, value: JsonObject) -> StructSpec:
    struct = source.nested(value, _path_element(value, f"commonStructs[{index}]"))
    struct.refuse_unknown_keys(STRUCT_KEYS, "common struct")
    name = _required_text(struct, "name", "common struct")
    versions = struct.versions("versions", _ALL_VERSIONS)
    if versions is None:
        struct.report("a common struct needs versions; write for example 0+", "versions")
    _versions(struct, "deprecatedVersions")  # has no effect, but must be a range
    return StructSpec(
        name=name or f"Struct{index}",
        versions=_ALL_VERSIONS if versions is None else versions,
        fields=_fields(struct),
        line=struct.line,
    )


def _fields(source: SpecObject) -> tuple[FieldSpec, ...]:
    objects = source.objects("fields")
    return tuple(_field(source, index, value) for index, value in enumerate(objects))


def _field(parent: SpecObject, index: int, value: JsonObject) -> FieldSpec:
    here = _path_element(value, f"fields[{index}]")
    source = parent.nested(value, field_path(parent.path, here))
    source.refuse_unknown_keys(FIELD_KEYS, "field")
    name = _required_text(source, "name", "field") or f"field{index}"
    field_type = _field_type(source)
    tagged = source.versions("taggedVersions", _ALL_VERSIONS)
    versions = source.versions("versions", _ALL_VERSIONS)
    versions = tagged if versions is None else versions
    if versions is None:
        source.report("a field needs versions or taggedVersions; write for example 0+", "versions")
        versions = _ALL_VERSIONS
    fields = _fields(source)
    # Without a type, omit everything that depends on it.
    known = field_type is not None
    return FieldSpec(
        name=name,
        type=field_type or Primitive("bytes"),
        versions=versions,
        nullable_versions=source.versions("nullableVersions", _ALL_VERSIONS) or VersionRange.NONE,
        tagged_versions=tagged or VersionRange.NONE,
        flexible_versions=source.versions("flexibleVersions", VersionRange.NONE),
        tag=source.integer("tag", *_INT32),
        default=source.text("default") if known else None,
        ignorable=source.flag("ignorable"),
        map_key=source.flag("mapKey"),
        entity_type=source.text("entityType") if known else None,
        zero_copy=source.flag("zeroCopy"),
        about=source.text("about") or "",
        fields=fields if known else (),
        line=source.line,
    )


def _field_type(source: SpecObject) -> FieldType | None:
    text = _required_text(source, "type", "field")
    if text is None:
        return None
    try:
        return parse_type(text)
    except ValueError as error:
        source.report(str(error), "type")
        return None


def _required_text(source: SpecObject, key: str, what: str) -> str | None:
    """Return the string of a key; report a missing or empty one and return None."""
    text = source.text(key)
    if text:
        return text
    if text is not None or not source.has(key):
        source.report(f"a {what} needs a {key}; add it", key)
    return None


def _versions(source: SpecObject, key: str) -> VersionRange:
    return source.versions(key, VersionRange.NONE) or VersionRange.NONE


def _path_element(value: JsonObject, otherwise: str) -> str:
    name = value.members.get("name")
    return name if isinstance(name, str) and name else otherwise
