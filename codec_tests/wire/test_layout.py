"""`Layout.at`: what a version holds."""

from __future__ import annotations

import pytest

from kraftwire_messages.kafka import FetchResponse
from kraftwire_wire.layout import Array, Field, Layout, StructType

VERSIONS, FLEXIBLE = range(4), range(2, 4)
LAYOUT = Layout(
    "Example",
    VERSIONS,
    FLEXIBLE,
    (
        Field("late", "Late", "int32", range(1, 4), 0, tag=1, tagged=range(3, 4)),
        Field("text", "Text", "string", VERSIONS, "", nullable=range(1, 3)),
        Field("plain", "Plain", "bytes", VERSIONS, b"", flexible=range(3, 4)),
        Field("first", "First", StructType("S"), range(2, 4), None, tag=0, tagged=FLEXIBLE),
    ),
)


@pytest.mark.parametrize(
    ("version", "ordinary", "tagged", "absent", "refused"),
    [
        (0, ["text", "plain"], [], ["late", "first"], ["late", "first"]),
        (1, ["late", "text", "plain"], [], ["first"], ["late", "first"]),
        (2, ["late", "text", "plain"], ["first"], [], ["late"]),
        (3, ["text", "plain"], ["first", "late"], [], []),
    ],
)
def test_where_a_version_has_each_field(
    version: int, ordinary: list[str], tagged: list[str], absent: list[str], refused: list[str]
) -> None:
    found = LAYOUT.at(version)
    assert found.flexible is (version in FLEXIBLE)
    assert [field.name for field in found.ordinary] == ordinary
    assert [field.name for field in found.tagged] == tagged
    assert [field.name for field in found.absent] == absent
    assert [field.name for field in found.refused] == refused
    in_spec_order = [field.name for field in LAYOUT.fields if field.name not in absent]
    assert [field.name for field in found.present] == in_spec_order


def test_what_each_version_says_of_a_field() -> None:
    def of(version: int, name: str) -> tuple[int | None, bool, bool]:
        (field,) = (field for field in LAYOUT.at(version).present if field.name == name)
        return field.tag, field.nullable, field.compact

    assert [of(version, "text") for version in VERSIONS] == [
        (None, False, False),
        (None, True, False),
        (None, True, True),
        (None, False, True),
    ]
    assert [of(version, "plain")[2] for version in VERSIONS] == [False, False, False, True]
    assert [of(version, "late")[0] for version in (1, 2, 3)] == [None, None, 1]


def test_types_are_data() -> None:
    fields = {field.name: field for field in FetchResponse.LAYOUT.fields}
    responses, endpoints = fields["responses"], fields["node_endpoints"]
    assert responses.type == Array(StructType("FetchableTopicResponse"))
    assert str(responses.type) == "[]FetchableTopicResponse"
    assert responses.struct_class(FetchResponse) is FetchResponse.FetchableTopicResponse
    assert (endpoints.is_array, endpoints.is_struct, fields["session_id"].type) == (
        True,
        True,
        "int32",
    )


def test_a_struct_may_take_no_bytes() -> None:
    class Message:
        class S:
            LAYOUT = Layout("S", VERSIONS, FLEXIBLE, ())

    holder = Layout("H", VERSIONS, FLEXIBLE, (Field("s", "S", StructType("S"), VERSIONS, ()),))
    assert [holder.at(version).takes_bytes(Message) for version in (1, 2)] == [False, True]
