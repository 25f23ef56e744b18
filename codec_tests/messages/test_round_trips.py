"""Every message at every version, with values that hypothesis chooses and shrinks.

A message comes back equal from its bytes, strictly and leniently read, and from its JSON;
bytes of any kind are a message or a `DecodeError`.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import DecodeError
from kraftwire_wire.message import Message

from codec_tests.strategies import messages, same

QUICK, NIGHTLY = 4, 100


def _settings(examples: int) -> Any:
    """Few examples of many strategies: the time goes into building them, not into shrinking."""
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize("name", list(registry))
def test_messages_round_trip_through_bytes_and_json(name: str) -> None:
    _round_trip(name, QUICK)


@pytest.mark.nightly
@pytest.mark.parametrize("name", list(registry))
def test_many_messages_round_trip_through_bytes_and_json(name: str) -> None:
    _round_trip(name, NIGHTLY)


@pytest.mark.parametrize("name", list(registry))
def test_any_bytes_are_a_message_or_a_decode_error(name: str) -> None:
    cls = registry.message(name)

    @_settings(20)
    @given(st.sampled_from(cls.VALID_VERSIONS), st.binary(max_size=64), st.booleans())
    def check(version: int, data: bytes, lenient: bool) -> None:
        try:
            message = cls.decode(data, version, lenient=lenient)
        except DecodeError as error:
            assert error.offset is not None
            return
        if not lenient:
            assert same(cls.decode(message.encode(version), version), message)

    check()


def _round_trip(name: str, examples: int) -> None:
    cls = registry.message(name)
    for version in cls.VALID_VERSIONS:
        _round_trip_version(cls, version, examples)


def _round_trip_version(cls: type[Message], version: int, examples: int) -> None:
    @_settings(examples)
    @given(messages(cls, version))
    def check(message: Message) -> None:
        data = message.encode(version)
        decoded = cls.decode(data, version)
        assert same(decoded, message)
        assert same(cls.decode(data, version, lenient=True), message)
        assert decoded.encode(version) == data
        assert same(cls.from_json(decoded.to_json(version), version), message)

    check()
