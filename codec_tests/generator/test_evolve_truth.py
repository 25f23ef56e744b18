"""What `evolve` says, tried on the wire: random specs, random edits, codecs of both sides.

In every version that the old spec has:
- without an error, every message that one side writes is read by the other, comes back as
  the same bytes, and has the same value in each field of the same name;
- with an error, some message that one side writes is not.

`about` says which field is which on both sides, whatever their names.
"""

from __future__ import annotations

import copy
import json
import random
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kraftwire_generator.errors import SpecError
from kraftwire_generator.language.names import to_snake_case
from kraftwire_generator.language.versions import VersionRange
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message

from codec_tests.compile_spec import compile_spec
from codec_tests.evolving import broken_versions, judge, read_back, told
from codec_tests.oracle import oracle_section
from codec_tests.spec_edits import EDITS, Edit, Spec, lists_of, number_tags, random_spec
from codec_tests.spec_files import field_spec, message_spec
from codec_tests.strategies import random_message, same

ATTEMPTS = 400  # messages to write before a break is called a false alarm


class Pair(NamedTuple):
    """A spec, what an edit made of it, and their classes."""

    old: Spec
    new: Spec
    classes: tuple[type[Message], type[Message]]


def random_pair(rng: random.Random, edits: list[Edit]) -> Pair | None:
    """A sound pair, or None."""
    old = random_spec(rng)
    new = copy.deepcopy(old)
    for edit in edits:
        edit(new, rng.choice(list(lists_of(new))), rng)
    number_tags(new)
    if old == new:
        return None
    try:
        return Pair(old, new, (compile_spec(old), compile_spec(new)))
    except SpecError:
        return None


# -- the wire --------------------------------------------------------------------------------


def comes_through(
    pair: Pair, by_new: bool, version: int, rng: random.Random, key: str = "name"
) -> bool:
    """Whether one message comes through, written by the old side or by the new one."""
    writer, reader = pair.classes[::-1] if by_new else pair.classes
    message = random_message(writer, version, rng, unknown_tags=False)
    try:
        canonical = writer.decode(message.encode(version), version)
    except KraftwireError:
        return True  # elements without any bytes, which nobody reads
    read = read_back(reader, canonical.encode(version), version)
    if read is None:
        return False
    specs = (pair.new, pair.old) if by_new else (pair.old, pair.new)
    sides = [
        Struct(spec, kind, value, spec["fields"])
        for spec, kind, value in zip(specs, (writer, reader), (canonical, read), strict=True)
    ]
    written, come = sides
    return same_values(written, come, version, key)


class Struct(NamedTuple):
    """A struct's value with the fields that its spec gives it."""

    spec: Spec
    message: type[Message]
    value: Any
    fields: list[Spec]

    def attribute(self, item: Spec) -> Any:
        return getattr(self.value, to_snake_case(item["name"]))

    def within(self, item: Spec, version: int) -> list[Struct] | None:
        """The structs in a field; None for any other field, and for null."""
        name = item["type"].removeprefix("[]")
        common = {struct["name"]: struct["fields"] for struct in self.spec.get("commonStructs", [])}
        fields = item.get("fields") or common.get(name)
        value = self.attribute(item)
        if fields is None or (value is None and version in versions(item, "nullableVersions")):
            return None
        if value is None:  # a tagged struct that was not sent
            value = getattr(self.message, name)()
        values = value if isinstance(value, list) else [value]
        return [Struct(self.spec, self.message, one, fields) for one in values]


def versions(item: Spec, key: str) -> range:
    span = VersionRange.parse(item.get(key, "none"))
    return range(span.lowest, span.highest + 1)


def same_values(old: Struct, new: Struct, version: int, key: str) -> bool:
    """Whether the fields that both have, by name or by `about`, have the same values in them."""
    partners = {item[key]: item for item in new.fields}
    for before in old.fields:
        after = partners.get(before[key])
        if after is None or not all(
            version in versions(item, "versions") for item in (before, after)
        ):
            continue
        first, second = old.within(before, version), new.within(after, version)
        if first is None or second is None:
            is_same = same(old.attribute(before), new.attribute(after))
        else:
            is_same = len(first) == len(second) and all(
                same_values(*structs, version, key) for structs in zip(first, second, strict=True)
            )
        if not is_same:
            return False
    return True


# -- the tests -------------------------------------------------------------------------------


def assert_told_as_it_is(pair: Pair, rng: random.Random) -> None:
    findings = judge(pair.old, pair.new)
    broken = broken_versions(findings)
    for version in versions(pair.old, "validVersions"):
        where = (
            f"version {version}, {told(findings)}: {json.dumps(pair.old)} -> {json.dumps(pair.new)}"
        )
        if version not in versions(pair.new, "validVersions"):
            assert version in broken, where
        elif version in broken:
            tries = ((number % 2 == 1) for number in range(ATTEMPTS))
            # A field that was renamed is still the same one, and its value may be broken.
            through = (comes_through(pair, by_new, version, rng, "about") for by_new in tries)
            assert not all(through), where
        else:
            for by_new in (False, True) * 5:
                assert comes_through(pair, by_new, version, rng), where


A = field_spec("a")
B = field_spec("b", "string")
T = field_spec("t", tag=0, taggedVersions="0+")
U = field_spec("u", "string", tag=1, taggedVersions="0+")
S = field_spec("s", "S", fields=[A, field_spec("x", versions="1+")])
LIST = {**S, "type": "[]S"}
COMMON = {"commonStructs": [{"name": "S", "versions": "0+", "fields": S["fields"]}]}
NULL = {"nullableVersions": "0+"}


def changed(item: Spec, **keys: Any) -> list[Spec]:
    return [item | keys]


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        pytest.param([A, B], [*changed(A, name="z"), B], {}, id="rename"),
        pytest.param([A, B], [*changed(A, name="z"), field_spec("y", versions="2+"), B], {}),
        pytest.param([A, B], [B], {}, id="remove"),
        pytest.param([A], [A, B], {}, id="add"),
        pytest.param([A], [A, {**B, "versions": "4+"}], {"validVersions": "0-4"}, id="add later"),
        pytest.param([A], changed(A, type="uint32"), {}, id="type"),
        pytest.param([A], changed(A, default=7), {}, id="default"),
        pytest.param([T], changed(T, default=7), {}, id="default of a tag"),
        pytest.param([B], changed(B, **NULL), {}, id="null comes"),
        pytest.param(changed(B, **NULL), changed(B, nullableVersions="2+"), {}, id="null goes"),
        pytest.param(changed(S, **NULL), [S], {}, id="null goes from a struct"),
        pytest.param([T, U], [T | {"tag": 1}, U | {"tag": 0}], {}, id="tags swapped"),
        pytest.param([T], changed(U, tag=0), {}, id="tag reused"),
        pytest.param([T], [T, U], {}, id="tag comes"),
        pytest.param([T, U], [T], {}, id="tag goes"),
        pytest.param([T], changed(T, taggedVersions="2+"), {}, id="tagged later"),
        pytest.param([T], changed(T, taggedVersions="2+", versions="2+"), {}, id="tag sent later"),
        pytest.param([A], [A | {"tag": 0, "taggedVersions": "0+"}], {}, id="in line to tagged"),
        pytest.param([A, field_spec("c"), B], [field_spec("c"), B, A], {}, id="moved"),
        pytest.param([LIST], changed(LIST, fields=S["fields"][:1]), {}, id="struct in an array"),
        pytest.param([A, S], [*S["fields"], S | {"fields": [B]}], {}, id="moved out of a struct"),
        pytest.param([A, B], [*changed(A, versions="1-2"), B], {}, id="narrower versions"),
        pytest.param([*changed(A, versions="2+"), B], [A, B], {}, id="wider versions"),
        pytest.param([A, B], [A, B], {"validVersions": "1-2"}, id="valid versions"),
        pytest.param([A, B], [A, B], {"flexibleVersions": "2+"}, id="flexible versions"),
        pytest.param([B], changed(B, flexibleVersions="none"), {}, id="form of one string"),
        pytest.param([LIST], changed(LIST, fields=[A | {"mapKey": True}, S["fields"][1]]), {}),
        pytest.param([LIST], [field_spec("s", "[]S")], COMMON, id="struct becomes common"),
        pytest.param([LIST], changed(LIST, type="[]R"), {}, id="struct renamed"),
    ],
)
def test_what_evolve_says_of_one_change(
    old: list[Spec], new: list[Spec], keys: dict[str, Any]
) -> None:
    facts: dict[str, Any] = {"validVersions": "0-3", "flexibleVersions": "0+"}
    pair = pair_of(message_spec("Foo", *old, **facts), message_spec("Foo", *new, **facts | keys))
    assert_told_as_it_is(pair, random.Random("evolve"))


def pair_of(old: Spec, new: Spec) -> Pair:
    for spec in (old, new):
        for fields in lists_of(spec):
            fields[:] = [{"about": item["name"], **item} for item in fields]
    return Pair(old, new, (compile_spec(old), compile_spec(new)))


@pytest.mark.slow
def test_what_evolve_says_where_kafkas_own_checker_was_run() -> None:
    for case in copy.deepcopy(oracle_section("evolution_checker")):
        if case["id"] != "apikey":  # which stands before the message
            pair = pair_of(case["message1"], case["message2"])
            assert_told_as_it_is(pair, random.Random("evolve"))


@pytest.mark.parametrize("kind", ["request", "response"])
@pytest.mark.parametrize(
    "keys",
    [
        {"flexibleVersions": "1+"},
        {"headerVersions": {"0-1": 2, "2+": 3}},
        {"headerVersions": {"0+": 2}},
        {"apiKey": 18},
    ],
)
def test_what_evolve_says_of_headers(kind: str, keys: dict[str, Any]) -> None:
    facts = {"type": kind, "apiKey": 1, "validVersions": "0-2", "flexibleVersions": "0+"}
    old, new = message_spec("Foo", A, **facts), message_spec("Foo", A, **facts | keys)
    broken = broken_versions(judge(old, new))
    classes = compile_spec(old), compile_spec(new)
    for version in range(3):
        wires = {(kind.header_version(version), kind().encode(version)) for kind in classes}
        assert (version in broken) == (len(wires) == 2 or "apiKey" in keys)


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=list(HealthCheck), derandomize=True)
@given(
    rng=st.randoms(use_true_random=False),
    edits=st.lists(st.sampled_from(EDITS), min_size=1, max_size=2),
)
def test_what_evolve_says_of_random_edits(rng: random.Random, edits: list[Edit]) -> None:
    pair = random_pair(rng, edits)
    assume(pair is not None)
    assert pair is not None
    assert_told_as_it_is(pair, random.Random("evolve"))
