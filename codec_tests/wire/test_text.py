"""Text: UTF-8 as Java writes it, and what Java makes of bytes that are not UTF-8."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire_wire.text import decode_as_java, encode_text


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("", ""),
        ("a\u00e9\u20ac\U0001f600", "61c3a9e282acf09f9880"),
        ("\x00", "00"),
        # single surrogates, alone, at both ends and in the wrong order
        ("\ud83d", "3f"),
        ("a\ud83db", "613f62"),
        ("\ude00\ud83d", "3f3f"),
        # two halves that make a whole are one character
        ("\ud83d\ude00", "f09f9880"),
        ("\ud83d\ud83d\ude00", "3ff09f9880"),
    ],
)
def test_encode_text(text: str, raw: str) -> None:
    assert encode_text(text).hex() == raw


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("616263", "abc"),
        ("ed9fbf", "\ud7ff"),
        ("ee8080", "\ue000"),
        # a surrogate in three bytes is one replacement character, however it is cut off
        ("eda080", "\ufffd"),
        ("edbfbf", "\ufffd"),
        ("eda0", "\ufffd"),
        ("eda041", "\ufffdA"),
        ("eda0ff", "\ufffd\ufffd"),
        ("eda080eda080", "\ufffd\ufffd"),
        ("ed", "\ufffd"),
        ("ed41", "\ufffdA"),
        ("c080", "\ufffd\ufffd"),
        ("f09f98", "\ufffd"),
        ("f09f9841", "\ufffdA"),
    ],
)
def test_decode_as_java(raw: str, text: str) -> None:
    assert decode_as_java(bytes.fromhex(raw)) == text


@given(st.text())
def test_text_without_surrogates_is_read_back(text: str) -> None:
    assert decode_as_java(encode_text(text)) == encode_text(text).decode() == text


@given(st.text(st.characters(categories=["Cs", "Ll"])))
def test_every_text_has_an_encoding(text: str) -> None:
    encode_text(text).decode()


@given(st.binary())
def test_every_byte_string_has_a_text(raw: bytes) -> None:
    assert encode_text(decode_as_java(raw)).decode() == decode_as_java(raw)
