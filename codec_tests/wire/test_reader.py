"""The readers: every primitive against bytes made by hand, and every way to refuse input."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from typing import Any, Self
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire_wire.errors import DecodeError
from kraftwire_wire.forms import fixed
from kraftwire_wire.message import Struct
from kraftwire_wire.reader import ClassicReader, CompactReader, Reader

from codec_tests.wire.refusals import decode_error_of

BOTH = pytest.mark.parametrize("form", [ClassicReader, CompactReader])

FIXED_SIZE_VALUES = [
    ("bool", "00", False),
    ("bool", "01", True),
    ("bool", "02", True),
    ("bool", "ff", True),
    ("int8", "80", -128),
    ("int8", "7f", 127),
    ("int16", "8000", -32768),
    ("int16", "0102", 258),
    ("uint16", "ffff", 65535),
    ("int32", "80000000", -(2**31)),
    ("int32", "01020304", 0x01020304),
    ("uint32", "ffffffff", 2**32 - 1),
    ("int64", "8000000000000000", -(2**63)),
    ("int64", "0102030405060708", 0x0102030405060708),
    ("float64", "3ff8000000000000", 1.5),
    ("float64", "8000000000000000", -0.0),
    ("uuid", "000102030405060708090a0b0c0d0e0f", UUID("00010203-0405-0607-0809-0a0b0c0d0e0f")),
]

# What a method reads, in which form, from which bytes.
TEXTS_AND_BYTES = [
    (ClassicReader, "string", "0003" + "616263", "abc"),
    (ClassicReader, "string", "0000", ""),
    (ClassicReader, "nullable_string", "ffff", None),
    (ClassicReader, "nullable_string", "8000", None),
    (ClassicReader, "nullable_string", "0002" + "c3a9", "\u00e9"),
    (CompactReader, "string", "04" + "616263", "abc"),
    (CompactReader, "string", "01", ""),
    (CompactReader, "string", "818000", ""),
    (CompactReader, "nullable_string", "00", None),
    (CompactReader, "nullable_string", "8000", None),
    (CompactReader, "classic_string", "0001" + "61", "a"),
    (CompactReader, "classic_nullable_string", "ffff", None),
    (ClassicReader, "bytes", "00000002" + "beef", b"\xbe\xef"),
    (ClassicReader, "nullable_bytes", "ffffffff", None),
    (ClassicReader, "nullable_bytes", "80000000", None),
    (ClassicReader, "records", "00000001" + "00", b"\x00"),
    (CompactReader, "bytes", "03" + "beef", b"\xbe\xef"),
    (CompactReader, "nullable_bytes", "00", None),
    (CompactReader, "nullable_records", "01", b""),
    (CompactReader, "classic_bytes", "00000001" + "ff", b"\xff"),
    (CompactReader, "classic_nullable_bytes", "ffffffff", None),
]

ARRAYS = [
    (ClassicReader, "array", "int32", "00000002" + "00000001" + "ffffffff", [1, -1]),
    (ClassicReader, "array", "int32", "00000000", []),
    (ClassicReader, "nullable_array", "int32", "ffffffff", None),
    (ClassicReader, "nullable_array", "int32", "80000000", None),
    (ClassicReader, "array", "string", "00000002" + "000161" + "0000", ["a", ""]),
    (CompactReader, "array", "int16", "03" + "0001" + "8000", [1, -32768]),
    (CompactReader, "array", "bool", "03" + "00" + "07", [False, True]),
    (CompactReader, "array", "string", "03" + "0261" + "01", ["a", ""]),
    (CompactReader, "array", "uuid", "02" + "00" * 15 + "01", [UUID(int=1)]),
    (CompactReader, "nullable_array", "string", "00", None),
]


def call(reader: Reader, kind: str, *arguments: Any) -> Any:
    return getattr(reader, f"read_{kind}")("field", *arguments)


@BOTH
@pytest.mark.parametrize(("kind", "raw", "value"), FIXED_SIZE_VALUES)
def test_fixed_sizes_are_big_endian(form: type[Reader], kind: str, raw: str, value: object) -> None:
    reader = form(b"\xaa" + bytes.fromhex(raw) + b"\xbb", 1)
    assert repr(call(reader, kind)) == repr(value)
    assert reader.position == 1 + len(raw) // 2


@given(st.integers(-(2**63), 2**63 - 1))
def test_int64_agrees_with_int_from_bytes(value: int) -> None:
    assert ClassicReader(value.to_bytes(8, signed=True)).read_int64("n") == value


@BOTH
@pytest.mark.parametrize(("kind", "raw", "value"), FIXED_SIZE_VALUES)
def test_a_cut_off_number_is_refused_where_it_starts(
    form: type[Reader], kind: str, raw: str, value: object
) -> None:
    size = len(raw) // 2
    for left in range(size):
        reader = form(b"\xaa" + bytes.fromhex(raw)[:left], 1)
        error = decode_error_of(lambda reader=reader: call(reader, kind))
        noun = "byte" if size == 1 else "bytes"
        assert error.reason == f"needs {size} {noun}, the input has {left} left"
        assert (error.path, error.offset) == ("field", 1)


@pytest.mark.parametrize(
    ("left", "path", "offset"),
    [(0, "a", 0), (3, "a", 0), (4, "b", 4), (5, "c", 5), (12, "c", 5)],
)
def test_a_cut_off_run_is_refused_at_the_field_that_is_cut(
    left: int, path: str, offset: int
) -> None:
    form = fixed("int32", "bool", "int64")
    assert form.size == 13
    reader = ClassicReader(bytes(left))
    error = decode_error_of(lambda: reader.read_fixed(form, ("a", "b", "c")))
    assert (error.path, error.offset) == (path, offset)


@pytest.mark.parametrize(("form", "kind", "raw", "value"), TEXTS_AND_BYTES)
def test_strings_and_bytes(form: type[Reader], kind: str, raw: str, value: object) -> None:
    reader = form(bytes.fromhex(raw + "cc"))
    assert call(reader, kind) == value
    assert reader.position == len(raw) // 2


@pytest.mark.parametrize(("form", "kind", "raw", "value"), TEXTS_AND_BYTES)
def test_strings_and_bytes_are_refused_at_every_truncation(
    form: type[Reader], kind: str, raw: str, value: object
) -> None:
    data = bytes.fromhex(raw)
    for end in range(len(data)):
        reader = form(data[:end])
        error = decode_error_of(lambda reader=reader: call(reader, kind))
        assert (error.path, error.offset) == ("field", 0), end


@pytest.mark.parametrize(("form", "kind", "element", "raw", "value"), ARRAYS)
def test_arrays(form: type[Reader], kind: str, element: str, raw: str, value: object) -> None:
    reader = form(bytes.fromhex(raw + "cc"))
    assert call(reader, kind, element) == value
    assert reader.position == len(raw) // 2


@pytest.mark.parametrize(("form", "kind", "element", "raw", "value"), ARRAYS)
def test_arrays_are_refused_at_every_truncation(
    form: type[Reader], kind: str, element: str, raw: str, value: object
) -> None:
    data = bytes.fromhex(raw)
    for end in range(len(data)):
        reader = form(data[:end])
        error = decode_error_of(lambda reader=reader: call(reader, kind, element))
        assert error.path.startswith("field"), end
        assert error.offset is not None
        assert 0 <= error.offset <= end


def test_an_error_in_an_element_names_it() -> None:
    # count 2, "a", then a string of 5 bytes of which 1 is there
    reader = ClassicReader(bytes.fromhex("00000002" + "000161" + "0005" + "62"))
    error = decode_error_of(lambda: reader.read_array("names", "string"))
    assert (error.path, error.offset) == ("names[1]", 7)
    assert str(error) == "names[1]: needs 5 bytes, the input has 1 left (at byte 7)"


@pytest.mark.parametrize(
    ("form", "kind", "raw", "reason"),
    [
        (ClassicReader, "array int8", "ffffffff", "expected an array, got null"),
        (CompactReader, "array int8", "00", "expected an array, got null"),
        (ClassicReader, "string", "ffff", "expected a string, got null"),
        (ClassicReader, "string", "8000", "expected a string, got null"),
        (CompactReader, "string", "00", "expected a string, got null"),
        (CompactReader, "classic_string", "ffff", "expected a string, got null"),
        (ClassicReader, "bytes", "ffffffff", "expected bytes, got null"),
        (CompactReader, "bytes", "00", "expected bytes, got null"),
        (CompactReader, "records", "00", "expected bytes, got null"),
        (CompactReader, "classic_bytes", "fffffffe", "expected bytes, got null"),
    ],
)
def test_null_is_refused_where_none_may_be(
    form: type[Reader], kind: str, raw: str, reason: str
) -> None:
    reader = form(b"\x00" + bytes.fromhex(raw), 1)
    error = decode_error_of(lambda: call(reader, *kind.split()))
    assert (error.reason, error.path, error.offset) == (reason, "field", 1)


# -- varints -----------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    """LEB128, written down once more."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F)
    return bytes(group | 0x80 for group in groups[:-1]) + bytes(groups[-1:])


@given(st.integers(0, 2**32 - 1))
def test_varints_are_leb128(value: int) -> None:
    reader = CompactReader(varint(value))
    assert reader.read_unsigned_varint("n") == value
    assert reader.position == reader.end


@pytest.mark.parametrize(
    ("raw", "value"),
    [("8000", 0), ("818000", 1), ("8080808000", 0), ("ff80808000", 127), ("8080808010", 0)],
)
def test_overlong_varints_are_read(raw: str, value: int) -> None:
    reader = CompactReader(bytes.fromhex(raw))
    assert reader.read_unsigned_varint("n") == value
    assert reader.position == len(raw) // 2


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("808080808000", "varint is longer than 5 bytes"),
        ("ffffffffff01", "varint is longer than 5 bytes"),
        ("ffffffffff", "varint is longer than 5 bytes"),
        ("ffffffff", "varint is cut off by the end of the input"),
        ("80", "varint is cut off by the end of the input"),
        ("", "varint is cut off by the end of the input"),
    ],
)
def test_varints_without_an_end_are_refused(raw: str, reason: str) -> None:
    reader = CompactReader(b"\x00\x00" + bytes.fromhex(raw), 2)
    error = decode_error_of(lambda: reader.read_unsigned_varint("n"))
    assert (error.reason, error.path, error.offset) == (reason, "n", 2)


# -- lengths -----------------------------------------------------------------------------------

TWO_GIGABYTES = [
    (ClassicReader, "bytes", "7fffffff"),
    (ClassicReader, "nullable_bytes", "7fffffff"),
    (ClassicReader, "records", "7fffffff"),
    (CompactReader, "bytes", "ffffffff07"),
    (CompactReader, "bytes", "ffffffff0f"),
    (CompactReader, "string", "ffffffff07"),
    (CompactReader, "nullable_string", "ffffffff0f"),
    (CompactReader, "classic_bytes", "7fffffff"),
]


@pytest.mark.parametrize(("form", "kind", "raw"), TWO_GIGABYTES)
def test_a_claimed_length_allocates_nothing(form: type[Reader], kind: str, raw: str) -> None:
    data = bytes.fromhex(raw) + bytes(100)
    assert peak_memory_of(lambda: decode_error_of(lambda: call(form(data), kind))) < 50_000


@pytest.mark.parametrize("element", ["int8", "int64", "bool", "string", "uuid"])
@pytest.mark.parametrize(
    ("form", "raw"), [(ClassicReader, "7fffffff"), (CompactReader, "ffffffff07")]
)
def test_a_claimed_count_allocates_nothing(form: type[Reader], raw: str, element: str) -> None:
    data = bytes.fromhex(raw) + bytes(100)
    assert (
        peak_memory_of(lambda: decode_error_of(lambda: form(data).read_array("a", element)))
        < 50_000
    )


def peak_memory_of(action: Callable[[], object]) -> int:
    action()  # what the first call loads and caches is not the input's doing
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_count_beyond_the_input_is_refused_with_both_numbers() -> None:
    # 3 elements, of which the 2 bytes left cannot hold one each
    reader = CompactReader(bytes.fromhex("04" + "0101"))
    error = decode_error_of(lambda: reader.read_array("names", "string"))
    assert error.reason == "array of 3 elements, the input has 2 bytes left"
    assert (error.path, error.offset) == ("names", 0)


@pytest.mark.parametrize("lenient", [False, True])
def test_a_compact_string_over_32767_bytes_is_refused(lenient: bool) -> None:
    longest = varint(0x7FFF + 1) + b"a" * 0x7FFF
    assert CompactReader(longest, lenient=lenient).read_string("s") == "a" * 0x7FFF
    reader = CompactReader(varint(0x8000 + 1) + b"a" * 0x8000, lenient=lenient)
    error = decode_error_of(lambda: reader.read_string("s"))
    assert error.reason == "string of 32768 bytes, at most 32767 are allowed"


@pytest.mark.parametrize("kind", ["nullable_bytes", "nullable_string"])
@pytest.mark.parametrize("length", [0x80000001, 0xFFFFFFFF])
def test_lenient_takes_a_negative_compact_length_for_null(length: int, kind: str) -> None:
    data = varint(length)
    assert call(CompactReader(data, lenient=True), kind) is None
    with pytest.raises(DecodeError):
        call(CompactReader(data), kind)


@pytest.mark.parametrize("kind", ["nullable_bytes", "nullable_string"])
@pytest.mark.parametrize("lenient", [False, True])
def test_the_smallest_signed_length_less_one_is_a_large_one_in_java_too(
    lenient: bool, kind: str
) -> None:
    reader = CompactReader(varint(0x80000000), lenient=lenient)
    assert "2147483647 bytes" in decode_error_of(lambda: call(reader, kind)).reason


class Empty(Struct):
    """A struct of no fields, for what goes before one."""

    @classmethod
    def _decode(cls, reader: Reader, version: int) -> Self:
        return cls()


def read_marked(marker: int, *, lenient: bool = False) -> Empty | None:
    reader = CompactReader(varint(marker), lenient=lenient)
    return reader.read_tagged_nullable_struct("field", Empty, 0)


def test_the_marker_of_a_tagged_nullable_struct() -> None:
    assert read_marked(0) is None
    assert isinstance(read_marked(1), Empty)
    assert isinstance(read_marked(0x7FFFFFFF), Empty)


@pytest.mark.parametrize("marker", [0x80000000, 0xFFFFFFFF])
def test_a_marker_that_java_takes_for_a_negative_one(marker: int) -> None:
    assert read_marked(marker, lenient=True) is None
    error = decode_error_of(lambda: read_marked(marker))
    assert (error.path, error.offset) == ("field", 0)
    assert error.reason == f"expected 0 or 1, got marker {marker}"


# -- text --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "bad", "as_java"),
    [
        ("ff", 0, "\ufffd"),
        ("6162c328", 2, "ab\ufffd("),
        ("61eda080", 1, "a\ufffd"),
        ("616263e282", 3, "abc\ufffd"),
    ],
)
def test_malformed_utf8_is_refused_at_the_bad_byte(text: str, bad: int, as_java: str) -> None:
    size = len(text) // 2
    data = struct.pack(">h", size) + bytes.fromhex(text)
    error = decode_error_of(lambda: ClassicReader(data).read_string("s"))
    assert error.reason.startswith("not UTF-8: ")
    assert (error.path, error.offset) == ("s", 2 + bad)
    assert ClassicReader(data, lenient=True).read_string("s") == as_java


@given(st.binary(max_size=40), st.booleans(), st.data())
def test_a_reader_raises_only_decode_errors(raw: bytes, lenient: bool, data: st.DataObject) -> None:
    form = data.draw(st.sampled_from([ClassicReader, CompactReader]))
    reader = form(raw, lenient=lenient)
    kinds = [(kind,) for kind in sorted({case[1] for case in TEXTS_AND_BYTES})]
    kinds += [(kind, element) for _, kind, element, _, _ in ARRAYS]
    while reader.position < reader.end:
        try:
            call(reader, *data.draw(st.sampled_from(kinds)))
        except DecodeError as error:
            offset = error.offset
            break
    else:
        offset = 0
    assert offset in range(len(raw) + 1)
