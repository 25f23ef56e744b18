"""Codecs: what goes in comes out, and what cannot is refused with its path and place."""

from __future__ import annotations

import array
import copy
import pickle
from typing import Any

import pytest

from kraftwire_messages.kafka import (
    ConsumerGroupMemberMetadataValue,
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    VoteRequest,
    VoteResponse,
    registry,
)
from kraftwire_wire.errors import DecodeError, EncodeError, UnsupportedVersion

from codec_tests.compile_spec import compile_spec

# A VoteResponse, version 0, field by field.
VOTE_RESPONSE = bytes.fromhex(
    "0000"  # error_code
    "02"  # topics: 1
    "0261"  # topic_name: "a"
    "02"  # partitions: 1
    "00000007"  # partition_index
    "0003"  # error_code
    "00000001"  # leader_id
    "00000002"  # leader_epoch
    "01"  # vote_granted
    "01" + "05" + "01" + "ff"  # tags: an unknown one, 5
    "00"  # tags of the topic
    "00"  # tags
)


def vote_response() -> VoteResponse:
    partition = VoteResponse.PartitionData(
        partition_index=7,
        error_code=3,
        leader_id=1,
        leader_epoch=2,
        vote_granted=True,
        unknown_tagged_fields=[(5, b"\xff")],
    )
    topic = VoteResponse.TopicData(topic_name="a", partitions=[partition])
    return VoteResponse(topics=[topic])


def test_decode_and_encode_agree_with_bytes_by_hand() -> None:
    assert VoteResponse.decode(VOTE_RESPONSE, 0) == vote_response()
    assert vote_response().encode(0) == VOTE_RESPONSE


@pytest.mark.parametrize("view", [bytearray, memoryview, lambda raw: array.array("B", raw)])
def test_every_kind_of_buffer_is_read(view: Any) -> None:
    assert VoteResponse.decode(view(VOTE_RESPONSE), 0) == vote_response()


def test_slices_and_views_of_wide_items_are_read() -> None:
    around = memoryview(b"xyz" + VOTE_RESPONSE + b"z")
    assert VoteResponse.decode(around[3:-1], 0) == vote_response()
    assert VoteResponse.decode(memoryview(VOTE_RESPONSE[::-1])[::-1], 0) == vote_response()
    # error_code 0, no topics, no tags: two items of two bytes
    wide = memoryview(bytes.fromhex("0000" + "01" + "00")).cast("H")
    assert VoteResponse.decode(wide, 0) == VoteResponse()


def test_decode_from_reads_exactly_the_message() -> None:
    codec = VoteResponse.codec(0)
    message, end = codec.decode_from(b"xyz" + VOTE_RESPONSE + b"z", 3)
    assert (message, end) == (vote_response(), 3 + len(VOTE_RESPONSE))
    with pytest.raises(DecodeError) as caught:
        codec.decode_from(b"xyz" + VOTE_RESPONSE[:-1], 3)
    assert caught.value.offset == 2 + len(VOTE_RESPONSE)


def test_numbers_equal_to_a_version_do_not_become_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraftwire_wire.engine._codecs", {})
    assert type(VoteRequest.codec(True).version) is int
    assert VoteRequest.codec(1.0) is VoteRequest.codec(1)  # type: ignore[arg-type]


def test_codecs_are_created_once() -> None:
    assert VoteResponse.codec(0) is VoteResponse.codec(0)
    assert VoteResponse.codec(0) is not VoteResponse.codec(1)
    assert VoteResponse.codec(1).version == 1
    assert VoteResponse.codec(1).message is VoteResponse


@pytest.mark.parametrize("version", [-1, 3, 99, 2**40, "0", None])
def test_versions_outside_the_valid_range_are_refused(version: Any) -> None:
    for action in (
        lambda: VoteRequest.decode(b"", version),
        lambda: VoteRequest.decode(b"", version, lenient=True),
        lambda: VoteRequest().encode(version),
        lambda: VoteRequest.codec(version),
    ):
        with pytest.raises(UnsupportedVersion) as caught:
            action()
        error = caught.value
        assert (error.name, error.version, error.valid) == ("VoteRequest", version, range(3))


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        (b"\x00", "1 byte follows the end of VoteResponse version 0"),
        (b"abc", "3 bytes follow the end of VoteResponse version 0"),
    ],
)
def test_trailing_bytes_are_refused_with_their_count(extra: bytes, reason: str) -> None:
    with pytest.raises(DecodeError) as caught:
        VoteResponse.decode(VOTE_RESPONSE + extra, 0)
    error = caught.value
    assert (error.reason, error.path, error.offset) == (reason, "", len(VOTE_RESPONSE))
    assert VoteResponse.decode(VOTE_RESPONSE + extra, 0, lenient=True) == vote_response()


def test_a_tag_of_a_later_version_is_refused() -> None:
    # everything default; one tag: 1 is replica_state, of version 15
    head = FetchRequest().encode(12)[:-1]
    with pytest.raises(DecodeError) as caught:
        FetchRequest.decode(head + b"\x01" + b"\x01\x0d" + bytes(13), 12)
    assert caught.value.path == "replica_state"
    assert caught.value.reason == "tag sent in version 12, which does not have it"


# -- encoding ----------------------------------------------------------------------------------


def test_a_field_that_the_version_lacks_is_named_with_the_version() -> None:
    with pytest.raises(EncodeError, match=r"^replica_id: version 15 does not have this field"):
        FetchRequest(replica_id=1).encode(15)
    assert FetchRequest(rack_id="r").encode(10) == FetchRequest().encode(10)  # ignorable


def test_a_codec_writes_its_own_message_only() -> None:
    codec = VoteResponse.codec(0)
    for wrong in (VoteRequest(), None, VoteResponse.TopicData(), VOTE_RESPONSE):
        with pytest.raises(EncodeError, match="a codec of VoteResponse cannot write"):
            codec.encode(wrong)  # type: ignore[arg-type]


def test_a_subclass_is_a_message_too() -> None:
    class Counted(VoteResponse):
        @property
        def voters(self) -> int:
            return sum(len(topic.partitions) for topic in self.topics)

    message = Counted.decode(VOTE_RESPONSE, 0)
    assert type(message) is Counted
    assert message.voters == 1
    assert message.encode(0) == VoteResponse.codec(0).encode(message) == VOTE_RESPONSE


# -- canonical and other forms -----------------------------------------------------------------

VOTE_AS_SENT = VOTE_RESPONSE.hex()


@pytest.mark.parametrize(
    ("message", "version", "raw", "canonical"),
    [
        # the count of topics: 1 in three bytes for one
        (VoteResponse, 0, "0000" + "828000" + VOTE_AS_SENT[6:], VOTE_AS_SENT),
        # vote_granted: 2 for 1
        (VoteResponse, 0, VOTE_AS_SENT[:40] + "02" + VOTE_AS_SENT[42:], VOTE_AS_SENT),
        # topics: null as -2, then allow_auto_topic_creation
        (MetadataRequest, 4, "fffffffe" + "01", "ffffffff" + "01"),
        # cluster_id: null in two bytes for one
        (VoteRequest, 0, "8000" + "01" + "00", "00" + "01" + "00"),
    ],
)
def test_other_forms_are_written_back_canonically(
    message: Any, version: int, raw: str, canonical: str
) -> None:
    decoded = message.decode(bytes.fromhex(raw), version)
    assert decoded.encode(version).hex() == canonical


def test_tagged_defaults_that_were_sent_are_left_out() -> None:
    plain = FetchRequest().encode(15)
    # cluster_id: null; replica_state: -1, -1 and no tags
    tags = "02" + "0001" + "00" + "010d" + "ff" * 12 + "00"
    sent = plain[:-1] + bytes.fromhex(tags)
    message = FetchRequest.decode(sent, 15)
    assert message.replica_state is None  # as it comes back when it is written
    assert message.encode(15) == plain


def test_a_tagged_struct_is_none_when_not_sent() -> None:
    plain = FetchRequest().encode(15)
    assert FetchRequest.decode(plain, 15).replica_state is None
    assert FetchRequest(replica_state=FetchRequest.ReplicaState()).encode(15) == plain
    set_state = FetchRequest(replica_state=FetchRequest.ReplicaState(replica_id=3))
    # one tag: 1, 13 bytes: replica_id 3, replica_epoch -1, no tags
    assert set_state.encode(15)[-16:].hex() == "01" + "010d" + "00000003" + "ff" * 8 + "00"
    assert FetchRequest.decode(set_state.encode(15), 15) == set_state


def test_a_tagged_struct_can_be_null_where_its_default_is_not() -> None:
    cls = ConsumerGroupMemberMetadataValue
    plain = cls().encode(0)
    assert plain[-1:] == b"\x00"
    assert cls.decode(plain, 0).classic_member_metadata == cls.ClassicMemberMetadata()
    null = cls(classic_member_metadata=None)
    assert null.encode(0) == plain[:-1] + bytes.fromhex("01" + "0001" + "00")
    assert cls.decode(null.encode(0), 0) == null
    given_struct = cls(classic_member_metadata=cls.ClassicMemberMetadata(session_timeout_ms=5))
    # one tag: 0, 7 bytes: present, session_timeout_ms, no supported_protocols, no tags
    assert given_struct.encode(0)[-10:].hex() == "01" + "0007" + "01" + "00000005" + "01" + "00"
    assert cls.decode(given_struct.encode(0), 0) == given_struct


def test_unknown_tags_stay_where_they_were_sent() -> None:
    message = FetchResponse(
        responses=[
            FetchResponse.FetchableTopicResponse(
                partitions=[
                    FetchResponse.PartitionData(
                        snapshot_id=FetchResponse.SnapshotId(unknown_tagged_fields=[(7, b"s")]),
                        unknown_tagged_fields=[(1000, b"p")],
                    )
                ],
                unknown_tagged_fields=[(3, b"")],
            )
        ],
        unknown_tagged_fields=[(40, b"top")],
    )
    raw = message.encode(12)
    assert FetchResponse.decode(raw, 12) == message
    assert FetchResponse.decode(raw, 12).encode(12) == raw


# -- instances ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", registry)
def test_a_message_of_defaults_has_an_encoding_in_every_version(name: str) -> None:
    message: Any = registry.message(name)
    assert len(message.VALID_VERSIONS) > 0
    for version in message.VALID_VERSIONS:
        raw = message().encode(version)
        assert message.decode(raw, version) == message()
        assert message.decode(raw, version).encode(version) == raw


def test_the_registry_has_the_whole_set() -> None:
    assert len(registry) == 279


def test_instances_are_values() -> None:
    message = vote_response()
    assert message == vote_response()
    message.topics[0].partitions[0].leader_id = 9
    assert message != vote_response()
    assert VoteResponse() != VoteRequest()
    with pytest.raises(TypeError, match="unhashable"):
        hash(message)
    with pytest.raises(AttributeError):
        message.leader_idd = 1  # type: ignore[attr-defined]


def test_instances_do_not_share_their_lists() -> None:
    VoteResponse().topics.append(VoteResponse.TopicData())
    VoteResponse().unknown_tagged_fields.append((0, b""))
    assert VoteResponse() == VoteResponse(topics=[], unknown_tagged_fields=[])


def test_instances_are_copied_whole() -> None:
    message = vote_response()
    for twin in (pickle.loads(pickle.dumps(message)), copy.deepcopy(message)):
        assert twin == message
        twin.topics[0].partitions[0].unknown_tagged_fields.append((6, b""))
        assert message == vote_response()


# -- elements without a size -------------------------------------------------------------------

# In version 0 an Item has no fields, and so no bytes.
SIZELESS = {
    "name": "SizelessMessage",
    "type": "data",
    "validVersions": "0-1",
    "flexibleVersions": "none",
    "fields": [
        {
            "name": "Lists",
            "type": "[]List",
            "versions": "0+",
            "fields": [
                {
                    "name": "Items",
                    "type": "[]Item",
                    "versions": "0+",
                    "fields": [{"name": "Value", "type": "int8", "versions": "1+"}],
                }
            ],
        },
        {"name": "Rest", "type": "bytes", "versions": "0+"},
    ],
}


def test_elements_without_a_size_are_counted() -> None:
    message: Any = compile_spec(SIZELESS)
    # one list of 3 items, and 3 bytes
    raw = bytes.fromhex("00000001" + "00000003" + "00000003" + "616263")
    decoded = message.decode(raw, 0)
    assert decoded.lists == [message.List(items=[message.Item()] * 3)]
    assert decoded.encode(0) == raw


@pytest.mark.slow
@pytest.mark.parametrize("lenient", [False, True])
def test_elements_without_a_size_cannot_multiply(lenient: bool) -> None:
    message: Any = compile_spec(SIZELESS)
    # 1,000 lists, of which each claims the 4,000 bytes that are left after it
    lists = b"".join((8000 - 4 * at).to_bytes(4) for at in range(1000))
    raw = (1000).to_bytes(4) + lists + bytes(8000)
    with pytest.raises(DecodeError) as caught:
        message.decode(raw, 0, lenient=lenient)
    assert caught.value.reason == "far more empty elements than the input has bytes"
    assert caught.value.path == "lists[6].items"


def test_a_tagged_nan_is_written_even_as_the_default() -> None:
    """As Kafka does, whose comparison with != never finds NaN equal to itself."""
    fields = [
        {"name": "Share", "type": "float64", "taggedVersions": "0+", "tag": 0, "default": "NaN"}
    ]
    spec = {"name": "Quota", "type": "data", "validVersions": "0", "flexibleVersions": "0+"}
    message = compile_spec({**spec, "fields": fields})
    # one tag: number 0, eight bytes, the NaN
    raw = bytes.fromhex("01" + "00" + "08" + "7ff8000000000000")
    assert message().encode(0) == raw
    assert message.decode(raw, 0).encode(0) == raw
