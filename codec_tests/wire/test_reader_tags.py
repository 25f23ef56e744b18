"""Reading tag sections: from bytes made by hand, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from kraftwire_wire.errors import DecodeError
from kraftwire_wire.reader import CompactReader


def read_section(raw: str, *, lenient: bool = False) -> tuple[dict[int, int], list[Any], int]:
    """Reads a section whose tags 0 and 1 are int16 fields named zero and one."""
    reader = CompactReader(bytes.fromhex(raw), lenient=lenient)
    known: dict[int, int] = {}
    unknown = []
    for tag in reader.read_tags("zero", "one"):
        if tag < 2:
            known[tag] = reader.read_int16(["zero", "one"][tag])
        else:
            unknown.append(reader.read_unknown_tag(tag))
    return known, unknown, reader.position


@pytest.mark.parametrize(
    ("raw", "known", "unknown"),
    [
        ("00", {}, []),
        ("8000", {}, []),
        ("01" + "00" + "02" + "0007", {0: 7}, []),
        ("02" + "0002" + "0007" + "0102" + "ffff", {0: 7, 1: -1}, []),
        ("01" + "05" + "02" + "aabb", {}, [(5, b"\xaa\xbb")]),
        ("02" + "0102" + "0009" + "e807" + "00", {1: 9}, [(1000, b"")]),
    ],
)
def test_tag_sections(raw: str, known: dict[int, int], unknown: list[Any]) -> None:
    assert read_section(raw) == (known, unknown, len(raw) // 2)


@pytest.mark.parametrize(
    ("raw", "path", "offset", "reason"),
    [
        ("ffffffff07" + "0500", "tags", 0, "2147483647 tags, the input has 2 bytes left"),
        ("", "tags", 0, "varint is cut off by the end of the input"),
        ("05" + "0002", "tags", 0, "5 tags, the input has 2 bytes left"),
        ("01" + "0003" + "000700", "zero", 1, "tag 0 announces 3 bytes, its value takes 2"),
        ("01" + "0001" + "0007", "zero", 1, "tag 0 announces 1 byte, its value takes 2"),
        ("01" + "0009" + "0007", "zero", 2, "needs 9 bytes, the input has 2 left"),
        ("02" + "0002" + "0007" + "0002" + "0007", "tag", 5, "tag 0 is sent twice"),
        ("02" + "0102" + "0007" + "0002" + "0007", "tag", 5, "tag 0 comes after tag 1"),
        ("02" + "0500" + "0500", "tag", 3, "tag 5 is sent twice"),
        ("02" + "0700" + "0500", "tag", 3, "tag 5 comes after tag 7"),
        ("01" + "0503" + "aabb", "tag 5", 2, "needs 3 bytes, the input has 2 left"),
        ("01" + "05ffffffff0f", "tag 5", 2, "needs 4294967295 bytes, the input has 0 left"),
        ("01" + "ffffffff07" + "00", "tag", 1, "tag 2147483647 is above the highest, 2147483646"),
        ("01" + "0001" + "00", "zero", 3, "needs 2 bytes, the input has 1 left"),
    ],
)
def test_malformed_tag_sections_are_refused(raw: str, path: str, offset: int, reason: str) -> None:
    with pytest.raises(DecodeError) as caught:
        read_section(raw)
    error = caught.value
    assert (error.path, error.offset, error.reason) == (path, offset, reason)


@pytest.mark.parametrize(
    ("raw", "known", "unknown"),
    [
        ("01" + "0003" + "0007", {0: 7}, []),
        ("01" + "0001" + "0007", {0: 7}, []),
        ("02" + "0002" + "0007" + "0002" + "0008", {0: 8}, []),
        ("02" + "0102" + "0007" + "0002" + "0008", {1: 7, 0: 8}, []),
        ("02" + "0501" + "aa" + "0501" + "bb", {}, [(5, b"\xaa"), (5, b"\xbb")]),
        ("ffffffff0f", {}, []),
    ],
)
def test_lenient_reads_the_sections_that_java_reads(
    raw: str, known: dict[int, int], unknown: list[Any]
) -> None:
    assert read_section(raw, lenient=True) == (known, unknown, len(raw) // 2)
