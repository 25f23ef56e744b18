"""Errors: one family, paths that grow from the inside out, texts that say everything."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kraftwire_wire
from kraftwire_messages.kafka import FetchRequest, VoteRequest, VoteResponse, registry
from kraftwire_wire.errors import (
    DecodeError,
    EncodeError,
    FieldError,
    KraftwireError,
    RuntimeTooOld,
    UnsupportedVersion,
    format_versions,
)


@pytest.mark.parametrize("error", [DecodeError, EncodeError, UnsupportedVersion, RuntimeTooOld])
def test_all_errors_are_of_one_family(error: type[Exception]) -> None:
    assert issubclass(error, KraftwireError)
    assert not issubclass(error, ValueError)


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ([], ""),
        (["topics"], "topics"),
        (["name", "topics[2]"], "topics[2].name"),
        (["[3]", "names"], "names[3]"),
        (["error_code", "[0]", "partitions", "topics[2]"], "topics[2].partitions[0].error_code"),
    ],
)
def test_paths_grow_from_the_inside_out(steps: list[str], path: str) -> None:
    error = FieldError("bad")
    for step in steps:
        assert error.inside(step) is error
    assert error.path == path
    assert str(error) == (f"{path}: bad" if path else "bad")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (DecodeError("bad", "a.b", 7), "a.b: bad (at byte 7)"),
        (DecodeError("bad", offset=0), "bad (at byte 0)"),
        (DecodeError("bad", "a"), "a: bad"),
        (EncodeError("bad", "a[1]"), "a[1]: bad"),
        (UnsupportedVersion("Vote", 9, range(3)), "Vote has no version 9; it has 0-2"),
        (UnsupportedVersion("Vote", 9, range(2, 3)), "Vote has no version 9; it has 2"),
        (UnsupportedVersion("Vote", 0, range(0)), "Vote has no version 0; it has none"),
    ],
)
def test_errors_have_their_texts(error: KraftwireError, text: str) -> None:
    assert str(error) == text


@pytest.mark.parametrize(
    "error",
    [
        DecodeError("bad", "a", 7).inside("b"),
        EncodeError("bad", "a").inside("b"),
        UnsupportedVersion("Vote", 9, range(3)),
    ],
)
def test_errors_are_copied_whole(error: KraftwireError) -> None:
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)


def test_the_representation_has_all_of_an_error() -> None:
    error = DecodeError("null", "name", 7).inside("topics[2]")
    assert repr(error) == "DecodeError('topics[2].name: null (at byte 7)')"


def test_versions_are_formatted_for_people() -> None:
    assert [format_versions(r) for r in (range(0), range(3, 4), range(5))] == ["none", "3", "0-4"]


def test_code_of_a_newer_generator_is_refused_with_the_remedy() -> None:
    kraftwire_wire.require_runtime(kraftwire_wire.RUNTIME_VERSION)
    with pytest.raises(RuntimeTooOld, match="upgrade kraftwire, or generate the code again"):
        kraftwire_wire.require_runtime(kraftwire_wire.RUNTIME_VERSION + 1)


# -- the place of an error in a message --------------------------------------------------------

# A VoteResponse, version 0, field by field.
VOTE_RESPONSE = bytes.fromhex(
    "0000"  # error_code
    "04"  # topics: 3
    "01" + "01" + "00"  # no name, no partitions, no tags
    "01" + "01" + "00"  # the same
    "0261"  # topic_name: "a"
    "02"  # partitions: 1
    "00000007"  # partition_index
    "0003"  # error_code
    "00000001"  # leader_id
    "00000002"  # leader_epoch
    "01"  # vote_granted
    "00" + "00" + "00"  # tags of the partition, of the topic and of the message
)

# The longest cut that is noticed at this path and offset. A count is refused as soon as its
# elements cannot all be there.
CUTS = [
    (1, "error_code", 0),
    (5, "topics", 2),
    (6, "topics[1].topic_name", 6),
    (7, "topics[1].partitions", 7),
    (8, "topics[1].tags", 8),
    (10, "topics[2].topic_name", 9),
    (12, "topics[2].partitions", 11),
    (15, "topics[2].partitions[0].partition_index", 12),
    (17, "topics[2].partitions[0].error_code", 16),
    (21, "topics[2].partitions[0].leader_id", 18),
    (25, "topics[2].partitions[0].leader_epoch", 22),
    (26, "topics[2].partitions[0].vote_granted", 26),
    (27, "topics[2].partitions[0].tags", 27),
    (28, "topics[2].tags", 28),
    (29, "tags", 29),
]


@pytest.mark.parametrize("size", range(len(VOTE_RESPONSE)))
def test_every_truncation_names_field_and_byte(size: int) -> None:
    with pytest.raises(DecodeError) as caught:
        VoteResponse.decode(VOTE_RESPONSE[:size], 0)
    place = caught.value.path, caught.value.offset
    wanted = next((path, offset) for longest, path, offset in CUTS if size <= longest)
    assert place == wanted


def partition_with(**values: Any) -> VoteResponse:
    topic = VoteResponse.TopicData(partitions=[VoteResponse.PartitionData(**values)])
    return VoteResponse(topics=[topic])


@pytest.mark.parametrize(
    ("message", "version", "path"),
    [
        (VoteResponse(error_code=40000), 0, "error_code"),
        (VoteResponse(error_code="0"), 0, "error_code"),
        (VoteResponse(error_code=None), 0, "error_code"),
        (VoteResponse(topics=None), 0, "topics"),
        (VoteResponse(topics=5), 0, "topics"),
        (VoteResponse(topics=[None]), 0, "topics[0]"),
        (VoteResponse(topics=[VoteRequest.TopicData()]), 0, "topics[0]"),
        (
            VoteResponse(topics=[VoteResponse.TopicData(topic_name=None)]),
            0,
            "topics[0].topic_name",
        ),
        (partition_with(leader_id=2**31), 0, "topics[0].partitions[0].leader_id"),
        (partition_with(leader_epoch=1.0), 0, "topics[0].partitions[0].leader_epoch"),
        (partition_with(vote_granted=1), 0, "topics[0].partitions[0].vote_granted"),
        (
            partition_with(unknown_tagged_fields=[(1, b""), (1, b"")]),
            0,
            "topics[0].partitions[0].unknown_tagged_fields[1]",
        ),
        (
            FetchRequest(forgotten_topics_data=[FetchRequest.ForgottenTopic()]),
            6,
            "forgotten_topics_data",
        ),
        (FetchRequest(unknown_tagged_fields=[(9, b"")]), 11, "unknown_tagged_fields"),
        (FetchRequest(replica_id=1), 15, "replica_id"),
        (FetchRequest(cluster_id=5), 12, "cluster_id"),
        (FetchRequest(replica_state="x"), 15, "replica_state"),
        (
            FetchRequest(replica_state=FetchRequest.ReplicaState(replica_epoch=2**63)),
            15,
            "replica_state.replica_epoch",
        ),
    ],
)
def test_values_without_an_encoding_are_refused_with_their_path(
    message: Any, version: int, path: str
) -> None:
    with pytest.raises(EncodeError) as caught:
        message.encode(version)
    assert caught.value.path == path


# -- nothing else leaves -----------------------------------------------------------------------

VERSIONS = [
    (name, version) for name in registry for version in registry.message(name).VALID_VERSIONS
]


@given(st.sampled_from(VERSIONS), st.binary(max_size=60), st.booleans())
def test_any_bytes_are_a_message_or_an_error(
    which: tuple[str, int], raw: bytes, lenient: bool
) -> None:
    name, version = which
    message = registry.message(name)
    try:
        decoded = message.decode(raw, version, lenient=lenient)
    except KraftwireError:
        return
    encoded = decoded.encode(version)
    again = message.decode(encoded, version)
    assert again.encode(version) == encoded
    assert again == decoded or "nan" in repr(decoded)


ANYTHING = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.binary(max_size=3)
    | st.lists(st.none() | st.integers() | st.tuples(st.integers(), st.binary()), max_size=2)
    | st.dictionaries(st.integers(), st.integers(), max_size=1)
    | st.builds(object)
)


@given(st.sampled_from(VERSIONS), st.data())
def test_any_attributes_are_bytes_or_an_error(which: tuple[str, int], data: st.DataObject) -> None:
    name, version = which
    message: Any = registry.message(name)()
    names = [*(field.name for field in message.LAYOUT.fields), "unknown_tagged_fields"]
    for attribute in data.draw(st.sets(st.sampled_from(names), min_size=1, max_size=3)):
        setattr(message, attribute, data.draw(ANYTHING))
    try:
        raw = message.encode(version)
    except KraftwireError:
        return
    type(message).decode(raw, version)
