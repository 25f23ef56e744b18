"""Java's properties files, and typed values out of them."""

from __future__ import annotations

from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.log.small_files.java_properties import PropertyEntry, read_entries
from kraftwire.node.settings.property_reader import (
    InvalidProperties,
    PropertyReader,
    parse_words,
)


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


def reader(text: str) -> PropertyReader:
    return PropertyReader(text.encode("latin-1"), "a.properties")


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("key=value", ("key", "value")),
        ("  key  =  value ", ("key", "value ")),
        ("key:value=x", ("key", "value=x")),
        ("key value", ("key", "value")),
        ("key", ("key", "")),
        ("key==x", ("key", "=x")),
        ("=x", ("", "x")),
        (r"a\ b\:c\=d=e", ("a b:c=d", "e")),
        (r"key=a\tb\nc\\d\qe", ("key", "a\tb\nc\\dqe")),
        (r"key=\u00e9\u20ac", ("key", "é€")),
        ("key=\xe9", ("key", "é")),
        ("key=a,\\\n    b,\\\r\n\tc", ("key", "a,b,c")),
        ("key=a\\", ("key", "a")),
        ("key=a\\\\\nb=c", ("key", "a\\")),
        ("key=a \\\n# no comment", ("key", "a # no comment")),
    ],
)
def test_an_entry_is_read_as_java_reads_it(text: str, entry: tuple[str, str]) -> None:
    assert next(read_entries(text.encode("latin-1")))[:2] == entry


def test_an_entry_knows_the_line_that_it_begins_in() -> None:
    text = b"# no\n\n! no\na=1\\\n  2\nb=3\r\nc=4"
    assert list(read_entries(text)) == [
        PropertyEntry("a", "12", 4),
        PropertyEntry("b", "3", 6),
        PropertyEntry("c", "4", 7),
    ]


@given(st.binary())
def test_any_bytes_are_entries(data: bytes) -> None:
    assert all(entry.line > 0 for entry in read_entries(data))


def test_values_have_types() -> None:
    read = reader("n=-3\nflag=TRUE\nwords= a , b\nsize=LARGE\ntext=x")
    assert read.number("n", 0, -5) == -3
    assert read.flag("flag", default=False)
    assert read.value("words", parse_words, ()) == ("a", "b")
    assert read.choice("size", Size.SMALL) is Size.LARGE
    assert read.text("text") == "x"


def test_what_is_not_there_has_its_default() -> None:
    read = reader("")
    assert read.number("n", 7) == 7
    assert read.choice("size", Size.SMALL) is Size.SMALL
    assert read.value("words", parse_words, ()) == ()


def test_all_that_is_wrong_is_told_at_once() -> None:
    read = reader("n=x\nm=9\nflag=maybe\nsize=huge\nwords=a,,b")
    read.number("n", 0)
    read.number("m", 0, 10, 20)
    read.flag("flag", default=False)
    read.choice("size", Size.SMALL)
    read.value("words", parse_words, ())
    read.required("node", parse_words, (), "its name")
    with pytest.raises(InvalidProperties) as caught:
        read.check()
    assert caught.value.findings == (
        "a.properties, line 1, n: 'x' is not a number from 0 to 2147483647",
        "a.properties, line 2, m: 9 is out of range (10 to 20)",
        "a.properties, line 3, flag: 'maybe' is neither true nor false",
        "a.properties, line 4, size: 'huge' is not one of small, large",
        "a.properties, line 5, words: 'a,,b' has an empty item between commas",
        "a.properties, node: it is missing: its name",
    )
    assert str(caught.value).startswith("a.properties: 6 wrong settings\n")


@pytest.mark.parametrize("text", ["", "1_000", "+1", "1.0", "٣", "9" * 5000])
def test_a_number_is_digits(text: str) -> None:
    read = PropertyReader(f"n={text.encode('unicode_escape').decode()}".encode(), "a.properties")
    assert read.number("n", 5) == 5
    assert len(read.findings) == 1


def test_what_is_missing_counts_as_empty() -> None:
    read = reader("node=")
    read.required("node", parse_words, (), "its name")
    assert read.findings == ["a.properties, line 1, node: it is missing: its name"]


def test_a_key_that_is_there_twice_is_a_warning_and_the_last_counts() -> None:
    read = reader("n=1\nn=2")
    assert read.number("n", 0) == 2
    assert read.all_warnings() == ("a.properties, line 1, n: line 2 overrides it",)


def test_what_nobody_asks_for_is_a_warning() -> None:
    read = reader("other=1\nnode.idd=2\nssl.key=3")
    read.number("node.id", 0)
    read.used("ssl.")
    assert read.all_warnings() == (
        "a.properties, line 1, other: kraftwire does not use it",
        "a.properties, line 2, node.idd: kraftwire does not use it; did you mean node.id?",
    )
