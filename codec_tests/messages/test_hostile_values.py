"""Whatever code values run and whatever they claim to be, encoding gives bytes or `EncodeError`.

The bytes are those of a message, and all engines make the same of the same value.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any
from uuid import UUID

import pytest

from kraftwire_messages.kafka import (
    BrokerRegistrationChangeRecord,
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    MetadataResponse,
    ShareGroupTargetAssignmentMetadataValue,
    VoteRequest,
    registry,
)
from kraftwire_wire.codec import Codec
from kraftwire_wire.engine import native_codec
from kraftwire_wire.errors import EncodeError
from kraftwire_wire.message import Struct
from kraftwire_wire.specialized import SpecializedCodec

from codec_tests.extremes import extreme_message
from codec_tests.fuzz.hostile import (
    HOSTILE,
    LyingBytes,
    LyingInt,
    LyingList,
    LyingStr,
    LyingUuid,
    Raising,
    hostile_message,
    uuid_with,
)

CODECS: list[Any] = [Codec, SpecializedCodec]
if native_codec() is not None:
    CODECS.append(native_codec())


@pytest.fixture(params=CODECS, ids=lambda codec: codec.__name__)
def make(request: pytest.FixtureRequest) -> Any:
    return request.param


def outcome(codec: Any, message: Any) -> bytes | str:
    """The bytes, which must be those of a message, or the error in words."""
    try:
        data: bytes = codec.encode(message)
    except EncodeError as error:
        assert type(error.path) is str
        return str(error)
    again = codec.decode(data)
    assert codec.decode(codec.encode(again)) == again or "nan" in repr(again)
    return data


@cache
def codecs(cls: Any, version: int) -> list[Any]:
    """The codec of each engine."""
    return [make(cls, version) for make in CODECS]


def alike(message: Any, version: int) -> bytes | str:
    """What all engines make of a message."""
    cls: Any = type(message)
    found = [outcome(codec, message) for codec in codecs(cls, version)]
    assert found.count(found[0]) == len(found), found
    return found[0]


@pytest.mark.parametrize("name", list(registry))
def test_every_field_takes_hostile_values(name: str) -> None:
    cls = registry.message(name)
    for version in cls.VALID_VERSIONS[-1:]:
        message: Any = extreme_message(cls, version, "full")
        for struct in _first_structs(message):
            for field in struct.LAYOUT.fields:
                before = getattr(struct, field.name)
                for hostile in HOSTILE:
                    setattr(struct, field.name, hostile())
                    _found_at(field.name, alike(message, version))
                delattr(struct, field.name)
                found = alike(message, version)
                _found_at(field.name, found)
                setattr(struct, field.name, before)
            for hostile in HOSTILE:
                struct.unknown_tagged_fields = hostile()
                _found_at("unknown_tagged_fields", alike(message, version))
            struct.unknown_tagged_fields = []


def _found_at(name: str, found: bytes | str) -> None:
    assert isinstance(found, bytes) or name in found.partition(":")[0], found


def _first_structs(value: Any) -> list[Any]:
    if isinstance(value, list):
        return _first_structs(value[0]) if value else []
    if not isinstance(value, Struct):
        return []
    inner = [getattr(value, field.name) for field in value.LAYOUT.fields]
    return [value, *(struct for one in inner for struct in _first_structs(one))]


@pytest.mark.parametrize("name", list(registry))
def test_values_may_change_the_message_while_it_is_written(name: str) -> None:
    cls: Any = registry.message(name)
    rng = random.Random(name)
    for version in cls.VALID_VERSIONS:
        for codec in codecs(cls, version):
            for _ in range(3):
                outcome(codec, hostile_message(cls, version, codec.encode, rng))


def test_the_content_of_a_lying_value_is_written(make: Any) -> None:
    honest = MetadataResponse(cluster_id="text", controller_id=7)
    lying = MetadataResponse(cluster_id=LyingStr("text"), controller_id=LyingInt(7))
    for version in MetadataResponse.VALID_VERSIONS[2:]:
        codec = make(MetadataResponse, version)
        assert codec.encode(lying) == codec.encode(honest)
    topics = LyingList([MetadataRequest.MetadataRequestTopic(name=LyingStr("a"))])
    named = make(MetadataRequest, 5).encode(MetadataRequest(topics=topics))
    asked: Any = MetadataRequest.decode(named, 5)
    assert asked.topics[0].name == "a"
    request = FetchRequest(topics=[FetchRequest.FetchTopic(topic_id=LyingUuid(int=9))])
    expected = FetchRequest(topics=[FetchRequest.FetchTopic(topic_id=UUID(int=9))])
    assert make(FetchRequest, 17).encode(request) == make(FetchRequest, 17).encode(expected)
    partition = FetchResponse.PartitionData(records=LyingBytes(b"bytes"))
    response = FetchResponse(
        responses=[FetchResponse.FetchableTopicResponse(partitions=[partition])]
    )
    written = make(FetchResponse, 17).encode(response)
    decoded = FetchResponse.decode(written, 17)
    assert decoded.responses[0].partitions[0].records == b"bytes"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda: uuid_with(-1), "a UUID whose int is not a number from 0 to"),
        (lambda: uuid_with("x"), "a UUID whose int is not a number from 0 to"),
        (Raising, "expected uuid.UUID, got Raising"),
    ],
)
def test_uuids_without_a_number_are_refused(
    make: Any, value: Callable[[], Any], words: str
) -> None:
    message = FetchRequest(topics=[FetchRequest.FetchTopic(topic_id=value())])
    with pytest.raises(EncodeError, match=rf"^topics\[0\]\.topic_id: {words}"):
        make(FetchRequest, 17).encode(message)


class Failing:
    """A number whose conversion fails."""

    def __index__(self) -> int:
        raise ZeroDivisionError


def test_an_index_that_raises_is_an_encode_error(make: Any) -> None:
    failing: Any = Failing()
    message = VoteRequest(voter_id=failing)
    with pytest.raises(EncodeError, match="voter_id: Failing raised ZeroDivisionError"):
        make(VoteRequest, 2).encode(message)


class Popping:
    """A number that takes an element out of a list when it is written."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __index__(self) -> int:
        self.items.pop()
        return 1


def test_a_list_may_shrink_while_it_is_written(make: Any) -> None:
    for version in FetchRequest.VALID_VERSIONS:
        topics: list[Any] = []
        for _ in range(6):
            popping: Any = Popping(topics)
            partition = FetchRequest.FetchPartition(partition=popping)
            topics.append(FetchRequest.FetchTopic(partitions=[partition]))
        codec = make(FetchRequest, version)
        data = codec.encode(FetchRequest(topics=topics))
        assert len(codec.decode(data).topics) in range(7)


def test_another_thread_may_change_lists(make: Any) -> None:
    codec = make(MetadataResponse, 12)
    partition = MetadataResponse.MetadataResponsePartition(replica_nodes=list(range(30)))
    topic = MetadataResponse.MetadataResponseTopic(name="name", partitions=[partition] * 8)
    message = MetadataResponse(topics=[topic] * 4)
    lists: tuple[list[Any], ...] = (partition.replica_nodes, topic.partitions, message.topics)
    interval, stop = sys.getswitchinterval(), threading.Event()

    def change() -> None:
        while not stop.is_set():
            for items in lists:
                items.append(items.pop(0))
                items.append(items[0])
                del items[0]

    thread = threading.Thread(target=change)
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(300):
            codec.decode(codec.encode(message))
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)


def test_json_has_the_values_of_the_bytes() -> None:
    message = MetadataResponse(cluster_id=LyingStr("text"), controller_id=LyingInt(7))
    found = message.to_json(12)
    assert (found["clusterId"], found["controllerId"]) == ("text", 7)
    assert type(found["controllerId"]) is int


def test_a_subclass_of_a_struct_is_written_by_the_code_of_the_field(make: Any) -> None:
    class Own(FetchRequest.FetchTopic):
        def _encode(self, writer: Any, version: int) -> None:
            writer.buffer += b"garbage"

    message = FetchRequest(topics=[Own(topic="t")])
    expected = FetchRequest(topics=[FetchRequest.FetchTopic(topic="t")])
    assert make(FetchRequest, 12).encode(message) == make(FetchRequest, 12).encode(expected)


@pytest.mark.parametrize("make", CODECS)
def test_a_known_tag_cannot_be_an_unknown_one(make: Any) -> None:
    """Its bytes could not be read again, as they need not be those of the field."""
    message = ShareGroupTargetAssignmentMetadataValue(unknown_tagged_fields=[(0, b"x")])
    with pytest.raises(EncodeError, match="tag 0 is a field of this struct") as caught:
        make(type(message), 0).encode(message)
    assert caught.value.path == "unknown_tagged_fields[0]"
    partition = FetchResponse.PartitionData(unknown_tagged_fields=[(1, b"x")])
    topic = FetchResponse.FetchableTopicResponse(partitions=[partition])
    with pytest.raises(EncodeError, match="tag 1 is a field of this struct") as caught:
        make(FetchResponse, 17).encode(FetchResponse(responses=[topic]))
    assert caught.value.path == "responses[0].partitions[0].unknown_tagged_fields[0]"
    record = BrokerRegistrationChangeRecord(unknown_tagged_fields=[(2, b"x")])  # from version 2 on
    with pytest.raises(EncodeError, match="tag 2 is a field of this struct"):
        make(type(record), 1).encode(record)
