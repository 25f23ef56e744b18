"""Messages to columns: what their codecs say, and both engines the same."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from kraftwire.columns import decode_messages, message_type
from kraftwire_messages.kafka import FetchResponse, MetadataResponse, VoteRequest, registry
from kraftwire_wire.errors import DecodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.layout import Field, Layout, StructType
from kraftwire_wire.message import Message, Struct

from codec_tests.columns.engines import ENGINES, binary, engine, fields_of, messages_alike
from codec_tests.compile_spec import compile_spec
from codec_tests.fuzz.mutants import mutants
from codec_tests.spec_files import MOVED, MOVED_TOO_EARLY, field_spec, message_spec
from codec_tests.strategies import random_message


@pytest.mark.parametrize("name", list(registry))
def test_every_message_has_columns_in_every_version(name: str) -> None:
    message = registry.message(name)
    rng = random.Random(name)
    for version in message.VALID_VERSIONS:
        whole = [random_message(message, version, rng).encode(version) for _ in range(5)]
        decoded = messages_alike(message, version, binary(whole))
        expected = [fields_of(message.decode(data, version)) for data in whole]
        assert repr(decoded.found.to_pylist()) == repr(expected)
        assert decoded.errors == []
        rows: list[bytes | None] = [None]
        for data in whole:
            rows += [data, *mutants(data, 8, rng)]
        found = messages_alike(message, version, binary(rows))
        bad = {row for row, _ in found.errors}
        for row, given in enumerate(rows):
            assert found.found[row].is_valid == (given is not None and row not in bad)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(300, 310))
def test_many_damaged_messages_are_decoded_alike(seed: int) -> None:
    rng = random.Random(seed)
    for name in registry:
        message = registry.message(name)
        for version in message.VALID_VERSIONS:
            rows: list[bytes] = []
            for _ in range(10):
                data = random_message(message, version, rng).encode(version)
                rows += [data, *mutants(data, 20, rng)]
            messages_alike(message, version, binary(rows))


def test_other_binary_arrays_and_slices_are_accepted() -> None:
    rows = [VoteRequest(voter_id=number).encode(2) if number % 3 else None for number in range(20)]
    expected = messages_alike(VoteRequest, 2, binary(rows)).found
    assert messages_alike(VoteRequest, 2, binary([b"xyz", None, *rows])[2:]).found == expected
    assert messages_alike(VoteRequest, 2, binary(rows)[5:9]).found == expected[5:9]
    for kind in (pa.large_binary(), pa.binary_view()):
        assert messages_alike(VoteRequest, 2, pa.array(rows, kind)).found == expected
    for empty in (binary([]), binary([None]), binary([None, b"x"])[:1]):
        assert len(messages_alike(VoteRequest, 2, empty).found) == len(empty)
    halves = pa.chunked_array([binary(rows[:7]), binary(rows[7:])])
    assert messages_alike(VoteRequest, 2, halves).found == expected


@pytest.mark.parametrize("wrong", [pa.array([1, 2]), pa.array([[b"x"]]), [b"x"], b"x", None])
def test_arrays_of_other_types_are_refused(wrong: Any) -> None:
    with pytest.raises(KraftwireError, match="expected a binary array of pyarrow"):
        decode_messages(VoteRequest, 2, wrong)


@pytest.mark.parametrize("name", ENGINES)
def test_the_first_bad_row_is_the_error(name: str) -> None:
    rows = binary([VoteRequest().encode(2), b"", b"\xff"])
    with engine(name), pytest.raises(DecodeError, match=r"^\[1\]\.cluster_id: .*\(at byte 0\)"):
        decode_messages(VoteRequest, 2, rows)
    with engine(name), pytest.raises(UnsupportedVersion, match="no version 9"):
        decode_messages(VoteRequest, 9, rows)


def test_unusual_rows_are_decoded_among_usual_ones() -> None:
    """An overlong varint is left to the twin, which reads it."""
    usual = VoteRequest(cluster_id="x", topics=[]).encode(2)
    unusual = b"\x82\x00" + usual[1:]
    assert VoteRequest.decode(unusual, 2) == VoteRequest.decode(usual, 2)
    rows = [usual, unusual, unusual, usual, None, unusual, usual]
    decoded = messages_alike(VoteRequest, 2, binary(rows))
    assert decoded.errors == []
    assert decoded.found[:4].to_pylist() == [decoded.found[0].as_py()] * 4


def test_a_truncated_nested_row_leaves_nothing() -> None:
    partition = MetadataResponse.MetadataResponsePartition(replica_nodes=[1, 2, 3])
    topic = MetadataResponse.MetadataResponseTopic(name="t", partitions=[partition] * 3)
    whole = MetadataResponse(topics=[topic] * 2).encode(12)
    rows = [part for end in range(len(whole)) for part in (whole[:end], whole)]
    decoded = messages_alike(MetadataResponse, 12, binary(rows))
    assert len(decoded.errors) == len(whole)
    assert decoded.found[1::2].to_pylist() == [decoded.found[1].as_py()] * len(whole)


def test_alternating_good_and_bad_rows_take_little_memory() -> None:
    good = MetadataResponse().encode(12)
    for other in (b"", b"\x80\x00" + good[4:], good[:-1] + b"\x80\x00"):
        decoded = messages_alike(MetadataResponse, 12, binary([good, other] * 1000))
        assert decoded.found.get_total_buffer_size() < 20 * decoded.found.nbytes


def test_a_field_that_moved_to_a_tag_is_decoded() -> None:
    errors = messages_alike(compile_spec(MOVED), 0, binary([MOVED_TOO_EARLY])).errors
    assert errors == [(0, "a: tag sent in version 0, which does not have it (at byte 7)")]


@pytest.mark.nightly
@pytest.mark.parametrize("rows", [67_000, 70_000])
def test_text_beyond_32_bit_offsets_is_refused(rows: int) -> None:
    """A default makes more text than 2 GiB out of few bytes."""
    fields = [
        field_spec("There", "int8"),
        field_spec("Word", "string", versions="1+", default="x" * 32_000),
    ]
    message: Any = compile_spec(message_spec("Large", *fields, validVersions="0-1"))
    column = binary([b"\x01"] * rows)
    with engine(ENGINES[-1]):
        if rows * 32_000 < 2**31:
            assert len(decode_messages(message, 0, column)) == rows
        else:
            with pytest.raises(KraftwireError, match="too large, decode it in parts"):
                decode_messages(message, 0, column)


def test_a_message_has_an_arrow_type() -> None:
    kind = message_type(FetchResponse)
    partition = kind.field("responses").type.value_type.field("partitions").type.value_type
    assert [field.name for field in partition][:3] == [
        "partition_index",
        "error_code",
        "high_watermark",
    ]
    assert partition.field("records").type == pa.binary()
    assert partition.field("records").nullable
    assert partition.field("current_leader").nullable
    assert not partition.field("high_watermark").nullable
    assert kind.field("responses").type.value_field.name == "element"


def test_fields_that_a_version_lacks_have_defaults() -> None:
    fields = [
        field_spec("There", "int8"),
        field_spec("Word", "string", versions="1+", default="größe"),
        field_spec("None", "string", versions="1+", nullableVersions="1+", default="null"),
        field_spec("Number", "int64", versions="1+", default="-7"),
        field_spec("Real", "float64", versions="1+", default="-0.0"),
        field_spec("Unsigned", "uint16", versions="1+", default="65535"),
        field_spec("Yes", "bool", versions="1+", default="true"),
        field_spec("Id", "uuid", versions="1+"),
        field_spec("Many", "[]int32", versions="1+"),
        field_spec("One", "Inner", versions="1+", fields=[field_spec("X", "int32", default="5")]),
    ]
    message: Any = compile_spec(message_spec("Defaults", *fields, validVersions="0-1"))
    old = messages_alike(message, 0, binary([b"\x01", b"\x02"]))
    assert old.found[0].as_py() == fields_of(message(there=1))
    assert repr(old.found[0]["real"].as_py()) == "-0.0"


def test_a_struct_that_holds_itself_is_refused() -> None:
    class Loop(Struct):
        pass

    versions = range(1)
    loop = Field("again", "Again", StructType("Loop"), versions, None)
    Loop.LAYOUT = Layout("Loop", versions, versions, (loop,))

    class Holder(Message):
        pass

    Holder.Loop = Loop  # type: ignore[attr-defined]
    Holder.LAYOUT = Layout("Holder", versions, versions, (loop,))
    with pytest.raises(KraftwireError, match="contains itself"):
        message_type(Holder)
