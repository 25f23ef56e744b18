"""The command `fields`: prints the wire layout of a message, in one version or in all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from kraftwire.cli.messages.decoded_message import HEADERS
from kraftwire.cli.messages.layout_rows import (
    FieldRow,
    format_default,
    json_default,
    spec_versions,
    version_rows,
    wire_rows,
)
from kraftwire.cli.messages.message_lookup import (
    check_version,
    find_messages,
    load_registry,
    messages_option,
)
from kraftwire.console.output import output_option, print_json, print_table, wants_json
from kraftwire_wire.errors import format_versions
from kraftwire_wire.layout import Field
from kraftwire_wire.message import Message
from kraftwire_wire.registry import Registry

_INDENT = "  "
_FOLDED = ("type", "notes")


@click.command()
@click.argument("message")
@click.option("--version", type=int, metavar="N", help="Show one version, in wire order.")
@messages_option
@output_option
def fields(message: str, version: int | None, messages: str, output: str | None) -> None:
    """Show the wire layout of a message.

    MESSAGE is a name in any spelling (VoteRequest, vote_request), or an API (Vote, 52),
    which shows its request and its response. With --version, fields are in wire order after
    their header; `compact` lengths are unsigned varints. Without it, every field has a mark
    for each version: x present, n present or null, t tagged, and a dot if it is absent.

    \b
    Examples:
      kraftwire fields Vote
      kraftwire fields VoteRequest --version 2
      kraftwire fields 3 -o json
    """
    registry = load_registry(messages)
    found = find_messages(registry, message)
    if version is not None:
        having = [cls for cls in found if version in cls.VALID_VERSIONS]
        if not having:
            check_version(found[0], version)
        found = having
    as_json = wants_json(output)
    for number, cls in enumerate(found):
        if number and not as_json:
            click.echo()
        if version is None:
            _show_versions(cls, as_json)
        else:
            _show_version(registry, cls, version, as_json)


# -- one version ---------------------------------------------------------------------------


def _show_version(registry: Registry, cls: type[Message], version: int, as_json: bool) -> None:
    header = _header(registry, cls, version)
    if as_json:
        if header:
            for row in wire_rows(*header):
                print_json(_wire_json(cls, version, header[0].__name__, row))
        for row in wire_rows(cls, version):
            print_json(_wire_json(cls, version, None, row))
        return
    flexible = "flexible" if version in cls.FLEXIBLE_VERSIONS else "not flexible"
    title = f"{cls.__name__} version {version}: {_kind(cls)}, {flexible}"
    columns = ("field", "type", "notes")
    print_table(columns, _wire_table(cls, version, header), title, folded=_FOLDED)


def _header(
    registry: Registry, cls: type[Message], version: int
) -> tuple[type[Message], int] | None:
    """Return the header of a request or a response, and its version."""
    name = HEADERS.get(cls.LAYOUT.type)
    if name is None or name not in registry:
        return None
    return registry.message(name), cls.header_version(version)


def _wire_table(
    cls: type[Message], version: int, header: tuple[type[Message], int] | None
) -> Iterator[tuple[str | None, ...]]:
    if header is None:
        yield from (_wire_cells(row, 0) for row in wire_rows(cls, version))
        return
    yield "header", f"{header[0].__name__} version {header[1]}", None
    yield from (_wire_cells(row, 1) for row in wire_rows(*header))
    yield "message", f"{cls.__name__} version {version}", None
    yield from (_wire_cells(row, 1) for row in wire_rows(cls, version))


def _wire_cells(row: FieldRow, depth: int) -> tuple[str | None, ...]:
    label = _INDENT * (row.depth + depth) + row.label
    field = row.in_version
    if field is None:
        return label, row.type, None
    tag = "" if field.tag is None else f"tag {field.tag}: "
    null = " or null" if field.nullable else ""
    default = format_default(field.spec)
    notes = (f"default {default}" if default else None, row.unit, field.spec.entity_type)
    return label, tag + row.type + null, ", ".join(note for note in notes if note)


def _wire_json(
    cls: type[Message], version: int, header: str | None, row: FieldRow
) -> dict[str, Any]:
    obj: dict[str, Any] = {"message": cls.__name__, "version": version, "header": header}
    field = row.in_version
    if field is None:
        return obj | {"field": row.path, "type": "tag section"}
    return obj | _field_json(row, field.spec) | {"nullable": field.nullable, "tag": field.tag}


# -- all versions --------------------------------------------------------------------------


def _show_versions(cls: type[Message], as_json: bool) -> None:
    rows = version_rows(cls)
    if as_json:
        for row in rows:
            print_json(_versions_json(cls, row))
        return
    valid = cls.VALID_VERSIONS
    flexible = format_versions(cls.FLEXIBLE_VERSIONS)
    title = f"{cls.__name__}: {_kind(cls)}, versions {format_versions(valid)}, flexible {flexible}"
    headers = ", ".join(
        f"{header} in {spec_versions(versions, valid)}" for versions, header in cls.LAYOUT.headers
    )
    title += f", header version {headers}" if headers else ""
    digits = "".join(str(version % 10) for version in valid)
    columns = ("field", "type", digits, "versions", "null", "tag")
    print_table(columns, (_version_cells(row, valid) for row in rows), title, folded=_FOLDED)


def _version_cells(row: FieldRow, valid: range) -> tuple[str, ...]:
    field = row.field
    assert field is not None, "tag sections belong to one version"
    return (
        _INDENT * row.depth + row.label,
        str(field.type),
        "".join(_mark(field, version) for version in valid),
        spec_versions(field.versions, valid),
        spec_versions(field.nullable, valid),
        "" if field.tag is None else str(field.tag),
    )


def _mark(field: Field, version: int) -> str:
    if version in field.tagged:
        return "t"
    if version in field.versions:
        return "n" if version in field.nullable else "x"
    return "."


def _versions_json(cls: type[Message], row: FieldRow) -> dict[str, Any]:
    field = row.field
    assert field is not None, "tag sections belong to one version"
    valid = cls.VALID_VERSIONS
    return (
        {"message": cls.__name__}
        | _field_json(row, field)
        | {
            "versions": spec_versions(field.versions, valid),
            "nullable": spec_versions(field.nullable, valid) or None,
            "tag": field.tag,
            "tagged": spec_versions(field.tagged, valid) or None,
        }
    )


def _field_json(row: FieldRow, field: Field) -> dict[str, Any]:
    return {
        "field": row.path,
        "spec_name": field.spec_name,
        "type": row.type,
        "default": json_default(field),
        "unit": row.unit,
        "entity_type": field.entity_type,
    }


def _kind(cls: type[Message]) -> str:
    """Return the kind of a message, and its number."""
    layout = cls.LAYOUT
    kind = layout.type.replace("-", " ")
    if layout.api_key is None:
        return kind
    number = "API key" if layout.type in HEADERS else "record id"
    return f"{kind}, {number} {layout.api_key}"
