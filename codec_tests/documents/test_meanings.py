"""Every message and field of the kafka set has a meaning in our own words."""

from __future__ import annotations

import tomllib

from kraftwire_messages.kafka import registry
from kraftwire_wire.layout import Layout

from codec_tests.documents.rooms import ROOT

MEANINGS = tomllib.loads((ROOT / "docs" / "meanings.toml").read_text(encoding="utf-8"))
_LONGEST = 180
"""Two lines of a docstring."""


def test_no_message_lacks_one() -> None:
    assert set(registry) <= set(MEANINGS["messages"])


def test_no_field_lacks_one() -> None:
    missing = {
        field.spec_name
        for name in registry
        for layout in layouts(registry.message(name))
        for field in layout.fields
    } - set(MEANINGS["fields"])
    assert missing == set()


def layouts(owner: type) -> list[Layout]:
    """Return the layouts of a message and of its structs."""
    nested = [value for value in vars(owner).values() if hasattr(value, "LAYOUT")]
    return [one.LAYOUT for one in (owner, *nested)]


def test_none_is_longer_than_two_lines() -> None:
    texts = [text for table in MEANINGS.values() for text in table.values()]
    assert max(map(len, texts)) <= _LONGEST
