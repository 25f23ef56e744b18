"""Python source for values, types and texts: what is printed evaluates to what was meant."""

from __future__ import annotations

import ast
import math
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kraftwire_generator.language.field_types import Array, Primitive, Struct
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.plan.literals import (
    docstring_text,
    hint,
    literal,
    type_expression,
    version_range,
)

ZERO_UUID = UUID(int=0)
texts = st.text(st.characters() | st.sampled_from("\"'\\\n\0\u2028\u202e\x85\ud800 u{}"))
values = (
    st.none()
    | st.just(())
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.binary()
    | st.uuids()
    | texts
)


@given(values)
@example(ZERO_UUID)
@example(math.nan)
@example(-math.inf)
def test_a_literal_is_one_line_of_ascii_controls_and_evaluates_to_its_value(value: object) -> None:
    source = literal(value)
    assert source.isprintable()
    evaluated = eval(source, {"UUID": UUID, "ZERO_UUID": ZERO_UUID})
    assert evaluated == value or (evaluated != evaluated and value != value)
    assert type(evaluated) is type(value)


@pytest.mark.parametrize("value", [object(), [], (1,), {}, 1j])
def test_a_value_that_the_language_does_not_have_raises(value: object) -> None:
    with pytest.raises(TypeError, match="no Python literal"):
        literal(value)


@given(texts)
@example('"""')
@example('""""')
@example("\\")
@example('\\"""')
def test_a_text_cannot_leave_its_docstring(text: str) -> None:
    tree = ast.parse(f'"""A {docstring_text(text)}\n"""\n')
    assert len(tree.body) == 1
    shown = ast.get_docstring(tree, clean=False)
    assert shown is not None
    assert all(char.isprintable() or char == "\n" for char in shown)


def test_a_docstring_shows_a_text_as_it_is_and_controls_as_escapes() -> None:
    text = 'C:\\new, "quoted", it\'s \u20ac, \x1b[31m \u202e \ud800'
    tree = ast.parse(f'"""{docstring_text(text)}"""')
    expected = 'C:\\new, "quoted", it\'s \u20ac, \\x1b[31m \\u202e \\ud800'
    assert ast.get_docstring(tree) == expected


@pytest.mark.parametrize(
    ("versions", "expected"), [("0-3", "range(0, 4)"), ("5", "range(5, 6)"), ("none", "NEVER")]
)
def test_version_ranges_become_ranges(versions: str, expected: str) -> None:
    assert version_range(VersionRange.parse(versions)) == expected


@pytest.mark.parametrize(
    ("field_type", "hinted", "text"),
    [
        (Primitive("bool"), "bool", '"bool"'),
        (Primitive("uint16"), "int", '"uint16"'),
        (Primitive("float64"), "float", '"float64"'),
        (Primitive("string"), "str", '"string"'),
        (Primitive("uuid"), "UUID", '"uuid"'),
        (Primitive("records"), "bytes", '"records"'),
        (Struct("Topic"), "Fetch.Topic", 'StructType("Topic")'),
        (Struct("Fetch"), "Fetch.Fetch_", 'StructType("Fetch_")'),
        (Array(Primitive("int8")), "list[int]", 'Array("int8")'),
        (Array(Struct("None")), "list[Fetch.None_]", 'Array(StructType("None_"))'),
    ],
)
def test_types_become_hints_and_expressions(
    field_type: Primitive | Struct | Array, hinted: str, text: str
) -> None:
    assert hint(field_type, "Fetch") == hinted
    assert type_expression(field_type, "Fetch") == text


def test_a_type_that_the_language_does_not_have_raises() -> None:
    with pytest.raises(KeyError):
        hint(Primitive("decimal"), "Fetch")
