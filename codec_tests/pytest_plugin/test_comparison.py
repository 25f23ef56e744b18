"""`assert_same_message`: what it takes, and what it says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.difference import ABSENT, as_tree, differences, first_difference, path_at
from kraftwire.pytest_plugin import assert_same_message
from kraftwire_messages.kafka import MetadataRequest, ProduceRequest, registry

from codec_tests.capture.replaying import batch, produce

TOPIC = MetadataRequest.MetadataRequestTopic


def asked(*names: str) -> MetadataRequest:
    return MetadataRequest(topics=[TOPIC(name=name) for name in names])


def complaint(*args: Any, **settings: Any) -> list[str]:
    with pytest.raises(AssertionError) as caught:
        assert_same_message(*args, **settings)
    return str(caught.value).splitlines()


def test_what_is_equal_passes() -> None:
    assert_same_message(asked("tea"), asked("tea"))
    assert_same_message(asked("tea").encode(9), asked("tea"), version=9)
    assert_same_message(
        asked("tea").encode(9), asked("tea").encode(9), message=MetadataRequest, version=9
    )
    assert_same_message({"a": [1, None]}, {"a": [1, None]})


def test_every_difference_has_path_and_both_values() -> None:
    lines = complaint(asked("tea", "milk"), asked("cups"))
    assert lines[0] == "MetadataRequest differs from the expected one:"
    assert lines[1].split() == ["path", "actual", "expected"]
    assert lines[2].split() == ["topics[0].name", "'tea'", "'cups'"]
    assert lines[3].startswith("  topics[1]")
    assert lines[3].endswith("(absent)")


def test_bytes_have_the_first_byte_that_differs() -> None:
    lines = complaint(
        asked("tea").encode(9), asked("ted").encode(9), message=MetadataRequest, version=9
    )
    assert lines[-3:] == [
        "first differing byte: 4 in topics[0].name",
        "  actual    02 04 74 65 [61] 00 01 00 00 00",
        "  expected  02 04 74 65 [64] 00 01 00 00 00",
    ]


def test_an_encoding_can_differ_where_no_field_does() -> None:
    plain = asked("tea").encode(9)
    overlong = b"\x82\x00" + plain[1:]
    lines = complaint(overlong, plain, message=MetadataRequest, version=9)
    assert "all fields are equal, but their encodings differ" in lines[1]
    assert lines[2] == "first differing byte: 0 in topics"


def test_records_are_opened() -> None:
    found = complaint(produce(batch(0, b"one")), produce(batch(0, b"two")))
    assert found[2].split() == [
        "topic_data[0].partition_data[0].records[0].records[0].value",
        "b'one'",
        "b'two'",
    ]
    ignore = ["ProduceRequest.topic_data.partition_data.records.*timestamp"]
    ignore += ["ProduceRequest.topic_data.partition_data.records.records.timestamp"]
    later = produce(batch(0, b"one", timestamp=5))
    assert len(complaint(later, produce(batch(0, b"one")))) == 5
    assert_same_message(later, produce(batch(0, b"one")), ignore=ignore)


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(TypeError, match="message= and version="):
        assert_same_message(b"", b"")
    assert complaint(asked("tea"), ProduceRequest()) == ["MetadataRequest, expected ProduceRequest"]
    (line,) = complaint(b"\x05", asked("tea"), version=9)
    assert line.startswith("actual is not MetadataRequest version 9: topics")


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=10,
)


@given(trees, trees)
def test_differences_are_those_of_repr_or_of_equality(one: Any, other: Any) -> None:
    """Trees of equal repr have none, and trees that are not equal have some."""
    assert differences(one, one) == []
    found = differences(one, other)
    if repr(one) == repr(other):
        assert found == []
    elif one != other:
        assert found != []
    assert len(found) == len(differences(other, one))


def test_absence_is_no_value() -> None:
    (found,) = differences({"a": None}, {})
    assert (found.path, found.actual, found.expected) == ("a", None, ABSENT)
    assert str(found) == "a: None, expected (absent)"


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_the_first_difference_is_where_equality_ends(one: bytes, other: bytes) -> None:
    at = first_difference(one, other)
    if at is None:
        assert one == other
    else:
        assert one[:at] == other[:at]
        assert one[at : at + 1] != other[at : at + 1]


def test_each_byte_belongs_to_a_field() -> None:
    data = asked("tea").encode(9)
    paths = [path_at(MetadataRequest, 9, data, at) for at in range(len(data))]
    assert paths[:3] == ["topics", "topics", "topics[0].name"]
    assert "allow_auto_topic_creation" in paths
    assert all(paths)


@pytest.mark.parametrize("key", registry.api_keys)
def test_every_message_has_a_tree(key: int) -> None:
    for message in (registry.request(key), registry.response(key)):
        version = message.VALID_VERSIONS[-1]
        assert set(as_tree(message(), version)) == {
            field.name for field in message.LAYOUT.fields if version in field.versions
        }


def test_dicts_may_hold_structs_and_tuples() -> None:
    assert_same_message(asked("tea"), {**as_tree(asked()), "topics": [TOPIC(name="tea")]})
    headers = {"headers": [("k", b"v"), ("l", float("nan"))]}
    assert_same_message(headers, {"headers": [["k", b"v"], ["l", float("nan")]]})
    assert_same_message([None, [1]], [None, [1]])
    assert complaint([None, [1]], [0, [1, None]])[2:] == [
        "  [0]     None      0",
        "  [1][1]  (absent)  None",
    ]
