"""Every rule of `evolve` about fields, with generated codecs as the proof."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from kraftwire_wire.message import Message

from codec_tests.compile_spec import compile_spec
from codec_tests.evolving import Spec, foo_spec, judge, read_back, told
from codec_tests.spec_files import field_spec

Values = Mapping[str, Any]


# -- rules that codecs prove -----------------------------------------------------------------

A = field_spec("a")
B = field_spec("b", "string")
TAGGED = {"taggedVersions": "0+", "tag": 0}
NULLABLE = {"nullableVersions": "0+"}
S = {"fields": [field_spec("x"), field_spec("y", "int32", versions="1+")]}


def struct(name: str = "s", kind: str = "S", /, **keys: Any) -> Spec:
    return field_spec(name, kind, **S | keys)


class Case(NamedTuple):
    """Two lists of fields, what is told of them, and values that show it on the wire.

    The values are written at the version, by the old class or by the new one.
    """

    old: list[Spec]
    new: list[Spec]
    told: list[str]
    written: Values | None = None
    by_new: bool = False
    version: int = 0


TAG_T = field_spec("t", **TAGGED)
BREAKS = {
    "type": Case([A], [field_spec("a", "int64")], ["error type a 0-2"], {"a": 1}),
    "type, same size": Case([A], [field_spec("a", "uint32")], ["error type a 0-2"], {"a": -1}),
    "null came": Case(
        [B],
        [field_spec("b", "string", **NULLABLE)],
        ["error nullability b 0-2"],
        {"b": None},
        by_new=True,
    ),
    "null went": Case(
        [field_spec("b", "string", **NULLABLE)], [B], ["error nullability b 0-2"], {"b": None}
    ),
    "null came for a struct": Case(
        [struct()], [struct(**NULLABLE)], ["error nullability s 0-2"], {}
    ),
    "null came early": Case(
        [field_spec("b", "string", nullableVersions="2+")],
        [field_spec("b", "string", nullableVersions="1+")],
        ["error nullability b 1"],
        {"b": None},
        by_new=True,
        version=1,
    ),
    "tagged": Case([field_spec("t")], [TAG_T], ["error tagged t 0-2"], {"t": 5}),
    "untagged": Case([TAG_T], [field_spec("t")], ["error tagged t 0-2"], {"t": 5}),
    "tagged later": Case(
        [field_spec("t", tag=0, taggedVersions="1+")],
        [field_spec("t", tag=0, taggedVersions="2+")],
        ["error tagged t 1"],
        {"t": 5},
        version=1,
    ),
    "another tag": Case(
        [TAG_T],
        [{**TAG_T, "tag": 1}, field_spec("u", "string", **TAGGED)],
        ["error tag t 0-2", "error reused u 0-2"],
        {"t": 5},
    ),
    "reused tag": Case(
        [TAG_T], [field_spec("u", "string", **TAGGED)], ["error reused u 0-2"], {"t": 5}
    ),
    "encoding": Case(
        [B],
        [field_spec("b", "string", flexibleVersions="none")],
        ["error encoding b 0-2"],
        {"b": "x"},
    ),
    "tagged default": Case([TAG_T], [{**TAG_T, "default": 7}], ["error default t 0-2"], {"t": 0}),
    "default in a tagged struct": Case(
        [struct(**TAGGED)],
        [struct(**TAGGED, fields=[field_spec("x", default=7), S["fields"][1]])],
        ["error default s.x 0-2"],
    ),
    "removed": Case([A, B], [B], ["error removed a 0-2"], {"a": 1, "b": "x"}),
    "removed last": Case([A, B], [A], ["error removed b 0-2"], {"a": 1, "b": "x"}),
    "added": Case([B], [A, B], ["error added a 0-2"], {"b": "x"}),
    "wider versions": Case(
        [A, field_spec("b", "string", versions="2+")],
        [A, field_spec("b", "string", versions="1+")],
        ["error versions b 1"],
        {"a": 1},
        version=1,
    ),
    "narrower versions": Case(
        [A, B],
        [A, field_spec("b", "string", versions="1-1")],
        ["error versions b 0, 2"],
        {"a": 1, "b": "x"},
    ),
    "moved": Case(
        [A, field_spec("c")], [field_spec("c"), A], ["error moved a 0-2"], {"a": 1, "c": 2}
    ),
    "a tag that comes where readers know it for later": Case(
        [field_spec("t", tag=0, versions="2+", taggedVersions="2+")],
        [TAG_T],
        ["error versions t 0-1"],
        {"t": 5},
        by_new=True,
    ),
    "a tag that goes where readers know it for later": Case(
        [TAG_T],
        [field_spec("t", tag=0, versions="2+", taggedVersions="2+")],
        ["error versions t 0-1"],
        {"t": 5},
    ),
    "a tag that another field has later": Case(
        [field_spec("u", tag=0, versions="2+", taggedVersions="2+")],
        [
            field_spec("u", tag=1, versions="2+", taggedVersions="2+"),
            field_spec("t", "string", **TAGGED),
        ],
        ["error reused t 0-1", "error tag u 2", "error reused t 2"],
        {"t": "x"},
        by_new=True,
    ),
    "a tag removed, and given to another": Case(
        [TAG_T, field_spec("u", tag=1, taggedVersions="0+")],
        [field_spec("u", tag=0, taggedVersions="0+")],
        ["error tag u 0-2", "error reused u 0-2"],
        {"t": 5, "u": 9},
    ),
    "records that can be null": Case(
        [field_spec("b", "bytes")],
        [field_spec("b", "records", **NULLABLE)],
        ["warning type b 0-2", "error nullability b 0-2", "warning default b 0-2"],
        {"b": None},
        by_new=True,
    ),
    "renamed beside one that came": Case(
        [A, B],
        [field_spec("z"), field_spec("y", versions="2+"), B],
        ["warning renamed z 0-2", "error added y 2"],
        {"a": 1, "b": "x"},
        version=2,
    ),
    "renamed beside one that came to every version": Case(
        [A, B],
        [field_spec("z"), field_spec("y", "uuid"), B],
        ["warning renamed z 0-2", "error added y 0-2"],
        {"a": 1, "b": "x"},
    ),
    "renamed and gone from a version": Case(
        [A, B],
        [field_spec("z", versions="0-1"), B],
        ["warning renamed z 0-1", "error versions z 2"],
        {"a": 1, "b": "x"},
        version=2,
    ),
    "in an array": Case(
        [struct("s", "[]S")],
        [struct("s", "[]S", fields=S["fields"][1:])],
        ["error removed s.x 0-2"],
    ),
    "replaced": Case([A], [B], ["error removed a 0-2", "error added b 0-2"], {"a": 1}),
}
HOLDS = {
    "renamed": Case([A, B], [field_spec("z"), B], ["warning renamed z 0-2"], {"a": 1, "b": "x"}),
    "renamed tag": Case([TAG_T], [{**TAG_T, "name": "u"}], ["warning renamed u 0-2"], {"t": 5}),
    "renamed from a version on": Case(
        [A, B],
        [field_spec("a", versions="0-1"), field_spec("z", versions="2+"), B],
        ["warning renamed z 2"],
        {"b": "x"},
        version=2,
    ),
    "renamed struct": Case([struct()], [struct("s", "T")], ["warning struct s 0-2"], {}),
    "records": Case(
        [field_spec("b", "bytes")],
        [field_spec("b", "records")],
        ["warning type b 0-2"],
        {"b": b"x"},
    ),
    "renamed to records": Case(
        [field_spec("b", "bytes")],
        [field_spec("c", "records")],
        ["warning type c 0-2", "warning renamed c 0-2"],
        {"b": b"x"},
    ),
    "default": Case([A], [field_spec("a", default=7)], ["warning default a 0-2"], {"a": 1}),
    "default, as another text": Case(
        [field_spec("a", default="0x10")], [field_spec("a", default=16)], [], {"a": 1}
    ),
    "tag came": Case([A], [A, TAG_T], [], {"a": 1, "t": 5}, by_new=True),
    "tag went": Case([A, TAG_T], [A], ["warning removed t 0-2"], {"a": 1, "t": 5}),
    "tag came into a struct": Case([struct()], [struct(fields=[*S["fields"], TAG_T])], [], {}),
    "ignorable": Case([A], [field_spec("a", ignorable=True)], [], {"a": 1}),
    "not ignorable": Case(
        [field_spec("a", versions="1+", ignorable=True)],
        [field_spec("a", versions="1+")],
        ["warning ignorable a 0"],
        {},
    ),
    "entity type": Case([A], [field_spec("a", entityType="brokerId", about="x")], [], {"a": 1}),
}


def _survives(writer: type[Message], reader: type[Message], values: Values, version: int) -> bool:
    """Whether the reader has what was written: the same bytes, and the same under each name."""
    read = read_back(reader, writer(**values).encode(version), version)
    if read is None:
        return False
    names = [name for name in values if hasattr(read, name)]
    return all(getattr(read, name) == values[name] for name in names)


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks(name: str) -> None:
    case = BREAKS[name]
    old, new = foo_spec(*case.old), foo_spec(*case.new)
    assert told(judge(old, new)) == case.told
    if case.written is not None:
        classes = compile_spec(old), compile_spec(new)
        writer, reader = classes[::-1] if case.by_new else classes
        assert not _survives(writer, reader, case.written, case.version)


@pytest.mark.parametrize("name", HOLDS)
def test_what_holds(name: str) -> None:
    case = HOLDS[name]
    old, new = foo_spec(*case.old), foo_spec(*case.new)
    assert told(judge(old, new)) == case.told
    assert case.written is not None
    classes = compile_spec(old), compile_spec(new)
    writer, reader = classes[::-1] if case.by_new else classes
    assert _survives(writer, reader, case.written, case.version)


def test_a_new_version_may_look_as_it_likes() -> None:
    old = foo_spec(field_spec("a"), field_spec("b"), validVersions="0-1")
    new = foo_spec(
        field_spec("b", versions="2+"),
        field_spec("a", versions="0-1"),
        field_spec("b2", "string", versions="2+", nullableVersions="2+"),
        field_spec("c", versions="0-1"),
    )
    assert told(judge(old, new)) == ["warning renamed c 0-1"]


# -- structs ---------------------------------------------------------------------------------


def test_structs_that_become_common_ones_are_the_same_bytes() -> None:
    old = foo_spec(struct("s", "[]S"))
    common = {"name": "S", "versions": "0+", **S}
    assert judge(old, foo_spec(field_spec("s", "[]S"), commonStructs=[common])) == []
    changed = {**common, "fields": S["fields"][:1]}
    findings = judge(old, foo_spec(field_spec("s", "[]S"), commonStructs=[changed]))
    assert told(findings) == ["error removed S.y 1-2"]
    assert findings[0].first_version == 1


def test_a_common_struct_is_told_once_however_often_it_is_used() -> None:
    depth = 200
    structs = [
        {
            "name": f"S{level}",
            "versions": "0+",
            "fields": [field_spec("l", f"S{level + 1}"), field_spec("r", f"S{level + 1}")],
        }
        for level in range(depth)
    ]
    last = {"name": f"S{depth}", "versions": "0+", "fields": [A]}
    changed = {**last, "fields": [field_spec("a", "int8")]}
    old, new = (
        foo_spec(field_spec("s", "S0"), commonStructs=[*structs, end]) for end in (last, changed)
    )
    assert told(judge(old, new)) == [f"error type S{depth}.a 0-2"]


def test_a_default_in_an_array_is_always_written() -> None:
    inner = struct("s", "[]S", fields=[field_spec("x", default=7)], **TAGGED)
    old = foo_spec(struct("s", "[]S", fields=[field_spec("x")], **TAGGED))
    assert told(judge(old, foo_spec(inner))) == ["warning default s.x 0-2"]


def test_a_struct_that_is_null_by_default_is_sent_whole() -> None:
    def nested(default: int) -> Spec:
        inner = struct(
            "i", "I", default="null", fields=[field_spec("x", default=default)], **NULLABLE
        )
        return foo_spec(struct(fields=[inner], **TAGGED))

    old, new = nested(0), nested(7)
    assert told(judge(old, new)) == ["warning default s.i.x 0-2"]
    for writer, reader in ((old, new), (new, old)):
        classes = compile_spec(writer), compile_spec(reader)
        for x in (0, 7):
            message: Any = classes[0]
            value = message(s=message.S(i=message.I(x=x)))
            read: Any = classes[1].decode(value.encode(0), 0)
            assert read.s.i.x == x


def test_a_struct_without_bytes_may_stand_anywhere() -> None:
    inner = struct(fields=[field_spec("x", versions="2+")])
    old = foo_spec(A, inner, B, flexibleVersions="2+")
    for fields in ([A, B], [inner, A, B], [A, {**inner, "versions": "2+"}, B]):
        new = foo_spec(*fields, flexibleVersions="2+")
        breaks = [item for item in judge(old, new) if item.severity == "error"]
        assert all(item.versions_text == "2" for item in breaks)
        assert _survives(compile_spec(old), compile_spec(new), {"a": 1, "b": "x"}, 0)
