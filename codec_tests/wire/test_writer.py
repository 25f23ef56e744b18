"""The writers: every primitive against bytes made by hand, and every value they refuse."""

from __future__ import annotations

import struct
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire_wire.errors import EncodeError
from kraftwire_wire.forms import fixed
from kraftwire_wire.reader import ClassicReader, CompactReader
from kraftwire_wire.writer import ClassicWriter, CompactWriter, TagSection, Writer

from codec_tests.wire.refusals import encode_error_of

BOTH = pytest.mark.parametrize("form", [ClassicWriter, CompactWriter])

INTEGERS = [
    ("int8", -(2**7), 2**7 - 1),
    ("int16", -(2**15), 2**15 - 1),
    ("uint16", 0, 2**16 - 1),
    ("int32", -(2**31), 2**31 - 1),
    ("uint32", 0, 2**32 - 1),
    ("int64", -(2**63), 2**63 - 1),
]

VALUES = [
    (ClassicWriter, "bool", True, "01"),
    (ClassicWriter, "bool", False, "00"),
    (ClassicWriter, "float64", 1.5, "3ff8000000000000"),
    (ClassicWriter, "float64", 2, "4000000000000000"),
    (ClassicWriter, "uuid", UUID(int=258), "00" * 14 + "0102"),
    (ClassicWriter, "string", "abc", "0003" + "616263"),
    (ClassicWriter, "nullable_string", None, "ffff"),
    (ClassicWriter, "nullable_string", "", "0000"),
    (ClassicWriter, "bytes", b"\xbe\xef", "00000002" + "beef"),
    (ClassicWriter, "bytes", bytearray(b"a"), "00000001" + "61"),
    (ClassicWriter, "bytes", memoryview(b"a"), "00000001" + "61"),
    (ClassicWriter, "nullable_bytes", None, "ffffffff"),
    (ClassicWriter, "nullable_records", None, "ffffffff"),
    (CompactWriter, "string", "abc", "04" + "616263"),
    (CompactWriter, "string", "\u00e9", "03" + "c3a9"),
    (CompactWriter, "nullable_string", None, "00"),
    (CompactWriter, "string", "a" * 126, "7f" + "61" * 126),
    (CompactWriter, "string", "a" * 127, "8001" + "61" * 127),
    (CompactWriter, "classic_string", "a", "0001" + "61"),
    (CompactWriter, "classic_nullable_string", None, "ffff"),
    (CompactWriter, "bytes", b"\xbe\xef", "03" + "beef"),
    (CompactWriter, "records", b"", "01"),
    (CompactWriter, "nullable_bytes", None, "00"),
    (CompactWriter, "classic_bytes", b"\xff", "00000001" + "ff"),
    (CompactWriter, "classic_nullable_bytes", None, "ffffffff"),
]

ARRAYS = [
    (ClassicWriter, "array", "int32", [1, -1], "00000002" + "00000001" + "ffffffff"),
    (ClassicWriter, "array", "string", ("a", ""), "00000002" + "000161" + "0000"),
    (ClassicWriter, "nullable_array", "string", None, "ffffffff"),
    (CompactWriter, "array", "bool", [False, True], "03" + "00" + "01"),
    (CompactWriter, "array", "uuid", [UUID(int=1)], "02" + "00" * 15 + "01"),
    (CompactWriter, "array", "float64", [], "01"),
    (CompactWriter, "nullable_array", "int8", None, "00"),
]

# Values that are none of what a kind of field takes.
NOT_AN_INTEGER = [None, "1", 1.0, b"1", [1], {}, object(), int, Decimal(1), Fraction(1), 1j]
WRONG = {
    "bool": [None, 0, 1, "true", 1.0, [True], object()],
    "float64": [None, "1.5", b"", [1.0], 1j, 10**400],
    "uuid": [None, "x7D3Ck_ZRA22-dzIvu_pnQ", bytes(16), 1],
    "string": [None, b"abc", 1, ["a"], UUID(int=0)],
    "nullable_string": [b"abc", 1, ["a"]],
    "classic_string": [None, b"abc", 1],
    "bytes": [None, "abc", 1, [1], range(3)],
    "nullable_bytes": ["abc", 1],
    "classic_bytes": [None, "abc"],
    "records": [None, "abc", 1],
}


class Misleading:
    """Has the method of an index, but is none."""

    def __index__(self) -> int:
        raise TypeError("only for show")


def written(form: type[Writer], kind: str, *arguments: Any) -> str:
    writer = form()
    getattr(writer, f"write_{kind}")("field", *arguments)
    return bytes(writer.buffer).hex()


@BOTH
@pytest.mark.parametrize(("kind", "low", "high"), INTEGERS)
def test_integers_are_big_endian(form: type[Writer], kind: str, low: int, high: int) -> None:
    size = high.bit_length() // 8 + (low < 0)
    for value in (low, high, 0, 1, high // 3):
        expected = value.to_bytes(size, "big", signed=low < 0).hex()
        assert written(form, kind, value) == expected


@pytest.mark.parametrize(("kind", "low", "high"), INTEGERS)
def test_integers_out_of_range_are_refused(kind: str, low: int, high: int) -> None:
    for value in (low - 1, high + 1):
        error = encode_error_of(lambda value=value: written(ClassicWriter, kind, value))
        assert error.path == "field"
        assert error.reason == f"int {value} does not fit into {kind}"


@pytest.mark.parametrize("kind", [kind for kind, _, _ in INTEGERS])
@pytest.mark.parametrize("value", [*NOT_AN_INTEGER, Misleading()])
def test_values_that_are_not_integers_are_refused(kind: str, value: object) -> None:
    assert encode_error_of(lambda: written(ClassicWriter, kind, value)).path == "field"
    error = encode_error_of(lambda: written(CompactWriter, "array", kind, [0, value]))
    assert error.path == "field[1]"


@pytest.mark.parametrize(("form", "kind", "value", "expected"), VALUES)
def test_values(form: type[Writer], kind: str, value: object, expected: str) -> None:
    assert written(form, kind, value) == expected


@pytest.mark.parametrize(("kind", "value"), [(k, v) for k, values in WRONG.items() for v in values])
@BOTH
def test_values_of_the_wrong_type_are_refused(form: type[Writer], kind: str, value: object) -> None:
    error = encode_error_of(lambda: written(form, kind, value))
    assert error.path == "field"
    if value is None and kind not in ("bool", "float64", "uuid"):
        assert error.reason == "None, but the field is not nullable in this version"


@pytest.mark.parametrize(("form", "kind", "element", "items", "expected"), ARRAYS)
def test_arrays(form: type[Writer], kind: str, element: str, items: Any, expected: str) -> None:
    assert written(form, kind, element, items) == expected


@BOTH
@pytest.mark.parametrize("items", [None, "ab", b"ab", {1}, {"a": 1}, 5, iter([1])])
def test_values_that_are_not_lists_are_refused(form: type[Writer], items: object) -> None:
    assert encode_error_of(lambda: written(form, "array", "int8", items)).path == "field"


@BOTH
@pytest.mark.parametrize(
    ("element", "items", "path"),
    [
        ("int32", [1, 2**31], "field[1]"),
        ("int8", [0, 0, None], "field[2]"),
        ("bool", [True, 1], "field[1]"),
        ("string", ["a", None], "field[1]"),
        ("uuid", ["a"], "field[0]"),
    ],
)
def test_a_wrong_element_is_named(
    form: type[Writer], element: str, items: list[Any], path: str
) -> None:
    assert encode_error_of(lambda: written(form, "array", element, items)).path == path


@BOTH
def test_the_wrong_number_of_a_run_is_named(form: type[Writer]) -> None:
    run, names = fixed("int32", "int8", "float64"), ("a", "b", "c")
    writer = form()
    writer.write_fixed(run, names, -2, 1, 0.5)
    assert bytes(writer.buffer) == b"\xff\xff\xff\xfe" + b"\x01" + struct.pack(">d", 0.5)
    for values, path in [
        ((2**31, 1, 0.5), "a"),
        ((None, 1, 0.5), "a"),
        ((0, None, 0.5), "b"),
        ((0, 128, 0.5), "b"),
        ((0, 1, "0.5"), "c"),
        ((Misleading(), 1, 0.5), "a"),
    ]:
        error = encode_error_of(lambda values=values: form().write_fixed(run, names, *values))
        assert error.path == path, values


@pytest.mark.parametrize("kind", ["string", "nullable_string", "classic_string"])
@BOTH
def test_strings_have_at_most_32767_bytes(form: type[Writer], kind: str) -> None:
    assert written(form, kind, "a" * 32767).endswith("61" * 32767)
    error = encode_error_of(lambda: written(form, kind, "\u00e9" * 16384))
    assert error.reason == "string of 32768 bytes, at most 32767 can be written"
    assert error.path == "field"


@given(st.integers(0, 2**32 - 1))
def test_varints_are_read_back(value: int) -> None:
    writer = CompactWriter()
    writer.write_unsigned_varint(value)
    assert len(writer.buffer) == max(1, -(-value.bit_length() // 7))
    assert CompactReader(bytes(writer.buffer)).read_unsigned_varint("n") == value


@given(st.text(max_size=50) | st.none(), st.binary(max_size=50) | st.none())
def test_written_values_are_read_back(text: str | None, raw: bytes | None) -> None:
    for writer_type, reader_type in [
        (ClassicWriter, ClassicReader),
        (CompactWriter, CompactReader),
    ]:
        writer = writer_type()
        writer.write_nullable_string("text", text)
        writer.write_nullable_bytes("raw", raw)
        reader = reader_type(bytes(writer.buffer))
        assert reader.read_nullable_string("text") == text
        assert reader.read_nullable_bytes("raw") == raw


# -- tag sections ------------------------------------------------------------------------------


def section(known: dict[int, str], unknown: Any) -> str:
    tags = TagSection()
    for tag, text in known.items():
        tags.add(tag).write_string("text", text)
    writer = CompactWriter()
    writer.write_tags(tags, unknown)
    return bytes(writer.buffer).hex()


@pytest.mark.parametrize(
    ("known", "unknown", "expected"),
    [
        ({}, [], "00"),
        ({0: "a"}, [], "01" + "00" + "02" + "0261"),
        # ascending, wherever the tags come from
        ({1: "a"}, [(0, b"z"), (2, b"")], "03" + "0001" + "7a" + "0102" + "0261" + "0200"),
        ({}, [(1000, b"\x01\x02\x03")], "01" + "e807" + "03" + "010203"),
        ({}, [(0x7FFFFFFE, b"")], "01" + "feffffff07" + "00"),
        # a payload of 128 bytes: the size takes two
        ({}, [(5, b"a" * 128)], "01" + "05" + "8001" + "61" * 128),
    ],
)
def test_tag_sections(known: dict[int, str], unknown: Any, expected: str) -> None:
    assert section(known, unknown) == expected


@pytest.mark.parametrize(
    ("unknown", "path", "reason"),
    [
        ({5: b""}, "", "expected a list, got dict {5: b''}"),
        ([5], "[0]", "expected a pair of tag and bytes, got int 5"),
        ([(5,)], "[0]", "expected a pair of tag and bytes, got tuple (5,)"),
        ([(5, "a")], "[0]", "expected a pair of an int and bytes"),
        ([("5", b"a")], "[0]", "expected a pair of an int and bytes"),
        ([(5, b""), (5, b"")], "[1]", "tag 5 after tag 5; tags must ascend"),
        ([(7, b""), (5, b"")], "[1]", "tag 5 after tag 7; tags must ascend"),
        ([(-1, b"")], "[0]", "tag int -1 is outside 0 to 2147483646"),
        ([(0x7FFFFFFF, b"")], "[0]", "tag int 2147483647 is outside 0 to 2147483646"),
        ([(1, b"")], "[0]", "tag 1 is a field of this struct and is set there"),
    ],
)
def test_invalid_unknown_tags_are_refused(unknown: Any, path: str, reason: str) -> None:
    error = encode_error_of(lambda: section({1: "a"}, unknown))
    assert (error.path, error.reason) == ("unknown_tagged_fields" + path, reason)


@given(
    st.sampled_from(["bool", *(kind for kind, _, _ in INTEGERS), *WRONG]),
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.text(st.characters(), max_size=5)
    | st.binary(max_size=5)
    | st.lists(st.integers(), max_size=2)
    | st.sets(st.integers(), max_size=2)
    | st.decimals()
    | st.uuids(),
)
def test_a_writer_raises_only_encode_errors(kind: str, value: object) -> None:
    for form in (ClassicWriter, CompactWriter):
        for arguments in ((kind, value), ("array", kind, value), ("array", kind, [value])):
            with suppress(EncodeError):
                written(form, *arguments)
