"""Which bytes come back from decoding and encoding, and what is said of those that do not."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    MetadataResponse,
    VoteRequest,
    registry,
)
from kraftwire_wire.canonical import Deviation, deviations, deviations_from, summary
from kraftwire_wire.errors import DecodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.message import Message

from codec_tests.compile_spec import compile_spec
from codec_tests.strategies import random_message, same

EMPTY_FETCH = FetchResponse(
    responses=[
        FetchResponse.FetchableTopicResponse(
            partitions=[FetchResponse.PartitionData(), FetchResponse.PartitionData()]
        )
    ]
)


def places(message: type[Message], data: bytes, version: int) -> list[tuple[str, int, int, str]]:
    """Path, offset, size and kind of each deviation."""
    found = deviations(message, data, version)
    assert message.is_canonical(data, version) is (not found)
    return [(one.path, one.offset, one.size, one.kind) for one in found]


def test_canonical_bytes_have_no_deviations() -> None:
    data = EMPTY_FETCH.encode(16)
    assert FetchResponse.is_canonical(data, 16)
    assert deviations(FetchResponse, data, 16) == []


def explicit_defaults() -> tuple[bytes, bytes]:
    """The same Fetch response with the defaults of two tags written out, and without."""
    marked = FetchResponse(
        responses=[
            FetchResponse.FetchableTopicResponse(
                partitions=[
                    FetchResponse.PartitionData(
                        partition_index=5, unknown_tagged_fields=[(900, b"mark")]
                    )
                ]
            )
        ]
    )
    data = marked.encode(16)
    section = bytes([1]) + b"\x84\x07\x04mark"
    assert data.count(section) == 1
    tag_0 = b"\x00\x0d" + b"\xff" * 12 + b"\0"
    tag_1 = b"\x01\x09" + b"\xff" * 8 + b"\0"
    both = bytes([3]) + tag_0 + tag_1 + section[1:]
    return data.replace(section, both), data


def test_defaults_of_tags_are_found_at_their_places() -> None:
    """What Redpanda and others send: a response grows by them and shrinks when it is written."""
    long, short = explicit_defaults()
    message = FetchResponse.decode(long, 16)
    assert message.encode(16) == short
    at = long.index(b"\x00\x0d" + b"\xff" * 12)
    partition = "responses[0].partitions[0]"
    assert places(FetchResponse, long, 16) == [
        (f"{partition}.diverging_epoch", at, 15, "defaults in tag 0"),
        (f"{partition}.current_leader", at + 15, 11, "defaults in tag 1"),
    ]
    found = deviations(FetchResponse, long, 16)
    assert str(found[0]) == (
        f"{partition}.diverging_epoch: 15 bytes of defaults in tag 0, "
        f"which encoding leaves out (at byte {at})"
    )
    assert summary(found) == (
        "not canonical: 15 bytes of defaults in tag 0, 11 bytes of defaults in tag 1"
    )


def test_deviations_within_an_omitted_tag_are_not_listed() -> None:
    long, _ = explicit_defaults()
    odd = long.replace(b"\x00\x0d" + b"\xff" * 12 + b"\0", b"\x00\x0e" + b"\xff" * 12 + b"\x80\0")
    kinds = [kind for *_, kind in places(FetchResponse, odd, 16)]
    assert kinds == ["defaults in tag 0", "defaults in tag 1"]


def test_an_empty_array_in_a_tag_is_a_deviation() -> None:
    data = FetchResponse().encode(16)
    assert data[-1] == 0
    long = data[:-1] + b"\x01\x00\x01\x01"
    assert places(FetchResponse, long, 16) == [
        ("node_endpoints", len(data), 3, "defaults in tag 0")
    ]


@pytest.mark.parametrize("version", [4, 12])
def test_booleans_above_one_are_deviations(version: int) -> None:
    data = MetadataRequest(allow_auto_topic_creation=True).encode(version)
    at = data.rindex(b"\x01")
    odd = data[:at] + b"\x02" + data[at + 1 :]
    assert places(MetadataRequest, odd, version) == [
        ("allow_auto_topic_creation", at, 1, "boolean")
    ]
    (found,) = deviations(MetadataRequest, odd, version)
    assert found.reason == "boolean 02, which encoding writes as 01"
    assert summary([found, found]) == "not canonical: 2 booleans in another form"


def test_booleans_among_numbers_are_found() -> None:
    """They are read in one step with their neighbours."""
    broker = MetadataResponse.MetadataResponseTopic(is_internal=True, name="t")
    data = MetadataResponse(topics=[broker]).encode(1)
    at = data.rindex(b"\x00\x01t\x01") + 3
    odd = data[:at] + b"\xff" + data[at + 1 :]
    assert places(MetadataResponse, odd, 1) == [("topics[0].is_internal", at, 1, "boolean")]


def test_overlong_varints_are_deviations() -> None:
    data = ApiVersionsRequest(client_software_name="ab", client_software_version="1").encode(3)
    assert data == b"\x03ab\x021\x00"
    long = b"\x83\x80\x80\x80\x00ab\x82\x001\x80\x00"
    assert places(ApiVersionsRequest, long, 3) == [
        ("client_software_name", 0, 5, "varint"),
        ("client_software_version", 7, 2, "varint"),
        ("tags", 10, 2, "varint"),
    ]
    assert ApiVersionsRequest.decode(long, 3).encode(3) == data


def test_overlong_tag_numbers_and_sizes_are_deviations() -> None:
    data = VoteRequest(cluster_id="c", unknown_tagged_fields=[(5, b"xy")]).encode(0)
    long = data.replace(b"\x01\x05\x02xy", b"\x01\x85\x00\x82\x00xy")
    at = long.index(b"\x85")
    assert places(VoteRequest, long, 0) == [
        ("tag", at, 2, "varint"),
        ("tag 5", at + 2, 2, "varint"),
    ]


def test_other_negative_lengths_for_null_are_deviations() -> None:
    data = MetadataRequest(topics=None).encode(1)
    assert data == b"\xff" * 4
    assert places(MetadataRequest, b"\xff\xff\xff\xfe", 1) == [("topics", 0, 4, "null")]
    fetch = FetchResponse(
        responses=[
            FetchResponse.FetchableTopicResponse(
                topic="t", partitions=[FetchResponse.PartitionData(records=None)]
            )
        ]
    ).encode(4)
    odd = fetch[:-4] + b"\x80\0\0\0"
    path = "responses[0].partitions[0].records"
    assert places(FetchResponse, odd, 4) == [(path, len(fetch) - 4, 4, "null")]


EVERYTHING: dict[str, Any] = {
    "apiKey": 900,
    "type": "request",
    "name": "OddRequest",
    "validVersions": "0-1",
    "flexibleVersions": "1+",
    "fields": [
        {"name": "Flags", "type": "[]bool", "versions": "0+", "nullableVersions": "0+"},
        {"name": "Text", "type": "string", "versions": "0+", "nullableVersions": "0+"},
        {"name": "Raw", "type": "bytes", "versions": "0+", "nullableVersions": "0+"},
        {
            "name": "Inner",
            "type": "Inner",
            "versions": "0+",
            "nullableVersions": "0+",
            "default": "null",
            "fields": [
                {"name": "Real", "type": "float64", "versions": "0+"},
                {"name": "Fact", "type": "bool", "versions": "0+"},
            ],
        },
        {
            "name": "Extra",
            "type": "Extra",
            "versions": "1+",
            "taggedVersions": "1+",
            "tag": 0,
            "nullableVersions": "1+",
            "default": "null",
            "fields": [{"name": "Number", "type": "int32", "versions": "1+"}],
        },
        {
            "name": "Numbers",
            "type": "[]int8",
            "versions": "1+",
            "taggedVersions": "1+",
            "tag": 1,
        },
    ],
}


def odd(body: str, version: int) -> list[tuple[str, int, int, str]]:
    return places(compile_spec(EVERYTHING), bytes.fromhex(body), version)


@pytest.mark.parametrize(
    ("body", "version", "expected"),
    [
        ("ffffffff ffff ffffffff ff", 0, []),
        ("00000003 000201 0000 00000000 ff", 0, [("flags[1]", 5, 1, "boolean")]),
        ("80000000 8000 fffffff0 80", 0, [
            ("flags", 0, 4, "null"), ("text", 4, 2, "null"), ("raw", 6, 4, "null"),
            ("inner", 10, 1, "marker"),
        ]),
        ("ffffffff ffff ffffffff 7f 7ff8000000000001 05", 0, [
            ("inner", 10, 1, "marker"), ("inner.fact", 19, 1, "boolean"),
        ]),
        ("8000 8000 8000 fe 00", 1, [
            ("flags", 0, 2, "varint"), ("text", 2, 2, "varint"), ("raw", 4, 2, "varint"),
            ("inner", 6, 1, "marker"),
        ]),
        ("00 00 00 ff 01 00 01 00", 1, [("extra", 5, 3, "defaults in tag 0")]),
        ("00 00 00 ff 01 00 06 02 00000007 00", 1, [("extra", 7, 1, "marker")]),
        ("00 00 00 ff 01 00 07 8100 00000007 00", 1, [("extra", 7, 2, "varint")]),
        ("00 00 00 ff 02 00 01 00 01 01 01", 1, [
            ("extra", 5, 3, "defaults in tag 0"), ("numbers", 8, 3, "defaults in tag 1"),
        ]),
    ],
)  # fmt: skip
def test_every_other_form_is_found(body: str, version: int, expected: list[object]) -> None:
    assert odd(body, version) == expected


def test_deviations_of_a_part_of_the_input() -> None:
    data = b"head\xff\xff\xff\xfetail"
    (found,) = deviations_from(MetadataRequest, data, 1, 4)
    assert (found.offset, found.path) == (4, "topics")


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_is_accepted(kind: Callable[[bytes], Any]) -> None:
    data = VoteRequest(cluster_id="c").encode(2)
    assert VoteRequest.is_canonical(kind(data), 2)
    assert deviations(VoteRequest, kind(data), 2) == []


def test_invalid_bytes_raise_as_in_decode() -> None:
    data = VoteRequest(cluster_id="c").encode(2)
    for bad in (data[:-1], data + b"!"):
        for ask in (VoteRequest.is_canonical, lambda *args: deviations(VoteRequest, *args)):
            with pytest.raises(DecodeError):
                ask(bad, 2)
    with pytest.raises(UnsupportedVersion):
        deviations(VoteRequest, data, 99)


def test_bytes_that_only_lenient_decoding_accepts_are_the_last_deviation() -> None:
    data = VoteRequest(cluster_id="c").encode(2)
    assert not VoteRequest.is_canonical(data + b"abc", 2, lenient=True)
    (found,) = deviations(VoteRequest, data + b"abc", 2, lenient=True)
    assert (found.offset, found.reason) == (
        len(data),
        "3 bytes follow the end of VoteRequest version 2",
    )
    broken = data.replace(b"\x02c", b"\x02\xff")
    assert not VoteRequest.is_canonical(broken, 2, lenient=True)
    (found,) = deviations(VoteRequest, broken, 2, lenient=True)
    assert (found.path, found.reason) == ("cluster_id", "not UTF-8: invalid start byte")


def test_at_most_the_requested_number_of_deviations_is_returned() -> None:
    flags = (70_000).to_bytes(4) + b"\x02" * 70_000
    data = flags + bytes.fromhex("ffff ffffffff ff")
    message = compile_spec(EVERYTHING)
    assert len(deviations(message, data, 0)) == 100
    assert len(deviations(message, data, 0, limit=3)) == 3
    assert not message.is_canonical(data, 0)


# -- every message -------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(registry))
def test_deviations_are_found_exactly_where_bytes_do_not_come_back(name: str) -> None:
    """Messages with a byte changed or a varint made longer, of every version."""
    cls = registry.message(name)
    rng = random.Random(name)
    for version in cls.VALID_VERSIONS:
        for _ in range(6):
            data = random_message(cls, version, rng).encode(version)
            assert cls.is_canonical(data, version)
            assert deviations(cls, data, version) == []
            for mutant in mutants(data, rng):
                check_mutant(cls, mutant, version)


def mutants(data: bytes, rng: random.Random) -> list[bytes]:
    if not data:
        return []
    places = [rng.randrange(len(data)) for _ in range(12)]
    changed = [
        data[:at] + bytes([rng.choice((0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF))]) + data[at + 1 :]
        for at in places
    ]
    longer = [
        data[:at] + bytes([data[at] | 0x80]) + b"\x80" * rng.randrange(3) + b"\0" + data[at + 1 :]
        for at in places
    ]
    return changed + longer


def check_mutant(cls: type[Message], data: bytes, version: int) -> None:
    try:
        message = cls.decode(data, version)
    except KraftwireError:
        with pytest.raises(DecodeError):
            deviations(cls, data, version)
        return
    again = message.encode(version)
    found = deviations(cls, data, version)
    assert bool(found) is (again != data) is not cls.is_canonical(data, version)
    assert cls.is_canonical(again, version), "what is written is canonical"
    assert same(cls.decode(again, version), message)
    offsets = [one.offset for one in found]
    assert offsets == sorted(offsets)
    for one in found:
        assert one.path
        assert 0 < one.size <= len(data) - one.offset
    if found:
        differing = next(
            (at for at, (a, b) in enumerate(zip(data, again, strict=False)) if a != b), len(again)
        )
        # Counts and sizes before the place follow from what is left out within.
        assert differing < found[0].offset + found[0].size
        assert summary(found).startswith("not canonical: ")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80), st.sampled_from([4, 12, 16]), st.booleans())
def test_any_bytes_are_judged_or_refused(data: bytes, version: int, lenient: bool) -> None:
    for cls in (FetchResponse, MetadataRequest, FetchRequest):
        if version not in cls.VALID_VERSIONS:
            continue
        try:
            canonical = cls.is_canonical(data, version, lenient=lenient)
        except DecodeError:
            with pytest.raises(DecodeError):
                deviations(cls, data, version, lenient=lenient)
            continue
        found = deviations(cls, data, version, lenient=lenient)
        assert canonical is (not found)
        assert all(isinstance(one, Deviation) for one in found)


def test_the_time_is_linear() -> None:
    def data(count: int) -> bytes:
        long, _ = explicit_defaults()
        at = long.index((5).to_bytes(4))  # where the partition begins
        partition, end = long[at:-2], long[-2:]
        size = count + 1
        varint = bytes([size & 0x7F | 0x80, size >> 7])
        return long[: at - 1] + varint + partition * count + end

    def cost(count: int) -> float:
        one = data(count)
        start = time.process_time()
        assert len(deviations(FetchResponse, one, 16)) == 100
        return time.process_time() - start

    small, large = (min(cost(count) for _ in range(3)) for count in (500, 4000))
    assert large < 8 * 3 * small
