"""Primitives and tag sections have the bytes that Kafka's own classes give them.

The sections `varint` and `varlong` are about what stands within record batches.
"""

from __future__ import annotations

import base64
import uuid
from typing import Any

import pytest

from kraftwire_wire.errors import DecodeError, EncodeError
from kraftwire_wire.reader import ClassicReader, CompactReader
from kraftwire_wire.text import decode_as_java
from kraftwire_wire.writer import ClassicWriter, CompactWriter, TagSection

from codec_tests.oracle import oracle_section, report_oracle_count

JAVA_DOUBLES = {
    "123e45": 123e45,
    "Double.MIN_VALUE": 5e-324,
    "Double.MAX_VALUE": 1.7976931348623157e308,
    "Double.NaN": float("nan"),
    "Double.POSITIVE_INFINITY": float("inf"),
    "Double.NEGATIVE_INFINITY": float("-inf"),
}


def test_uvarint() -> None:
    cases = oracle_section("uvarint")
    for case in cases:
        value = case["value"] & 0xFFFFFFFF  # Java has no unsigned numbers
        writer = CompactWriter()
        writer.write_unsigned_varint(value)
        assert bytes(writer.buffer).hex() == case["hex"]
        assert CompactReader(bytes(writer.buffer)).read_unsigned_varint("n") == value
    report_oracle_count("uvarint", len(cases), 0)


def test_invalid_uvarint() -> None:
    cases = oracle_section("invalid_uvarint")
    for case in cases:
        for lenient in (False, True):
            reader = CompactReader(bytes.fromhex(case["hex"]), lenient=lenient)
            with pytest.raises(DecodeError, match="varint is longer than 5 bytes"):
                reader.read_unsigned_varint("n")
    report_oracle_count("invalid_uvarint", len(cases), 0)


def test_lenient_uvarint() -> None:
    cases = oracle_section("lenient_uvarint")
    for case in cases:
        reader = CompactReader(bytes.fromhex(case["hex"]))
        assert reader.read_unsigned_varint("n") == case["value"] & 0xFFFFFFFF
        assert reader.position == reader.end
    report_oracle_count("lenient_uvarint", len(cases), 0)


def test_float64() -> None:
    cases = oracle_section("float64")
    for case in cases:
        name = case["java"].removeprefix("-")
        value = JAVA_DOUBLES.get(name)
        value = float(name) if value is None else value
        value = -value if name != case["java"] else value
        writer = ClassicWriter()
        writer.write_float64("f", value)
        assert bytes(writer.buffer).hex() == case["hex"]
        assert repr(ClassicReader(bytes(writer.buffer)).read_float64("f")) == repr(value)
    report_oracle_count("float64", len(cases), 0)


def test_uuid() -> None:
    cases = oracle_section("uuid")
    for case in cases:
        raw = uuid_bytes(case)
        value = ClassicReader(raw).read_uuid("u")
        assert value.int == int.from_bytes(raw)
        writer = ClassicWriter()
        writer.write_uuid("u", value)
        assert bytes(writer.buffer) == raw
        if "string" in case:
            assert base64.urlsafe_b64encode(value.bytes).decode().rstrip("=") == case["string"]
        if "javaHashCode" in case:
            assert java_hash(value) == case["javaHashCode"]
    report_oracle_count("uuid", len(cases), 0)


def uuid_bytes(case: dict[str, Any]) -> bytes:
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    return b"".join(case[half].to_bytes(8, signed=True) for half in ("msb", "lsb"))


def java_hash(value: uuid.UUID) -> int:
    """What Java's hash of the two halves is, so that the halves are known to be right."""
    both = (value.int >> 64) ^ (value.int & (1 << 64) - 1)
    folded = (both >> 32 ^ both) & 0xFFFFFFFF
    return folded - (folded >> 31 << 32)


def test_utf8_decode() -> None:
    cases = oracle_section("utf8_decode")
    for case in cases:
        text = decode_as_java(bytes.fromhex(case["hex"]))
        utf16 = text.encode("utf-16-be").hex()
        assert [utf16[i : i + 4] for i in range(0, len(utf16), 4)] == case["utf16"], case
    report_oracle_count("utf8_decode", len(cases), 0)


def test_raw_tag_writer() -> None:
    """Java's writer emits the raw tags up to the next defined tag; ours merges them all."""
    cases = oracle_section("raw_tag_writer")
    raw = {2: b"\x01\x02\x03", 5: b"\x04\x05"}
    for case in cases:
        below = [(tag, data) for tag, data in raw.items() if tag < case["nextDefinedTag"]]
        above = [(tag, data) for tag, data in raw.items() if tag > case["nextDefinedTag"]]
        tags = TagSection()
        writer = CompactWriter()
        if case["nextDefinedTag"] < 0x7FFFFFFF:
            tags.add(case["nextDefinedTag"]).write_bool("b", True)
            writer.write_tags(tags, [*below, *above])
            # the count of tags, then what Java wrote, then the defined tag
            start = bytes([len(raw) + 1]).hex() + case["hex_after"]
            assert (
                bytes(writer.buffer).hex().startswith(start + bytes([case["nextDefinedTag"]]).hex())
            )
        else:
            writer.write_unknown_tags(below)
            assert bytes(writer.buffer).hex() == bytes([len(raw)]).hex() + case["hex_after"]
    report_oracle_count("raw_tag_writer", len(cases), 0)


def test_raw_tag_writer_errors() -> None:
    cases = oracle_section("raw_tag_writer_errors")
    for case in cases:
        tags = TagSection()
        tags.add(case["nextDefinedTag"])
        unknown = [(tag, b"") for tag in case["tags"]]
        with pytest.raises(EncodeError):
            CompactWriter().write_tags(tags, unknown)
    report_oracle_count("raw_tag_writer_errors", len(cases), 0)
