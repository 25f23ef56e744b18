"""One field in one version: the statements that read and write it, for every type."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from kraftwire_generator.language.field_types import Primitive, parse_type
from kraftwire_generator.language.spec import FieldSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.plan.field_code import Action, FieldCode, FixedField
from kraftwire_generator.plan.plan_data import Branch


def code(field_type: str = "int32", versions: str = "0+", **keys: str | int | bool) -> FieldCode:
    """The code of a field called Value; version ranges are given as text."""
    values: dict[str, object] = {
        key: VersionRange.parse(str(value)) if key.endswith("versions") else value
        for key, value in keys.items()
    }
    spec = FieldSpec("Value", parse_type(field_type), VersionRange.parse(versions))
    return FieldCode(replace(spec, **values), "Vote")  # type: ignore[arg-type]


CALLS = [
    (code("uuid"), 'uuid("value"', ""),
    (code("string"), 'string("value"', ""),
    (code("bytes"), 'bytes("value"', ""),
    (code("records", nullable_versions="0+"), 'nullable_records("value"', ""),
    (code("string", nullable_versions="0+"), 'nullable_string("value"', ""),
    (code("string", nullable_versions="1+"), 'string("value"', ""),
    (code("string", flexible_versions="none"), 'classic_string("value"', ""),
    (code("string", flexible_versions="0+"), 'string("value"', ""),
    (
        code("bytes", flexible_versions="1+", nullable_versions="0+"),
        'classic_nullable_bytes("value"',
        "",
    ),
    (code("[]int8"), 'array("value", "int8"', ""),
    (code("[]string", nullable_versions="0+"), 'nullable_array("value", "string"', ""),
    (code("Topic"), 'struct("value", Vote.Topic', ", version"),
    (code("Topic", nullable_versions="0+"), 'nullable_struct("value", Vote.Topic', ", version"),
    (code("[]Topic"), 'structs("value", Vote.Topic', ", version"),
    (code("[]None", nullable_versions="0+"), 'nullable_structs("value", Vote.None_', ", version"),
]


@pytest.mark.parametrize(("field", "call", "end"), CALLS, ids=[call for _, call, _ in CALLS])
def test_a_field_is_read_and_written_by_the_method_of_its_form(
    field: FieldCode, call: str, end: str
) -> None:
    assert field.read(0) == (f"message.value = reader.read_{call}{end})",)
    assert field.write(0) == (f"writer.write_{call}, self.value{end})",)


NUMBERS = ["int8", "int16", "uint16", "int32", "uint32", "int64", "float64"]


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_may_stand_in_a_run(name: str) -> None:
    assert code(name).read(0) == code(name).write(0) == (FixedField("value", name),)


def test_a_bool_is_read_in_a_run_and_written_alone_since_struct_takes_any_object() -> None:
    assert code("bool").read(0) == (FixedField("value", "bool"),)
    assert code("bool").write(0) == ('writer.write_bool("value", self.value)',)


REFUSE = ('raise writer.field_not_in_version("value", version)',)


@pytest.mark.parametrize(
    ("field", "version", "expected"),
    [
        (code(versions="1+"), 0, (Branch("if self.value != 0:", REFUSE),)),
        (code(versions="1+", ignorable=True), 0, ()),
        (code(tagged_versions="0+", tag=0), 0, ()),
        (code(tagged_versions="1+", tag=0), 0, (FixedField("value", "int32"),)),
    ],
)
def test_a_field_that_the_version_lacks_is_refused_unless_ignorable(
    field: FieldCode, version: int, expected: tuple[Action, ...]
) -> None:
    assert field.write(version) == expected


@pytest.mark.parametrize("field", [code(versions="1+"), code(tagged_versions="0+", tag=0)])
def test_nothing_is_read_where_the_field_is_absent_or_tagged(field: FieldCode) -> None:
    assert field.read(0) == ()


STRUCT = {"tagged_versions": "0+", "tag": 3}


@pytest.mark.parametrize(
    ("field", "read", "condition", "write"),
    [
        (
            code("int32", default="7", **STRUCT),
            'int32("value")',
            "self.value != 7",
            'int32("value", self.value)',
        ),
        (
            code("Topic", **STRUCT),
            'tagged_struct("value", Vote.Topic, version, Vote)',
            "self.value is not None and writer.struct_differs(Vote, Vote.Topic, self.value)",
            'struct("value", Vote.Topic, self.value, version)',
        ),
        (
            code("Topic", nullable_versions="0+", default="null", **STRUCT),
            'tagged_nullable_struct("value", Vote.Topic, version)',
            "self.value is not None",
            'tagged_nullable_struct("value", Vote.Topic, self.value, version)',
        ),
        (
            code("[]string", **STRUCT),
            'array("value", "string")',
            "self.value != []",
            'array("value", "string", self.value)',
        ),
    ],
)
def test_a_tag_is_written_where_its_value_is_not_the_default(
    field: FieldCode, read: str, condition: str, write: str
) -> None:
    assert field.read_tagged(0) == f"message.value = reader.read_{read}"
    added = (f"tags.add(3).write_{write}",)
    assert field.write_tagged(0, "") == Branch(f"if {condition}:", added)
    later = Branch(f"if version >= 2 and {condition}:", added)
    assert field.write_tagged(0, "version >= 2 and ") == later


def test_a_tagged_struct_that_is_none_is_one_of_defaults_before_it_is_tagged() -> None:
    field = code("Topic", tagged_versions="1+", tag=0)
    value = "Vote.Topic() if self.value is None else self.value"
    assert field.write(0) == (f'writer.write_struct("value", Vote.Topic, {value}, version)',)


DEFAULTS = [
    (code("bool"), "bool", "False", "self.value is not False"),
    (code("bool", default="true"), "bool", "True", "self.value is not True"),
    (code("int8", default="-1"), "int", "-1", "self.value != -1"),
    (code("float64", default="-Infinity"), "float", 'float("-inf")', None),
    (code("float64", default="NaN"), "float", 'float("nan")', "self.value == self.value"),
    (code("string"), "str", "''", "self.value != ''"),
    (code("string", nullable_versions="1+"), "str | None", "''", "self.value != ''"),
    (
        code("string", nullable_versions="0+", default="null"),
        "str | None",
        "None",
        "self.value is not None",
    ),
    (code("bytes"), "bytes", "b''", "self.value != b''"),
    (code("uuid"), "UUID", "ZERO_UUID", "self.value != ZERO_UUID"),
    (code("[]int8"), "list[int]", "field(default_factory=list)", "self.value != []"),
    (
        code("Topic"),
        "Vote.Topic",
        "field(default_factory=lambda: Vote.Topic())",
        "writer.struct_differs(Vote, Vote.Topic, self.value)",
    ),
    (code("Topic", tagged_versions="0+", tag=0), "Vote.Topic | None", "None", None),
]


@pytest.mark.parametrize(("field", "hinted", "default", "differs"), DEFAULTS)
def test_the_attribute_and_its_default(
    field: FieldCode, hinted: str, default: str, differs: str | None
) -> None:
    assert (field.hint, field.default_expression) == (hinted, default)
    if differs is not None:
        assert field.differs_from_default == differs


@pytest.mark.parametrize("value", [math.nan, 1.0])
def test_only_nan_counts_as_the_default_nan(value: float) -> None:
    expression = code("float64", default="NaN").differs_from_default.replace("self.value", "value")
    assert eval(expression, {"value": value}) is not math.isnan(value)


def test_a_type_that_the_language_does_not_have_raises() -> None:
    spec = FieldSpec("Value", Primitive("decimal"), VersionRange(0, 0))
    with pytest.raises(TypeError, match="decimal"):
        FieldCode(spec, "Vote").read(0)
