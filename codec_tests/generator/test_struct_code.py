"""The bodies of `_decode` and `_encode`: runs of fixed-size fields, conditions, tag sections."""

from __future__ import annotations

from typing import Any

from kraftwire_generator.language.field_types import Primitive
from kraftwire_generator.language.spec import FieldSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.plan.plan_data import Branch, Statement
from kraftwire_generator.plan.struct_code import RunFormats, StructCode

from codec_tests.compile_spec import compile_spec
from codec_tests.spec_files import field_spec, message_spec

ALL = VersionRange(0, 5)
REFUSE_TAGS = Branch(
    "if self.unknown_tagged_fields:", ("raise writer.no_tags_in_version(version)",)
)


def number(name: str, versions: str = "0+", type_name: str = "int32", **keys: Any) -> FieldSpec:
    return FieldSpec(name, Primitive(type_name), VersionRange.parse(versions), **keys)


def struct(*fields: FieldSpec, flexible: str = "none") -> StructCode:
    return StructCode("Vote", fields, ALL, VersionRange.parse(flexible), RunFormats())


def test_neighbouring_numbers_are_one_call() -> None:
    code = struct(number("A"), number("B"), number("C", type_name="int64"))
    assert code.decode() == (
        'message.a, message.b, message.c = reader.read_fixed(_INT32X2_INT64, ("a", "b", "c"))',
    )
    assert code.encode() == (
        'writer.write_fixed(_INT32X2_INT64, ("a", "b", "c"), self.a, self.b, self.c)',
        REFUSE_TAGS,
    )
    assert code.formats.names == {("int32", "int32", "int64"): "_INT32X2_INT64"}


def test_a_number_alone_needs_no_form() -> None:
    code = struct(number("A"), number("Name", type_name="string"), number("B"))
    assert code.decode() == (
        'message.a = reader.read_int32("a")',
        'message.name = reader.read_string("name")',
        'message.b = reader.read_int32("b")',
    )
    assert code.formats.names == {}


def test_a_run_ends_where_the_condition_changes() -> None:
    code = struct(number("A"), number("B", "2+"), number("C", "2+"))
    assert code.decode() == (
        'message.a = reader.read_int32("a")',
        Branch(
            "if version >= 2:",
            ('message.b, message.c = reader.read_fixed(_INT32X2, ("b", "c"))',),
        ),
    )


def test_forms_of_different_types_have_different_names() -> None:
    forms = RunFormats()
    runs = [("int8", "int8"), ("int8", "int16"), ("int16", "int8"), ("int8", "int8", "int16")]
    assert len({forms.name(run) for run in runs}) == len(runs)
    assert forms.name(runs[0]) == forms.name(runs[0]) == "_INT8X2"


def test_unknown_tags_are_kept_where_the_struct_knows_none() -> None:
    read: Statement = "message.unknown_tagged_fields = reader.read_unknown_tags()"
    write: Statement = "writer.write_unknown_tags(self.unknown_tagged_fields)"
    assert struct(flexible="0+").decode() == (read,)
    assert struct(flexible="0+").encode() == (write,)
    later = struct(flexible="3+")
    assert later.decode() == (Branch("if version >= 3:", (read,)),)
    assert later.encode() == (
        Branch("if version >= 3:", (write,)),
        Branch("elif self.unknown_tagged_fields:", REFUSE_TAGS.body),
    )


def tagged(name: str, tag: int, versions: str, tagged_versions: str) -> FieldSpec:
    return number(name, versions, tag=tag, tagged_versions=VersionRange.parse(tagged_versions))


def test_known_tags_are_read_in_the_order_of_their_numbers() -> None:
    code = struct(tagged("B", 1, "4+", "4+"), tagged("A", 0, "2+", "2+"), flexible="2+")
    (condition,) = code.decode()
    assert isinstance(condition, Branch)
    (loop,) = condition.body
    assert loop == Branch(
        'for tag in reader.read_tags("a", "b"):',
        (
            Branch("if tag == 0:", ('message.a = reader.read_int32("a")',)),
            Branch(
                "elif tag == 1:",
                (
                    Branch("if version < 4:", ('raise reader.tag_not_in_version("b", version)',)),
                    'message.b = reader.read_int32("b")',
                ),
            ),
            Branch(
                "else:",
                ("message.unknown_tagged_fields.append(reader.read_unknown_tag(tag))",),
            ),
        ),
    )


def test_a_tag_of_versions_that_are_not_generated_is_refused() -> None:
    code = struct(tagged("A", 0, "8+", "8+"), flexible="0+")
    (loop,) = code.decode()
    assert isinstance(loop, Branch)
    assert loop.body[0] == Branch(
        "if tag == 0:", ('raise reader.tag_not_in_version("a", version)',)
    )
    assert code.encode()[-1] == "writer.write_unknown_tags(self.unknown_tagged_fields)"


def test_a_struct_that_never_occurs_has_no_code() -> None:
    code = StructCode("Vote", (number("A"),), VersionRange.NONE, ALL, RunFormats())
    assert code.decode() == code.encode() == ()


def test_a_message_with_a_struct_that_never_occurs_works() -> None:
    inner = {"name": "Inner", "versions": "0+", "fields": [field_spec()]}
    outer = {"name": "Outer", "versions": "0-3", "fields": [field_spec("Inner", "Inner")]}
    message: Any = compile_spec(message_spec("Vote", field_spec(), commonStructs=[inner, outer]))
    assert message().encode(0) == bytes(4)
    assert message.Inner.LAYOUT.versions == range(0)
