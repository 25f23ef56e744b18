"""Every message in every version: its bytes are covered, its values and errors those of decode.

The emitted code, which `Codec` runs, shares nothing with the schema but the table.
"""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftwire.explain.rows import ByteRow
from kraftwire_messages.kafka import registry
from kraftwire_wire.codec import Codec
from kraftwire_wire.errors import DecodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.message import Message

from codec_tests.compile_spec import compile_spec
from codec_tests.explain.explaining import (
    check_cover,
    field_values,
    message_rows,
    own_rows,
    unknown_tags,
)
from codec_tests.extremes import EDGES, extreme_message
from codec_tests.fuzz.mutants import mutants
from codec_tests.guide.deep_spec import deepest_spec
from codec_tests.strategies import messages, random_message, same

MUTANTS = 12


@pytest.mark.parametrize("name", registry)
def test_every_version_is_covered_and_has_the_values_of_decode(name: str) -> None:
    message_type = registry.message(name)
    for version in message_type.VALID_VERSIONS:
        rng = random.Random(f"{name} {version}")
        made = [random_message(message_type, version, rng) for _ in range(2)]
        made += [extreme_message(message_type, version, edge) for edge in EDGES]
        for message in made:
            _check_values(message_type, version, message.encode(version))


def _check_values(message_type: type[Message], version: int, data: bytes) -> None:
    rows, error = message_rows(message_type, version, data)
    assert error is None
    check_cover(rows, data)
    decoded = Codec(message_type, version).decode(data)
    own = list(own_rows(rows))
    found = {row.path: row.value for row in own if row.role == "value" and row.name}
    opened = {row.path for row in own if row.role == "opened"}
    wanted = {}
    for path, value, is_sent in field_values(message_type, decoded, version):
        if path not in opened:
            wanted[path] = value
            assert path in found or not is_sent, path
    for path, value in found.items():
        assert same(value, wanted[path]), path
    unknown = [row.data for row in own if row.type == "unknown tagged field"]
    assert sorted(unknown) == sorted(unknown_tags(decoded))


@pytest.mark.parametrize("name", registry)
def test_errors_are_those_of_decode(name: str) -> None:
    """The same verdict, at the same byte, with the same path."""
    message_type = registry.message(name)
    for version in message_type.VALID_VERSIONS:
        rng = random.Random(f"damaged {name} {version}")
        data = random_message(message_type, version, rng).encode(version)
        for damaged in mutants(data, MUTANTS, rng):
            rows, error = message_rows(message_type, version, damaged)
            check_cover(rows, damaged)
            expected = _error(message_type, version, damaged)
            if expected is None or error is None:
                assert error is expected is None, damaged.hex()
                continue
            assert (error.offset, error.path) == (expected.offset, expected.path), damaged.hex()
            assert rows[-1].role == "error"
            assert rows[-1].at == error.offset
            assert rows[-1].problem == error.reason


def _error(message_type: type[Message], version: int, data: bytes) -> DecodeError | None:
    try:
        Codec(message_type, version).decode(data)
    except DecodeError as error:
        return error
    return None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "version"), [("FetchResponse", 16), ("FetchRequest", 17), ("ApiVersionsResponse", 3)]
)
@settings(max_examples=30)
@given(data=st.data())
def test_any_message_is_covered(name: str, version: int, data: st.DataObject) -> None:
    message = data.draw(messages(registry.message(name), version))
    _check_values(type(message), version, message.encode(version))


@settings(max_examples=150)
@given(data=st.binary(max_size=60), version=st.integers(0, 2))
def test_any_bytes_are_explained_or_refused(data: bytes, version: int) -> None:
    message_type = registry.message("VoteRequest")
    rows, error = message_rows(message_type, version, data)
    check_cover(rows, data)
    expected = _error(message_type, version, data)
    assert (error and (error.offset, error.path)) == (expected and (expected.offset, expected.path))


def test_rows_equal_those_made_by_hand() -> None:
    """A VoteRequest of version 0 with a null, an empty array, and an unknown tagged field."""
    data = bytes.fromhex("00 02 02 74 01 00 01 07 02 aa bb")
    rows, error = message_rows(registry.message("VoteRequest"), 0, data)
    assert error is None
    assert [_short(row) for row in rows] == [
        ("message", "", 0, 0, 0, None),
        ("length", "cluster_id", 0, 1, 1, None),
        ("count", "topics", 1, 2, 1, 1),
        ("struct", "topics[0]", 2, 2, 2, None),
        ("length", "topics[0].topic_name", 2, 3, 3, 1),
        ("value", "topics[0].topic_name", 3, 4, 3, "t"),
        ("count", "topics[0].partitions", 4, 5, 3, 0),
        ("count", "topics[0].tags", 5, 6, 3, 0),
        ("count", "tags", 6, 7, 1, 1),
        ("tag", "tag", 7, 8, 2, 7),
        ("size", "tag 7", 8, 9, 2, 2),
        ("value", "tag 7", 9, 11, 2, b"\xaa\xbb"),
    ]


def _short(row: ByteRow) -> tuple[str, str, int, int, int, object]:
    return row.role, row.path, row.start, row.end, row.depth, row.value


@pytest.mark.parametrize(
    ("raw", "reason", "offset", "path"),
    [
        ("7f 61", "a compact string of 126 bytes is announced, 1 is left", 0, "cluster_id"),
        ("00 00", "expected a compact array of TopicData, got null", 1, "topics"),
        ("00 08 01", "a compact array of TopicData with 7 elements is announced, "
         "1 byte is left", 1, "topics"),
        ("02 ff 01 00", "not UTF-8: invalid start byte", 1, "cluster_id"),
        ("00 01 03 00 00", "a tag section with 3 tags is announced, "
         "which takes at least 6 bytes, 2 are left", 2, "tags"),
        ("00 01 02 05 00 05 00", "tag 5 is sent twice", 5, "tag"),
        ("00 01 01 05 04 00", "a tagged field of 4 bytes is announced, 1 is left", 4, "tag 5"),
        ("00 02 02 74 02 00 00 01", "an int32 takes 4 bytes, 3 are left", 5,
         "topics[0].partitions[0].partition_index"),
        ("00 01 00 ff", "1 byte follows the end of VoteRequest version 0", 3, ""),
        ("ff ff ff ff ff 01", "varint is longer than 5 bytes", 0, "cluster_id"),
        ("80", "an unsigned varint is cut off by the end of the input", 0, "cluster_id"),
    ],
)  # fmt: skip
def test_errors_name_the_expected_value(raw: str, reason: str, offset: int, path: str) -> None:
    data = bytes.fromhex(raw)
    message_type = registry.message("VoteRequest")
    rows, error = message_rows(message_type, 0, data)
    assert error is not None
    expected = _error(message_type, 0, data)
    assert expected is not None
    assert (error.offset, error.path) == (expected.offset, expected.path)
    assert (error.reason, error.offset, error.path) == (reason, offset, path)
    check_cover(rows, data)


def test_counts_beyond_the_input_make_no_rows() -> None:
    data = struct.pack(">i", 0x7FFFFFFF)
    rows, error = message_rows(registry.message("MetadataRequest"), 0, data)
    assert error is not None
    assert len(rows) == 2


def test_elements_are_not_kept() -> None:
    """Rows come while the bytes are read: the first is there before the last is looked at."""
    data = struct.pack(">i", 3) + b"\0\1a" + b"\0\1b" + b"\0\5c"
    rows, error = message_rows(registry.message("MetadataRequest"), 0, data)
    assert [row.value for row in rows if row.role == "value"] == ["a", "b"]
    assert error is not None
    assert error.path == "topics[2].name"


SIZELESS = {
    "type": "data",
    "name": "Sizeless",
    "validVersions": "0-1",
    "flexibleVersions": "none",
    "fields": [
        {
            "name": f"Items{at}",
            "type": f"[]Item{at}",
            "versions": "0+",
            "fields": [{"name": "Value", "type": "int8", "versions": "1+"}],
        }
        for at in range(10)
    ],
}


@pytest.mark.slow
def test_elements_without_bytes_cannot_multiply() -> None:
    """Ten arrays, each of as many empty elements as there are bytes left."""
    message_type = compile_spec(SIZELESS)
    data = b"".join((400 - 4 * at - 4).to_bytes(4) for at in range(10)) + bytes(360)
    rows, error = message_rows(message_type, 0, data)
    expected = _error(message_type, 0, data)
    assert error is not None
    assert expected is not None
    assert (error.offset, error.path, error.reason) == (
        expected.offset,
        expected.path,
        expected.reason,
    )
    assert "far more empty elements" in error.reason
    check_cover(rows, data)


def test_an_unsupported_version_is_refused() -> None:
    with pytest.raises(UnsupportedVersion):
        message_rows(registry.message("VoteRequest"), 99, b"")


@pytest.mark.slow
def test_structs_nested_too_deeply_are_refused() -> None:
    """The deepest specs that generate; what they hold is decoded all the same."""
    message_type = compile_spec(deepest_spec())
    data = bytes.fromhex("02" * 200 + "01" * 60)
    with pytest.raises(KraftwireError, match="nest too deeply"):
        message_rows(message_type, 0, data)
    assert message_rows(message_type, 0, b"\x01\x00")[1] is None
