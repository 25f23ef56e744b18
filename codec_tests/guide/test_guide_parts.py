"""The steps of the guide one by one, on small specs: sizes, forms, history, pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraftwire_generator.checks.spec_set import load_set
from kraftwire_generator.checks.structs import ResolvedMessage
from kraftwire_generator.guide.history import VersionChange, history
from kraftwire_generator.guide.pages import guide_set, shared_versions
from kraftwire_generator.guide.wire_forms import wire_forms
from kraftwire_generator.guide.wire_type import FIXED_BYTES, wire_type

from codec_tests.compile_spec import compile_spec
from codec_tests.spec_files import field_spec, message_spec, resolve_json, write_set


def resolved(*fields: dict[str, Any], **keys: Any) -> ResolvedMessage:
    return resolve_json(message_spec("Vote", *fields, **keys))


def changes(*fields: dict[str, Any], **keys: Any) -> list[tuple[VersionChange, ...]]:
    message = resolved(*fields, **keys)
    return [entry.changes for entry in history(message.spec, wire_forms(message))]


# -- sizes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FIXED_BYTES)
def test_fixed_sizes_are_those_of_the_encoder(kind: str) -> None:
    encoded = compile_spec(message_spec(f"One{kind}", field_spec("V", kind)))().encode(version=0)
    assert FIXED_BYTES[kind] == len(encoded)


LENGTHS = [
    ("string", False, "int16 n, n bytes", b"\x00\x00"),
    ("string", True, "uvarint n + 1, n bytes", b"\x01\x00"),
    ("bytes", False, "int32 n, n bytes", b"\x00\x00\x00\x00"),
    ("bytes", True, "uvarint n + 1, n bytes", b"\x01\x00"),
    ("records", False, "int32 n, n bytes", b"\x00\x00\x00\x00"),
    ("[]int16", False, "int32 n, n times 2 bytes", b"\x00\x00\x00\x00"),
    ("[]int16", True, "uvarint n + 1, n times 2 bytes", b"\x01\x00"),
    ("[]string", True, "uvarint n + 1, n times COMPACT_STRING", b"\x01\x00"),
]


@pytest.mark.parametrize(("kind", "flexible", "size", "empty"), LENGTHS)
def test_lengths_are_coded_as_the_encoder_does(
    kind: str, flexible: bool, size: str, empty: bytes
) -> None:
    keys = {"flexibleVersions": "0+" if flexible else "none"}
    spec = message_spec("Length", field_spec("V", kind), **keys)
    assert compile_spec(spec)().encode(version=0) == empty
    (field,) = resolved(field_spec("V", kind), **keys).spec.fields
    assert wire_type(field, 0, flexible=flexible, tagged=False).size == size


# -- forms and history -----------------------------------------------------------------------


def test_versions_that_are_alike_share_a_form() -> None:
    late = field_spec("Late", versions="3-4")
    forms = wire_forms(resolved(field_spec(), late, validVersions="0-7"))
    assert [str(form.versions) for form in forms] == ["0-2", "3-4", "5-7"]


def test_what_became_of_a_field_is_told() -> None:
    fields = [
        field_spec("A", "string", nullableVersions="1+"),
        field_spec("B", "string", nullableVersions="0-1"),
        field_spec("C", tag=0, taggedVersions="2+"),
    ]
    found = changes(*fields, validVersions="0-2", flexibleVersions="0+")
    assert found[1] == (VersionChange("changed", "A", "can be null"),)
    assert found[2] == (
        VersionChange("changed", "B", "can no longer be null"),
        VersionChange("changed", "C", "a tagged field, tag 0"),
    )


def test_the_first_flexible_version_is_told_once_with_its_exceptions() -> None:
    fields = [field_spec("A", "string"), field_spec("B", "string", flexibleVersions="none")]
    _, found = changes(*fields, validVersions="0-1", flexibleVersions="1+")
    flexible, exception = found
    assert flexible.text.startswith("flexible from here on")
    assert exception == VersionChange("changed", "B", "keeps its classic length")


def test_fields_below_one_that_came_are_told_with_it() -> None:
    inner = field_spec("Inner", "[]Part", versions="1+", fields=[field_spec("X"), field_spec("Y")])
    _, found = changes(field_spec(), inner, validVersions="0-1")
    assert found == (VersionChange("added", "Inner", "ARRAY of Part: X, Y"),)


def test_a_common_struct_that_another_field_shows_first_has_not_changed() -> None:
    struct = {"name": "Part", "versions": "0+", "fields": [field_spec("X")]}
    fields = [field_spec("New", "Part", versions="1+"), field_spec("Old", "Part")]
    _, found = changes(*fields, validVersions="0-1", commonStructs=[struct])
    assert found == (VersionChange("added", "New", "Part: X"),)


def test_deprecated_versions_are_a_form_of_their_own() -> None:
    found = changes(field_spec(), validVersions="0-3", deprecatedVersions="0-1")
    assert found[1] == (VersionChange("changed", "", "no longer deprecated"),)


# -- pages -----------------------------------------------------------------------------------


def page_names(directory: Path) -> dict[str, list[tuple[str, int]]]:
    """The pages of a set in their groups, each with the number of its messages."""
    spec_set, _ = load_set(directory)
    assert spec_set is not None
    return {
        group.title: [(page.file, len(page.parts)) for page in group.pages]
        for group in guide_set(spec_set, "set").groups
    }


def request(name: str, kind: str = "request", **keys: Any) -> dict[str, Any]:
    return message_spec(f"clients/{name}", type=kind, **keys)


def test_messages_share_pages_and_stand_in_the_order_of_their_keys(tmp_path: Path) -> None:
    records = {"type": "coordinator-key", "apiKey": 3}
    write_set(
        tmp_path,
        request("ZooRequest", apiKey=1),
        request("ZooResponse", "response", apiKey=1),
        request("AntRequest", apiKey=20),
        request("AntResponse", "response", apiKey=20),
        message_spec("logs/ZooKey", **records),
        message_spec("logs/ZooValue", **records | {"type": "coordinator-value"}),
        message_spec("clients/Zoo"),
        settings='title = "Zoo"\n[records]\nanimals = "logs"\n',
    )
    assert page_names(tmp_path) == {
        "APIs": [("Zoo.html", 2), ("Ant.html", 2)],
        "Records of the log animals": [("Zoo-record.html", 2)],
        "Other messages of clients": [("Zoo-2.html", 1)],
    }


def test_what_has_no_partner_has_a_page_of_its_own(tmp_path: Path) -> None:
    write_set(tmp_path, request("AskRequest"), settings='title = "Draft"\ndraft = true\n')
    assert page_names(tmp_path) == {"APIs": [("Ask.html", 1)]}


def test_a_choice_has_the_spans_in_which_no_part_changes(tmp_path: Path) -> None:
    keys = {"apiKey": 1, "validVersions": "0-5"}
    write_set(
        tmp_path,
        message_spec("AskRequest", field_spec(versions="2+"), type="request", **keys),
        message_spec("AskResponse", field_spec(versions="4+"), type="response", **keys),
    )
    spec_set, _ = load_set(tmp_path)
    assert spec_set is not None
    (page,) = guide_set(spec_set, "set").pages
    assert [str(span) for span in shared_versions(page.parts)] == ["4-5", "2-3", "0-1"]
