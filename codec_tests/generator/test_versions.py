"""Version ranges: their texts, and the arithmetic that conditions are made with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire_generator.language.versions import HIGHEST_VERSION, VersionRange

TEXTS = [
    ("0", VersionRange(0, 0), "0"),
    ("1-4", VersionRange(1, 4), "1-4"),
    ("3-3", VersionRange(3, 3), "3"),
    ("2+", VersionRange(2, HIGHEST_VERSION), "2+"),
    ("2-32767", VersionRange(2, HIGHEST_VERSION), "2+"),
    ("none", VersionRange.NONE, "none"),
    (" 007 \n", VersionRange(7, 7), "7"),
]

ranges = st.builds(VersionRange, st.integers(0, 9), st.integers(0, 9)).map(
    lambda item: item if item else VersionRange.NONE
)


@pytest.mark.parametrize(("text", "expected", "printed"), TEXTS)
def test_a_range_is_read_and_printed(text: str, expected: VersionRange, printed: str) -> None:
    assert VersionRange.parse(text) == expected
    assert str(expected) == printed


@pytest.mark.parametrize("text", ["", "-1", "1-", "3-1", "1 - 2", "NONE", "32768", "1.0", "٣"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        VersionRange.parse(text)


@pytest.mark.parametrize(
    ("text", "is_open"), [("2+", True), ("2-5", False), ("none", False), ("0-32767", True)]
)
def test_open_ranges_have_no_end(text: str, is_open: bool) -> None:
    assert VersionRange.parse(text).is_open is is_open


@given(ranges, ranges)
def test_arithmetic_is_that_of_sets(left: VersionRange, right: VersionRange) -> None:
    first, second = _versions(left), _versions(right)
    assert _versions(left.intersect(right)) == first & second
    assert left.covers(right) == (second <= first)
    assert bool(left) == bool(first)
    rest = left.subtract(right)
    if rest is None:
        assert len(first - second) < max(first - second) - min(first - second) + 1
    else:
        assert _versions(rest) == first - second


def _versions(versions: VersionRange) -> set[int]:
    return {version for version in range(-1, 12) if version in versions}
