"""The engines do what the emitted code does, or leave it to the emitted code.

Every other test of codecs runs through an engine already, with the emitted code behind it.
Here the engines are called alone, so that giving up cannot hide what they get wrong: the
functions in Python that are made for one version, and the native engine.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire_messages.kafka import FetchResponse, MetadataResponse, VoteRequest, registry
from kraftwire_wire.codec import Codec
from kraftwire_wire.engine import ENGINE, native_codec
from kraftwire_wire.errors import DecodeError, EncodeError
from kraftwire_wire.message import Message, Struct
from kraftwire_wire.specialized import SpecializedCodec
from kraftwire_wire.specialized_reader import specialized_reader, wide_length
from kraftwire_wire.specialized_source import GIVES_UP, Unusual, uuid_of
from kraftwire_wire.specialized_writer import specialized_writer, wide

from codec_tests.compile_spec import compile_spec
from codec_tests.fuzz.mutants import mutants
from codec_tests.spec_files import MOVED, MOVED_TOO_EARLY, field_spec, message_spec
from codec_tests.strategies import random_message, same


class Engine(NamedTuple):
    """How an engine reads and writes alone, for a message and a version."""

    reader: Callable[[Any, int], Callable[[bytes, int], tuple[Any, int]]]
    writer: Callable[[Any, int], Callable[[Any], bytes]]


ENGINES = {"specialized": Engine(specialized_reader, specialized_writer)}
if native_codec() is not None:
    ENGINES["native"] = Engine(
        lambda cls, version: native_codec()(cls, version).read,
        lambda cls, version: native_codec()(cls, version).write,
    )


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


def test_the_native_engine_exists_if_a_compiler_does() -> None:
    assert ("native" in ENGINES) == (shutil.which("cc") is not None)
    assert (
        os.environ.get("KRAFTWIRE_ENGINE", "native" if "native" in ENGINES else "python") == ENGINE
    )


def has_unknown_tags(value: object) -> bool:
    """Writing unknown tags is left to the emitted code."""
    if isinstance(value, list):
        return any(map(has_unknown_tags, value))
    if not isinstance(value, Struct):
        return False
    fields = [getattr(value, field.name) for field in value.LAYOUT.fields]
    return bool(value.unknown_tagged_fields) or has_unknown_tags(fields)


@pytest.mark.parametrize("name", list(registry))
def test_engines_read_and_write_like_the_emitted_code(name: str, engine: Engine) -> None:
    cls = registry.message(name)
    rng = random.Random(name)
    for version in cls.VALID_VERSIONS:
        emitted = Codec(cls, version)
        read, write = engine.reader(cls, version), engine.writer(cls, version)
        for _ in range(4):
            value: Message = random_message(cls, version, rng)
            if has_unknown_tags(value):
                with pytest.raises(Unusual):
                    write(value)
            value = random_message(cls, version, rng, unknown_tags=False)
            data = emitted.encode(value)
            assert write(value) == data
            decoded, end = read(b"abc" + data, 3)
            assert end == len(data) + 3
            assert same(decoded, value)
            for mutant in mutants(data, 10, rng):
                assert_read_alike(emitted, read, mutant)


def assert_read_alike(emitted: Codec[Any], read: Any, data: bytes) -> None:
    """Where the function gives a message, the emitted code gives the same."""
    try:
        decoded, end = read(data, 0)
    except GIVES_UP:
        return
    expected, expected_end = emitted.decode_from(data)
    assert (end, same(decoded, expected)) == (expected_end, True), data.hex()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["MetadataResponse", "FetchResponse", "JoinGroupResponse"])
def test_long_values_do_not_make_them_give_up(name: str, engine: Engine) -> None:
    cls = registry.message(name)
    for version in cls.VALID_VERSIONS:
        value: Any = cls()
        if name == "MetadataResponse":
            partitions = [cls.MetadataResponsePartition(replica_nodes=list(range(40)))] * 300
            value.topics = [cls.MetadataResponseTopic(name="x" * 30_000, partitions=partitions)]
        elif name == "FetchResponse":
            aborted = [cls.AbortedTransaction(producer_id=n, first_offset=-n) for n in range(400)]
            partition = cls.PartitionData(records=bytes(70_000), aborted_transactions=aborted)
            value.responses = [cls.FetchableTopicResponse(partitions=[partition] * 130)]
        else:
            value.members = [cls.JoinGroupResponseMember(metadata=bytes(200))] * 200
        data = Codec(cls, version).encode(value)
        assert engine.writer(cls, version)(value) == data
        assert engine.reader(cls, version)(data, 0) == (value, len(data))


@pytest.mark.parametrize(
    "length",
    ["8000", "8100", "ff00", "818080808000", "8180808010", "ffffffff7f", "ffffffff0f", "80808008"],
)
def test_odd_lengths_are_left_to_the_emitted_code(length: str, engine: Engine) -> None:
    data = bytes.fromhex(length) + bytes(200)
    emitted, read = Codec(VoteRequest, 2), engine.reader(VoteRequest, 2)
    with pytest.raises(GIVES_UP):
        read(data, 0)
    try:
        expected: object = emitted.decode(data)
    except DecodeError as error:
        expected = str(error)
    try:
        found: object = VoteRequest.codec(2).decode(data)
    except DecodeError as error:
        found = str(error)
    assert found == expected


@given(st.integers(128, 2**31 - 1))
def test_wide_lengths_come_back(number: int) -> None:
    raw = wide(number)
    assert wide_length(b"\xff" + raw, 1) == (number, len(raw) + 1)


@given(st.uuids(version=None))
def test_uuids_are_made_whole(value: UUID) -> None:
    made = uuid_of(value.bytes)
    assert (made, hash(made), repr(made), made.is_safe) == (
        value,
        hash(value),
        repr(value),
        value.is_safe,
    )


def test_a_subclass_is_read_by_the_emitted_code() -> None:
    class MyRequest(VoteRequest):
        def __init__(self, **fields: Any) -> None:
            super().__init__(**fields)
            self.made = True

    decoded = MyRequest.codec(2).decode(VoteRequest(voter_id=7).encode(2))
    assert (decoded.made, decoded.voter_id) == (True, 7)
    assert type(MyRequest.codec(2)) is Codec
    assert type(VoteRequest.codec(2)) is (
        native_codec() if ENGINE == "native" else SpecializedCodec
    )
    assert MyRequest(voter_id=7).encode(2) == VoteRequest(voter_id=7).encode(2)


@pytest.mark.parametrize("position", [-1, -5, 10_000])
def test_positions_outside_the_input_are_refused(position: int) -> None:
    data = MetadataResponse().encode(9)
    for codec in (Codec(MetadataResponse, 9), MetadataResponse.codec(9)):
        with pytest.raises(DecodeError, match=f"position {position} is not within"):
            codec.decode_from(data, position)


@pytest.mark.parametrize(
    "value",
    [
        MetadataResponse(topics=({},)),
        MetadataResponse(topics=[FetchResponse.FetchableTopicResponse()]),
        MetadataResponse(brokers=[MetadataResponse.MetadataResponseBroker(host=b"h")]),
        MetadataResponse(controller_id=2**31),
        MetadataResponse(topics=[MetadataResponse.MetadataResponseTopic(is_internal=2)]),
        MetadataResponse(topics=[MetadataResponse.MetadataResponseTopic(topic_id="x")]),
        MetadataResponse(unknown_tagged_fields=[(-1, b"")]),
        VoteRequest(),
    ],
)
def test_wrong_values_are_left_to_the_emitted_code(value: Any) -> None:
    errors = []
    for codec in (Codec(MetadataResponse, 12), MetadataResponse.codec(12)):
        with pytest.raises(EncodeError) as caught:
            codec.encode(value)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_deeply_nested_structs_round_trip() -> None:
    fields: list[dict[str, Any]] = [field_spec("Leaf", "int32")]
    for depth in range(40):
        fields = [field_spec(f"Level{depth}", f"[]Struct{depth}", fields=fields)]
    cls: Any = compile_spec(message_spec("Deep", *fields))
    value = cls()
    inner = value
    for depth in reversed(range(40)):
        struct = getattr(cls, f"Struct{depth}")()
        setattr(inner, f"level{depth}", [struct])
        inner = struct
    data = value.encode(0)
    assert data == Codec(cls, 0).encode(value)
    assert cls.decode(data, 0) == value


def test_a_tag_that_another_version_gave_to_an_ordinary_field(engine: Engine) -> None:
    cls: Any = compile_spec(MOVED)
    with pytest.raises(DecodeError, match="a: tag sent in version 0, which does not have it"):
        Codec(cls, 0).decode(MOVED_TOO_EARLY)
    with pytest.raises(GIVES_UP):
        engine.reader(cls, 0)(MOVED_TOO_EARLY, 0)


def test_defaults_that_are_equal_and_not_the_same(engine: Engine) -> None:
    fields = [
        field_spec("Plus", "float64", versions="1+", default="0.0"),
        field_spec("Minus", "float64", versions="1+", default="-0.0"),
        field_spec("There", "int8"),
    ]
    cls: Any = compile_spec(message_spec("Signs", *fields, validVersions="0-1"))
    decoded, _ = engine.reader(cls, 0)(b"\x01", 0)
    assert repr(decoded) == repr(Codec(cls, 0).decode(b"\x01"))
