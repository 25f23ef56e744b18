"""The constants of a Java enum come out of its class file; bad bytes are a ValueError."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from kraftwire_generator.importer.class_file import enum_constants
from kraftwire_generator.importer.sources import SourceError, read_source

from codec_tests.spec_files import write_jar

_CLASS_INDEX, _INIT_INDEX, _CODE_INDEX = 2, 4, 5
_NAMES_INDEX = 20  # from here on, three entries a constant: name, string, int


def _utf8(text: str) -> bytes:
    return b"\x01" + struct.pack(">H", len(text)) + text.encode()


def _push(value: int, int_index: int) -> bytes:
    """The shortest instruction that javac writes for an int."""
    if -1 <= value <= 5:
        return bytes([3 + value])  # iconst_<value>
    if -128 <= value < 128:
        return b"\x10" + struct.pack(">b", value)  # bipush
    if -32768 <= value < 32768:
        return b"\x11" + struct.pack(">h", value)  # sipush
    return b"\x13" + struct.pack(">H", int_index)  # ldc_w


def _constant_code(ordinal: int, code: int, first_index: int) -> bytes:
    return b"".join(
        (
            b"\xbb" + struct.pack(">H", _CLASS_INDEX),  # new
            b"\x59",  # dup
            b"\x12" + bytes([first_index + 1]),  # ldc <name>
            _push(ordinal, 0),
            _push(code, first_index + 2),
            b"\x01",  # aconst_null, in place of the message
            b"\xba\x00\x09\x00\x00",  # invokedynamic
            b"\xb7\x00\x09",  # invokespecial <init>
            b"\xb3\x00\x09",  # putstatic
        )
    )


def _class_file(constants: list[tuple[str, int]]) -> bytes:
    pool = [
        _utf8("example/Codes"),  # 1
        b"\x07" + struct.pack(">H", 1),  # 2: the class
        _utf8("extra"),  # 3
        _utf8("<clinit>"),  # 4
        _utf8("Code"),  # 5
        b"\x05" + bytes(8),  # 6 and 7: a long takes two indexes
        b"\x0f\x01\x00\x09",  # 8: a method handle
        b"\x0a\x00\x02\x00\x03",  # 9: a method
    ]
    pool += [_utf8("filler")] * (_NAMES_INDEX - 10)  # 10 to 19
    code = b""
    for ordinal, (name, number) in enumerate(constants):
        first = _NAMES_INDEX + 3 * ordinal
        int_body = struct.pack(">i", number)
        pool += [_utf8(name), b"\x08" + struct.pack(">H", first), b"\x03" + int_body]
        code += _constant_code(ordinal, number, first)
    code += b"\xb8\x00\x09\xb3\x00\x09\xb1"  # what follows them: $VALUES = $values(); return
    attribute = struct.pack(">HHI", 9, 0, len(code)) + code + bytes(4)  # no handlers, nothing more
    return b"".join(
        (
            b"\xca\xfe\xba\xbe" + bytes(4),  # magic, version
            struct.pack(">H", _NAMES_INDEX + 3 * len(constants)),  # the pool's count
            *pool,
            struct.pack(">HHH", 0, _CLASS_INDEX, _CLASS_INDEX),  # flags, this, super
            struct.pack(">HH", 1, _CLASS_INDEX),  # one interface
            struct.pack(">HHHHH", 1, 0, 3, 3, 0),  # one field
            struct.pack(">H", 2),  # two methods: one without bytecode, then <clinit>
            struct.pack(">HHHH", 0, 3, 3, 0),
            struct.pack(">HHHH", 0, _INIT_INDEX, 3, 1),
            struct.pack(">HI", _CODE_INDEX, len(attribute)) + attribute,
            bytes(2),  # no attributes of the class
        )
    )


_CONSTANTS = [("UNKNOWN", -1), ("NONE", 0), ("FIVE", 5), ("SIX", 6), ("LOW", -200), ("BIG", 70_000)]


def test_every_way_to_push_a_number_is_read() -> None:
    assert enum_constants(_class_file(_CONSTANTS)) == _CONSTANTS


def test_an_enum_without_constants() -> None:
    assert enum_constants(_class_file([])) == []


def test_something_else_is_refused_with_its_offset() -> None:
    with pytest.raises(ValueError, match="offset 0"):
        enum_constants(b"PK\x03\x04 and so on")


def test_an_unknown_instruction_is_refused_with_its_offset() -> None:
    data = _class_file(_CONSTANTS).replace(b"\x59\x12", b"\xfe\x12", 1)
    offset = data.index(b"\xfe\x12")
    with pytest.raises(ValueError, match=f"0xfe at offset {offset}"):
        enum_constants(data)


def test_a_class_cut_short_is_refused() -> None:
    data = _class_file(_CONSTANTS)
    for size in range(len(data) - 10):
        with pytest.raises(ValueError, match="offset"):
            enum_constants(data[:size])


def test_damaged_bytes_raise_nothing_but_value_error() -> None:
    data = _class_file(_CONSTANTS)
    chance = random.Random(7)
    problems = []
    for _ in range(3000):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(data))] = chance.randrange(256)
        try:
            enum_constants(bytes(damaged))
        except ValueError as error:
            problems.append(str(error))
    assert problems
    assert [problem for problem in problems if "offset" not in problem] == []


def _clients_jar(folder: Path, errors_class: bytes) -> str:
    files = {"org/apache/kafka/common/protocol/Errors.class": errors_class}
    return write_jar(folder / "kafka-clients-9.1.0.jar", files)


def test_the_error_codes_of_a_jar(tmp_path: Path) -> None:
    source = read_source(_clients_jar(tmp_path, _class_file(_CONSTANTS)))
    assert source.error_codes == dict(_CONSTANTS)


@pytest.mark.parametrize("errors_class", [b"", _class_file([]), _class_file([("A", 1), ("B", 1)])])
def test_error_codes_that_cannot_be_right(tmp_path: Path, errors_class: bytes) -> None:
    with pytest.raises(SourceError, match=r"Errors\.class"):
        read_source(_clients_jar(tmp_path, errors_class))
