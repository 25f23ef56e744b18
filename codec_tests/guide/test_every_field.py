"""The guide has what the generated classes have: every message, version and field, in its place.

The oracle is LAYOUT of the committed classes, and the wire rules written down here once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest

from kraftwire_wire.layout import Field
from kraftwire_wire.message import Message, Struct
from kraftwire_wire.registry import Registry

from codec_tests.guide.conftest import SETS, SPECS
from codec_tests.guide.guide_pages import FormOnPage, PageOnDisk

Pages = dict[str, PageOnDisk]


def registry_of(set_name: str) -> Registry:
    registry: Registry = import_module(f"kraftwire_messages.{set_name}").registry
    return registry


def forms_of(pages: Pages, set_name: str) -> dict[str, list[FormOnPage]]:
    found: dict[str, list[FormOnPage]] = {}
    for path, page in pages.items():
        if path.startswith(f"{set_name}/"):
            for form in page.forms:
                found.setdefault(form.message, []).append(form)
    return found


def structs_in(message: type[Message], version: int) -> Iterator[tuple[str, list[Field]]]:
    """The structs that a version has, each once, with their fields in wire order."""
    seen: set[type[Struct]] = set()

    def visit(path: str, struct: type[Struct]) -> Iterator[tuple[str, list[Field]]]:
        if struct in seen:
            return
        seen.add(struct)
        fields = list(wire_order(struct, version))
        yield path, fields
        for field in fields:
            if field.is_struct:
                inner = field.struct_class(message)
                yield from visit(f"{path}.{field.spec_name}".strip("."), inner)

    return visit("", message)


def wire_order(struct: type[Struct], version: int) -> Iterator[Field]:
    there = [field for field in struct.LAYOUT.fields if version in field.versions]
    yield from (field for field in there if version not in field.tagged)
    yield from sorted(
        (field for field in there if version in field.tagged), key=lambda field: field.tag or 0
    )


def expected_rows(
    message: type[Message], version: int, struct: type[Struct], path: str, seen: set[str]
) -> Iterator[tuple[str, str, str]]:
    """Path, tag and type of every field, in wire order."""
    for field in wire_order(struct, version):
        here = f"{path}.{field.spec_name}".strip(".")
        tag = f"tag {field.tag}" if version in field.tagged else ""
        yield here, tag, expected_type(message, field, version)
        if field.is_struct and str(field.element_type) not in seen:
            seen.add(str(field.element_type))
            inner = field.struct_class(message)
            yield from expected_rows(message, version, inner, here, seen)


def expected_type(message: type[Message], field: Field, version: int) -> str:
    flexible = version in message.FLEXIBLE_VERSIONS
    compact = flexible and (field.flexible is None or version in field.flexible)
    null = "NULLABLE_" if version in field.nullable else ""
    element = str(field.element_type)
    if field.is_struct:
        element = field.struct_class(message).LAYOUT.name
    elif field.is_array:
        long = element in ("string", "bytes", "records")
        element = f"{'COMPACT_' if long and flexible else ''}{element.upper()}"
    if field.is_array:
        return f"{'COMPACT_' if flexible else ''}{null}ARRAY of {element}"
    if field.is_struct:
        return f"nullable {element}" if null else element
    if element in ("string", "bytes", "records"):
        return f"{'COMPACT_' if compact else ''}{null}{element.upper()}"
    return element.upper()


@pytest.mark.slow
@pytest.mark.parametrize("set_name", SETS)
def test_every_field_of_every_version_is_where_it_is_on_the_wire(
    pages: Pages, set_name: str
) -> None:
    registry, forms = registry_of(set_name), forms_of(pages, set_name)
    compared = 0
    for name in registry:
        message = registry.message(name)
        found = forms.pop(message.LAYOUT.name)
        covered = sorted(version for form in found for version in form.versions)
        assert covered == list(message.VALID_VERSIONS), name
        for form in found:
            shown = [
                (row.id.removeprefix(f"{form.id}."), row.cells["name"].partition(" ")[2],
                 row.cells["type"])
                for row in form.rows
            ]  # fmt: skip
            assert [row.name for row in form.rows] == [row[0].split(".")[-1] for row in shown]
            for version in form.versions:
                rows = list(expected_rows(message, version, message, "", {""}))
                assert shown == rows, f"{name} {version}"
                compared += len(rows)
    assert not forms, "the guide has messages that no class is made of"
    assert compared


@pytest.mark.parametrize("set_name", SETS)
def test_every_spec_has_its_place_even_without_a_version(pages: Pages, set_name: str) -> None:
    shown = [
        text
        for path, page in pages.items()
        if path.startswith(f"{set_name}/")
        for text in [page.text]
    ]
    for spec in (SPECS / set_name).rglob("*.json"):
        assert any(spec.stem in text for text in shown), spec.stem


@pytest.mark.slow
def test_the_header_of_every_version_is_named_and_drawn(pages: Pages) -> None:
    registry, forms = registry_of("kafka"), forms_of(pages, "kafka")
    checked = 0
    for name in registry:
        layout: Any = registry.message(name).LAYOUT
        for within, header in layout.headers:
            for form in forms[layout.name]:
                if form.versions[0] in within:
                    assert f"{layout.type} header {header}" in form.about, (name, form.versions)
                    assert form.boxes[0] == "Size"
                    assert f"{layout.type.capitalize()} header {header}" == form.boxes[1]
                    checked += 1
    assert checked > 300


@pytest.mark.parametrize("set_name", SETS)
def test_the_diagram_has_a_box_for_every_field(pages: Pages, set_name: str) -> None:
    for forms in forms_of(pages, set_name).values():
        for form in forms:
            names = sorted(row.name for row in form.rows)
            boxes = list(form.boxes)
            for name in names:
                boxes.remove(name)


@pytest.mark.parametrize("set_name", SETS)
def test_what_came_and_went_is_told_with_the_version(pages: Pages, set_name: str) -> None:
    registry, forms = registry_of(set_name), forms_of(pages, set_name)
    told = 0
    for name in registry:
        message = registry.message(name)
        for form in forms[message.LAYOUT.name]:
            version = form.versions[0]
            if version == message.VALID_VERSIONS[0]:
                assert not form.changes
                continue
            old, new = (
                {path: {field.spec_name for field in fields} for path, fields in found}
                for found in (structs_in(message, version - 1), structs_in(message, version))
            )
            added = {
                f"{path}.{field}".strip(".")
                for path, fields in new.items()
                if path in old
                for field in fields - old[path]
            }
            removed = {
                f"{path}.{field}".strip(".")
                for path, fields in old.items()
                if path in new
                for field in fields - new[path]
            }
            assert {path for kind, path, _ in form.changes if kind == "added"} == added, name
            assert {path for kind, path, _ in form.changes if kind == "removed"} == removed, name
            assert form.changes, f"{name} {version}: nothing changed, and yet it is another form"
            told += 1
    assert told or set_name != "kafka"


def test_fetch_as_everybody_knows_it(pages: Pages) -> None:
    forms = {form.id: form for form in pages["kafka/Fetch.html"].forms}
    flexible = (
        "flexible from here on: compact lengths, and a tag section at the end of every struct"
    )
    assert forms["request-v12"].changes == [
        ("changed", "", f"{flexible}; request header version 2"),
        ("added", "ClusterId", "COMPACT_NULLABLE_STRING, tag 0"),
        ("added", "Topics.Partitions.LastFetchedEpoch", "INT32"),
    ]
    assert ("removed", "Topics.Topic", "COMPACT_STRING") in forms["request-v13"].changes
    assert forms["request-v13"].versions == range(13, 15)
    state = ("added", "ReplicaState", "ReplicaState, tag 1: ReplicaId, ReplicaEpoch")
    assert state in forms["request-v15"].changes


def shown_default(field: Field) -> str:
    if field.default is None:
        return "not sent" if field.is_optional_struct else "null"
    if field.default == ():
        return "[]" if field.is_array else ""
    if isinstance(field.default, UUID):
        return "zero" if field.default == UUID(int=0) else str(field.default)
    if isinstance(field.default, str | bytes):
        return f'"{field.default}"' if isinstance(field.default, str) else "empty"
    return str(field.default).lower()


@pytest.mark.parametrize("set_name", SETS)
def test_defaults_and_entity_types_are_those_of_the_classes(pages: Pages, set_name: str) -> None:
    registry, forms = registry_of(set_name), forms_of(pages, set_name)
    for name in registry:
        message = registry.message(name)
        for form in forms[message.LAYOUT.name]:
            structs = dict(structs_in(message, form.versions[0]))
            rows = {row.id.removeprefix(f"{form.id}."): row.cells for row in form.rows}
            for path, fields in structs.items():
                for field in fields:
                    cells = rows[f"{path}.{field.spec_name}".strip(".")]
                    assert cells.get("default", "") == shown_default(field), (name, field.name)
                    assert (field.entity_type or "") in cells.get("notes", ""), (name, field.name)


@pytest.mark.parametrize("set_name", SETS)
def test_every_version_can_be_chosen(pages: Pages, set_name: str) -> None:
    registry = registry_of(set_name)
    valid = {
        message.LAYOUT.name: message.VALID_VERSIONS for message in map(registry.message, registry)
    }
    for path, page in pages.items():
        if not path.startswith(f"{set_name}/"):
            continue
        choices = [values for tag, values in page.tags if tag == "a" and "data-from" in values]
        offered = [
            version
            for values in choices
            for version in range(int(values["data-from"]), int(values["data-to"]) + 1)
        ]
        names = {form.message for form in page.forms}
        if any(
            values["href"][:3] in {f"#v{digit}" for digit in range(10)} for values in choices
        ):  # chosen together
            wanted = sorted({version for name in names for version in valid[name]})
        else:
            wanted = sorted(version for name in names for version in valid[name])
        assert sorted(offered) == wanted, path
