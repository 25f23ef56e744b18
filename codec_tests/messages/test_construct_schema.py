"""The construct schemas and the emitted code agree on every message, byte by byte.

Both come from the same specs, but share no code that reads or writes: whatever one of them
gets wrong, the other one shows.
"""

from __future__ import annotations

import random
from typing import Any

import construct  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftwire.construct_schema import UNKNOWN_TAGS, UVARINT, as_container, schema
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import DecodeError, UnsupportedVersion

from codec_tests.compile_spec import compile_spec
from codec_tests.strategies import messages, random_message, same

SEEDS = range(5)
DAMAGED_SEEDS = range(20)

# Between them: nullable and optional structs, tags in nested structs, floats, the string
# that stays classic, records, versions on both sides of the flexible ones.
SELECTED = [
    ("ApiVersionsResponse", 3),
    ("ConsumerGroupHeartbeatResponse", 1),
    ("ConsumerGroupMemberMetadataValue", 0),
    ("DescribeClientQuotasResponse", 0),
    ("FetchRequest", 17),
    ("FetchRequest", 4),
    ("FetchResponse", 16),
    ("ProduceRequest", 3),
    ("RequestHeader", 2),
    ("StreamsGroupHeartbeatRequest", 0),
]


@pytest.mark.parametrize("name", registry)
def test_every_version_agrees_with_the_emitted_code(name: str) -> None:
    message_type = registry.message(name)
    for version in message_type.VALID_VERSIONS:
        both = schema(message_type, version)
        for seed in SEEDS:
            case = f"{name} version {version}, seed {seed}"
            message = random_message(message_type, version, random.Random(case))
            data = message.encode(version)
            assert same(message_type.decode(data, version), message), case
            container = as_container(message, version)
            assert both.build(container) == data, case
            assert same(both.parse(data), container), case


@pytest.mark.parametrize("name", registry)
def test_damaged_bytes_are_refused_alike(name: str) -> None:
    """Both refuse the same inputs, and read the same out of those that they take."""
    message_type = registry.message(name)
    for version in message_type.VALID_VERSIONS:
        for seed in DAMAGED_SEEDS:
            case = f"{name} version {version}, seed {seed}"
            rng = random.Random(case)
            data = _damage(random_message(message_type, version, rng).encode(version), rng)
            try:
                container = schema(message_type, version).parse(data)
            except construct.ConstructError:
                with pytest.raises(DecodeError):
                    message_type.decode(data, version)
                continue
            message = message_type.decode(data, version)
            if message.encode(version) == data:
                assert same(container, as_container(message, version)), case


def _damage(data: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        position = rng.randrange(len(damaged) + 1)
        match rng.randrange(4):
            case 0:
                damaged[position : position + 1] = rng.choice(
                    (b"\x00", b"\x01", b"\x02", b"\x7f", b"\x80", b"\xff", rng.randbytes(1))
                )
            case 1:
                damaged[position:position] = rng.randbytes(rng.choice((1, 1, 4)))
            case 2:
                del damaged[position : position + rng.choice((1, 2, 5))]
            case 3:
                del damaged[position:]
    return bytes(damaged)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "version"), SELECTED)
@settings(max_examples=40)
@given(data=st.data())
def test_selected(name: str, version: int, data: st.DataObject) -> None:
    message = data.draw(messages(registry.message(name), version))
    raw = message.encode(version)
    assert same(type(message).decode(raw, version), message)
    assert schema(type(message), version).build(as_container(message, version)) == raw
    assert same(schema(type(message), version).parse(raw), as_container(message, version))


# What the language allows and no message of Kafka has: fields that become tags, forms that
# change on the way, a default that is not equal to itself.
SHAPES = {
    "type": "data",
    "name": "Shapes",
    "validVersions": "0-3",
    "flexibleVersions": "2+",
    "fields": [
        {"name": "Int", "type": "int32", "versions": "0+", "tag": 3, "taggedVersions": "3+"},
        {
            "name": "Part",
            "type": "Part",
            "versions": "0+",
            "tag": 0,
            "taggedVersions": "2+",
            "fields": [{"name": "X", "type": "int8", "versions": "0+"}],
        },
        {
            "name": "Text",
            "type": "string",
            "versions": "0+",
            "nullableVersions": "1+",
            "tag": 1,
            "taggedVersions": "3+",
            "default": "q",
        },
        {
            "name": "Number",
            "type": "float64",
            "versions": "2+",
            "tag": 2,
            "taggedVersions": "2+",
            "default": "NaN",
        },
        {"name": "Late", "type": "bytes", "versions": "0+", "flexibleVersions": "3+"},
        {
            "name": "Never",
            "type": "string",
            "versions": "0+",
            "flexibleVersions": "none",
            "nullableVersions": "2+",
        },
    ],
}


@pytest.mark.parametrize("version", range(4))
def test_shapes_beyond_kafka(version: int) -> None:
    message_type = compile_spec(SHAPES)
    both = schema(message_type, version)
    for seed in range(200):
        message = random_message(message_type, version, random.Random(seed))
        data = message.encode(version)
        assert same(message_type.decode(data, version), message), seed
        assert both.build(as_container(message, version)) == data, seed
        assert same(both.parse(data), as_container(message, version)), seed
        again = message_type.from_json(message.to_json(version), version)
        assert same(again, message), seed


def test_an_unsupported_version_is_refused() -> None:
    message_type = registry.message("VoteRequest")
    with pytest.raises(UnsupportedVersion):
        schema(message_type, 99)
    with pytest.raises(UnsupportedVersion):
        as_container(message_type(), 99)


def test_containers_are_plain() -> None:
    message_type = registry.message("VoteRequest")
    empty = schema(message_type, 0).parse(message_type().encode(0))
    assert dict(empty) == {"cluster_id": None, "topics": [], UNKNOWN_TAGS: []}
    old = registry.message("ListOffsetsRequest")
    assert UNKNOWN_TAGS not in schema(old, 1).parse(old().encode(1))


def test_a_default_that_was_sent_is_kept() -> None:
    """Parsing and building is the identity where decoding and encoding shortens."""
    message_type = registry.message("ApiVersionsResponse")
    both = schema(message_type, 3)
    plain = message_type().encode(3)
    sent = plain[:-1] + bytes([1, 1, 8]) + (-1).to_bytes(8, "big", signed=True)
    assert both.parse(sent).finalized_features_epoch == -1
    assert both.build(both.parse(sent)) == sent
    assert message_type.decode(sent, 3).encode(3) == plain


@pytest.mark.parametrize(
    ("value", "raw"), [(0, "00"), (127, "7f"), (128, "8001"), (0xFFFFFFFF, "ffffffff0f")]
)
def test_varints(value: int, raw: str) -> None:
    assert UVARINT.build(value) == bytes.fromhex(raw)
    assert UVARINT.parse(bytes.fromhex(raw)) == value


@pytest.mark.parametrize("raw", ["80", "ffffffff80", "ffffffffff01"])
def test_endless_varints_are_refused(raw: str) -> None:
    with pytest.raises(construct.ConstructError):
        UVARINT.parse(bytes.fromhex(raw))


def test_counts_beyond_the_input_allocate_nothing() -> None:
    message_type: Any = registry.message("ListOffsetsRequest")
    data = (0).to_bytes(4, "big") + (0x7FFFFFFF).to_bytes(4, "big")
    with pytest.raises(construct.ConstructError):
        schema(message_type, 1).parse(data)


def test_lone_surrogates() -> None:
    message_type: Any = registry.message("VoteRequest")
    message = message_type(cluster_id="a\ud800b\ud83d\ude00")
    assert schema(message_type, 0).build(as_container(message, 0)) == message.encode(0)


@pytest.mark.parametrize(("tag", "accepted"), [(0x7FFFFFFE, True), (0x7FFFFFFF, False)])
def test_the_highest_tag(tag: int, *, accepted: bool) -> None:
    """Tags that could not be written back are not read."""
    message_type = registry.message("VoteRequest")
    data = message_type().encode(0)[:-1] + b"\x01" + UVARINT.build(tag) + b"\x00"
    if accepted:
        assert schema(message_type, 0).parse(data)[UNKNOWN_TAGS] == [(tag, b"")]
        assert message_type.decode(data, 0).encode(0) == data
        return
    with pytest.raises(construct.ConstructError):
        schema(message_type, 0).parse(data)
    with pytest.raises(DecodeError):
        message_type.decode(data, 0)
