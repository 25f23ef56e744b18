"""The JSON form keeps every message, and refuses whatever is not the form of one."""

from __future__ import annotations

import base64
import json
import math
import random
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import DecodeError, EncodeError, UnsupportedVersion
from kraftwire_wire.json_form import UNKNOWN_TAGS

from codec_tests.compile_spec import compile_spec
from codec_tests.strategies import messages, random_message, same

SEEDS = range(5)


def load(obj: object) -> Any:
    """The object after a way through text."""
    return json.loads(json.dumps(obj))


# -- round trips -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", registry)
def test_every_version_round_trips_through_json(name: str) -> None:
    message_type = registry.message(name)
    for version in message_type.VALID_VERSIONS:
        for seed in SEEDS:
            case = f"{name} version {version}, seed {seed}"
            message = random_message(message_type, version, random.Random(case))
            lossless = message.to_json(version)
            assert same(message_type.from_json(load(lossless), version), message), case
            java = message.to_json(version, style="java")
            again = message_type.from_json(load(java), version)
            assert again.to_json(version, style="java") == java or "NaN" in str(java), case
            again.encode(version)


SELECTED = [
    ("ConsumerGroupHeartbeatResponse", 1),
    ("ConsumerGroupMemberMetadataValue", 0),
    ("DescribeClientQuotasResponse", 0),
    ("FetchRequest", 17),
    ("FetchResponse", 12),
    ("ProduceRequest", 9),
    ("VoteRequest", 2),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "version"), SELECTED)
@settings(max_examples=40)
@given(data=st.data())
def test_selected(name: str, version: int, data: st.DataObject) -> None:
    message = data.draw(messages(registry.message(name), version))
    assert same(type(message).from_json(load(message.to_json(version)), version), message)


# -- reading whatever there is -------------------------------------------------------------------

_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers().map(lambda number: number << 20_000)
    | st.floats()
    | st.text()
    | st.sampled_from(["", "AQI=", "AAAAAAAAAAAAAAAAAAAAAA", "NaN", "\ud800", "a" * 32768])
)
_anything = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=5) | st.just(UNKNOWN_TAGS), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(("name", "version"), SELECTED)
@settings(max_examples=100)
@given(data=st.data())
def test_damaged_objects_are_refused(name: str, version: int, data: st.DataObject) -> None:
    """A message that encodes, or a DecodeError; nothing else."""
    message_type = registry.message(name)
    seed = data.draw(st.integers(0, 1000))
    obj = random_message(message_type, version, random.Random(seed)).to_json(version)
    damaged = _damage(obj, data)
    try:
        message = message_type.from_json(damaged, version)
    except DecodeError as error:
        offset = error.offset
    else:
        message.encode(version)
        offset = None
    assert offset is None


def _damage(obj: Any, data: st.DataObject) -> Any:
    """The object with one value, key or element of it replaced, added or removed."""
    if isinstance(obj, dict) and obj and data.draw(st.integers(0, 9)):
        key = data.draw(st.sampled_from(sorted(obj)))
        if not data.draw(st.integers(0, 4)):
            return {name: value for name, value in obj.items() if name != key}
        return {**obj, key: _damage(obj[key], data)}
    if isinstance(obj, list) and obj and data.draw(st.integers(0, 9)):
        index = data.draw(st.integers(0, len(obj) - 1))
        return [*obj[:index], _damage(obj[index], data), *obj[index + 1 :]]
    if isinstance(obj, dict) and data.draw(st.booleans()):
        return {**obj, data.draw(st.text(max_size=5) | st.integers()): data.draw(_anything)}
    return data.draw(_anything)


@pytest.mark.slow
def test_endless_nesting_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    endless: list[Any] = []
    endless.append(endless)
    vote = registry.message("VoteRequest")
    topics = {"clusterId": None, "topics": deep}
    for obj in (deep, endless, topics, {"clusterId": deep, "topics": []}, {"topics": [endless]}):
        with pytest.raises(DecodeError):
            vote.from_json(obj, 0)


# -- single rules ----------------------------------------------------------------------------------

_TOPIC = {"topicName": "t", "partitions": []}
_PARTITION = {
    "partitionIndex": 0,
    "replicaEpoch": 0,
    "replicaId": 0,
    "lastOffsetEpoch": 0,
    "lastOffset": 0,
}


def _vote(*partitions: object) -> dict[str, Any]:
    return {"clusterId": None, "topics": [_TOPIC, {**_TOPIC, "partitions": list(partitions)}]}


@pytest.mark.parametrize(
    ("obj", "path", "reason"),
    [
        ([], "", "expected an object, got an array"),
        ({"topics": []}, "clusterId", "missing; it is mandatory in version 0"),
        ({**_vote(), "Topics": []}, "Topics", "VoteRequest has no field of this name"),
        (dict([*_vote().items(), (5, 6)]), "", "a key that is 5; keys are strings"),
        (
            {**_vote(), "voterId": 1},
            "voterId",
            "not a field of version 0; its versions are 1-2",
        ),
        ({**_vote(), "topics": None}, "topics", "null, but the field is not nullable in version 0"),
        (_vote(3), "topics[1].partitions[0]", "expected an object, got 3"),
        (
            _vote(_PARTITION, {**_PARTITION, "replicaId": 1 << 31}),
            "topics[1].partitions[1].replicaId",
            "2147483648 does not fit into int32",
        ),
        (
            _vote({**_PARTITION, "replicaId": True}),
            "topics[1].partitions[0].replicaId",
            "expected int32, got true",
        ),
        (
            _vote({**_PARTITION, UNKNOWN_TAGS: [{"tag": 1, "data": "AA"}]}),
            f"topics[1].partitions[0].{UNKNOWN_TAGS}[0].data",
            'expected base64, got "AA"',
        ),
        (
            {**_vote(), UNKNOWN_TAGS: [{"tag": 3, "data": ""}, {"tag": 3, "data": ""}]},
            f"{UNKNOWN_TAGS}[1].tag",
            "tag 3 after tag 3; tags must ascend",
        ),
    ],
)
def test_errors_name_the_place(obj: object, path: str, reason: str) -> None:
    with pytest.raises(DecodeError) as caught:
        registry.message("VoteRequest").from_json(obj, 0)
    assert (caught.value.path, caught.value.reason) == (path, reason)


def _example(*fields: dict[str, Any], versions: str = "0-2") -> type[Any]:
    return compile_spec(
        {
            "type": "data",
            "name": "Example",
            "validVersions": versions,
            "flexibleVersions": "1+",
            "fields": list(fields),
        }
    )


def test_unsupported_versions_are_refused() -> None:
    vote = registry.message("VoteRequest")
    with pytest.raises(UnsupportedVersion):
        vote().to_json(3)
    with pytest.raises(UnsupportedVersion):
        vote.from_json({}, 3)


def test_an_unknown_style_is_refused() -> None:
    style: Any = "Java"
    with pytest.raises(ValueError, match="Java"):
        registry.message("VoteRequest")().to_json(0, style=style)


def test_unknown_tags() -> None:
    vote: Any = registry.message("VoteRequest")
    message = vote()
    message.unknown_tagged_fields = [(3, b"\x01")]
    assert message.to_json(0)[UNKNOWN_TAGS] == [{"tag": 3, "data": "AQ=="}]
    assert UNKNOWN_TAGS not in message.to_json(0, style="java")
    example = _example({"name": "A", "type": "int8", "versions": "0+"})
    with pytest.raises(EncodeError) as caught:
        example(unknown_tagged_fields=[(3, b"")]).to_json(0)
    assert caught.value.path == "unknown_tagged_fields"
    with pytest.raises(DecodeError, match="version 0 has no tagged fields"):
        example.from_json({"a": 1, UNKNOWN_TAGS: []}, 0)


def test_an_unknown_tag_that_is_known_and_set() -> None:
    example = _example(
        {"name": "A", "type": "int8", "versions": "1+", "tag": 0, "taggedVersions": "1+"}
    )
    obj = {"a": 1, UNKNOWN_TAGS: [{"tag": 0, "data": ""}]}
    with pytest.raises(DecodeError, match="is set there"):
        example.from_json(obj, 1)


def test_fields_of_other_versions() -> None:
    example = _example(
        {"name": "A", "type": "int8", "versions": "1+"},
        {"name": "B", "type": "int8", "versions": "1+", "ignorable": True},
    )
    assert example(b=1).to_json(0) == {}
    with pytest.raises(EncodeError) as written:
        example(a=1).to_json(0)
    with pytest.raises(EncodeError) as encoded:
        example(a=1).encode(0)
    assert str(written.value) == str(encoded.value)


def test_records() -> None:
    example = _example({"name": "R", "type": "records", "versions": "0+", "nullableVersions": "0+"})
    assert example(r=b"\x01").to_json(0) == {"r": "AQ=="}
    assert example(r=b"\x01").to_json(0, style="java") == {"r": ""}
    assert example(r=None).to_json(0, style="java") == {"r": None}
    assert example.from_json({"rSizeInBytes": 7}, 0) == example(r=b"")
    for obj in ({}, {"rSizeInBytes": -1}, {"rSizeInBytes": None}, {"r": "", "rSizeInBytes": 0}):
        with pytest.raises(DecodeError):
            example.from_json(obj, 0)


def test_optional_structs() -> None:
    """None is not sent where the struct is tagged, and a struct of defaults before that."""
    example = _example(
        {
            "name": "S",
            "type": "S",
            "versions": "0+",
            "tag": 0,
            "taggedVersions": "1+",
            "fields": [{"name": "X", "type": "int8", "versions": "0+"}],
        }
    )
    assert example().to_json(0) == {"s": {"x": 0}}
    assert example().to_json(1) == example(s=example.S()).to_json(1) == {}
    assert example(s=example.S(x=1)).to_json(1) == {"s": {"x": 1}}
    with pytest.raises(DecodeError):
        example.from_json({"s": None}, 1)


def test_floats() -> None:
    example = _example({"name": "F", "type": "float64", "versions": "0+"})
    for value, form in [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")]:
        assert example(f=value).to_json(0) == {"f": form}
        assert same(example.from_json({"f": form}, 0), example(f=value))
    assert example.from_json({"f": 2}, 0).f == 2.0
    wrong: tuple[object, ...] = ("nan", "1", True, None, 10**400, [])
    for obj in wrong:
        with pytest.raises(DecodeError):
            example.from_json({"f": obj}, 0)


@pytest.mark.parametrize("wrong", ["A" * 21, "A" * 23, "A" * 22 + "=", "+" * 22, "\u00e9" * 22, 5])
def test_uuids(wrong: object) -> None:
    example = _example({"name": "U", "type": "uuid", "versions": "0+"})
    value = uuid.UUID(int=(62 << 122) + 5)
    text = example(u=value).to_json(0)["u"]
    assert text == base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
    assert example.from_json({"u": text}, 0) == example.from_json({"u": text + "=="}, 0)
    with pytest.raises(DecodeError):
        example.from_json({"u": wrong}, 0)


def test_json_text_has_the_values_of_the_bytes() -> None:
    """Lone surrogates are written as question marks, and pairs as the character they mean."""
    example = _example({"name": "T", "type": "string", "versions": "0+"})
    message = example(t="a\ud800b\ud83d\ude00")
    assert message.to_json(0) == {"t": "a?b\U0001f600"}
    assert example.from_json(message.to_json(0), 0) == example.decode(message.encode(0), 0)


def test_the_json_form_accepts_the_same_values_as_the_bytes() -> None:
    """Values that `encode` accepts without being of the type themselves."""
    example = _example(
        {"name": "I", "type": "int8", "versions": "0+"},
        {"name": "F", "type": "float64", "versions": "0+"},
        {"name": "B", "type": "bytes", "versions": "0+"},
        {"name": "L", "type": "[]int8", "versions": "0+"},
    )
    message = example(i=True, f=1, b=bytearray(b"\x01"), l=(1, False))
    for style in ("lossless", "java"):
        written = message.to_json(0, style=style)
        assert json.dumps(written) == '{"i": 1, "f": 1.0, "b": "AQ==", "l": [1, 0]}'
        assert example.from_json(written, 0) == example.decode(message.encode(0), 0)
    too_large = 10**5000
    wrong: dict[str, Any]
    for wrong in ({"i": 300}, {"i": too_large}, {"f": "x"}, {"b": "x"}, {"l": None}, {"l": [300]}):
        with pytest.raises(EncodeError) as encoded:
            example(**wrong).encode(0)
        with pytest.raises(EncodeError) as written_error:
            example(**wrong).to_json(0)
        assert str(encoded.value) == str(written_error.value)
