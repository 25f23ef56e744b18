"""Version conditions: a chain of ifs runs the right actions in every version."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.plan.conditions import (
    Cases,
    branches,
    condition,
    merge_cases,
    split_cases,
)
from kraftwire_generator.plan.plan_data import Branch, Statement

versions = VersionRange.parse
ranges = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(
    lambda pair: VersionRange(min(pair), max(pair))
)


def lines(statements: tuple[Statement, ...], indent: str = "") -> list[str]:
    """Statements as the template prints them."""
    printed = []
    for item in statements:
        if isinstance(item, Branch):
            printed += [indent + item.opening, *lines(item.body, indent + "    ")]
        else:
            printed.append(indent + item)
    return printed


def run(statements: tuple[Statement, ...], version: int) -> list[str]:
    """What the statements, each an `add(...)`, do in a version."""
    done: list[str] = []
    exec("\n".join(lines(statements)) or "pass", {"version": version, "add": done.append})
    return done


CHAINS = [
    ("0-5", {"0-5": "a"}, ["a"]),
    ("0-5", {"3+": "a"}, ["if version >= 3:", "    a"]),
    ("0-5", {"0-2": "a"}, ["if version <= 2:", "    a"]),
    ("0-5", {"0": "a"}, ["if version == 0:", "    a"]),
    ("2-5", {"2": "a"}, ["if version == 2:", "    a"]),
    ("0-5", {"5": "a"}, ["if version >= 5:", "    a"]),
    ("0-5", {"2": "a"}, ["if version == 2:", "    a"]),
    ("0-5", {"2-3": "a"}, ["if 2 <= version <= 3:", "    a"]),
    ("0-5", {"3+": "a", "0-2": "b"}, ["if version >= 3:", "    a", "else:", "    b"]),
    (
        "0-9",
        {"6+": "a", "3-5": "b", "0-2": "c"},
        ["if version >= 6:", "    a", "elif version >= 3:", "    b", "else:", "    c"],
    ),
    ("0-9", {"6+": "a", "2": "b"}, ["if version >= 6:", "    a", "elif version == 2:", "    b"]),
]


@pytest.mark.parametrize(("within", "actions", "expected"), CHAINS)
def test_a_chain_is_as_short_as_a_hand_would_write_it(
    within: str, actions: dict[str, str], expected: list[str]
) -> None:
    spans = {versions(text): action for text, action in actions.items()}

    def action(version: int) -> tuple[str, ...]:
        return tuple(item for span, item in spans.items() if version in span)

    cases = split_cases(versions(within), spans, action)
    assert lines(branches(cases)) == expected


@given(ranges, st.lists(st.tuples(ranges, st.sampled_from("abc")), max_size=5))
def test_a_chain_chooses_the_action_of_every_version(
    within: VersionRange, actions: list[tuple[VersionRange, str]]
) -> None:
    def action(version: int) -> tuple[str, ...]:
        return tuple(f"add({item!r})" for span, item in actions if version in span)

    cases = split_cases(within, [span for span, _ in actions], action)
    statements = branches(cases) if any(cases.actions) else ()
    for version in range(within.lowest, within.highest + 1):
        assert run(statements, version) == [item for span, item in actions if version in span]


@pytest.mark.slow
@given(ranges, st.lists(st.tuples(ranges, st.booleans()), max_size=6))
def test_merged_fields_keep_their_order_and_their_versions(
    within: VersionRange, fields: list[tuple[VersionRange, bool]]
) -> None:
    """Half of the fields do something else in the versions that lack them."""

    def action(number: int, version: int) -> tuple[str, ...]:
        span, refuses = fields[number]
        if version in span:
            return (f"add({number})",)
        return (f"add({-number})",) if refuses else ()

    items = [
        split_cases(within, [span], lambda version, number=number: action(number, version))
        for number, (span, _) in enumerate(fields)
    ]
    statements = [line for cases in merge_cases(items) for line in branches(cases)]
    for version in range(within.lowest, within.highest + 1):
        expected = [
            number if version in span else -number
            for number, (span, refuses) in enumerate(fields)
            if version in span or refuses
        ]
        assert run(tuple(statements), version) == expected


def test_neighbours_with_the_same_spans_stand_under_one_if() -> None:
    first = Cases((versions("0-2"), versions("3-5")), ((), ("a",)))
    second = Cases((versions("0-2"), versions("3-5")), (("c",), ("b",)))
    assert merge_cases([first, second]) == [Cases(first.spans, (("c",), ("a", "b")))]


def test_fields_with_nothing_to_do_do_not_part_their_neighbours() -> None:
    cases = Cases((versions("0-2"), versions("3-5")), ((), ("a",)))
    nothing: Cases[str] = Cases((versions("0-5"),), ((),))
    assert len(merge_cases([cases, nothing, cases])) == 1


def test_a_struct_that_never_occurs_has_no_spans() -> None:
    cases = split_cases(VersionRange.NONE, [versions("0+")], lambda version: ("a",))
    assert not any(cases.actions)
    assert merge_cases([cases]) == []


refuse = Branch("if self.x:", ("raise",))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ((refuse,), (), ["if version <= 2 and self.x:", "    raise"]),
        ((refuse,), ("a",), ["if version >= 3:", "    a", "elif self.x:", "    raise"]),
        (
            (refuse, "b"),
            (),
            ["if version <= 2:", "    if self.x:", "        raise", "    b"],
        ),
        (
            (Branch("for tag in tags:", ("b",)),),
            (),
            ["if version <= 2:", "    for tag in tags:", "        b"],
        ),
    ],
)
def test_an_if_alone_under_an_if_is_joined_with_it(
    old: tuple[Statement, ...], new: tuple[Statement, ...], expected: list[str]
) -> None:
    cases = Cases((versions("0-2"), versions("3-5")), (old, new))
    assert lines(branches(cases)) == expected


@given(ranges, ranges)
def test_a_condition_is_membership(span: VersionRange, within: VersionRange) -> None:
    span = span.intersect(within)
    if not span:
        return
    for version in range(within.lowest, within.highest + 1):
        assert eval(condition(span, within), {"version": version}) == (version in span)
