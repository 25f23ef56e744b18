"""The search for the nearest recorded request: how long it takes, and what it says."""

from __future__ import annotations

from typing import Any

import pytest

from kraftwire.capture.replay.matching import distance
from kraftwire.capture.replay.request_parts import join_responses, split_exchange
from kraftwire_messages.kafka import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    EndTxnRequest,
    EndTxnResponse,
)

from codec_tests.capture.replaying import ask, is_missed, metadata, replay


@pytest.mark.slow
@pytest.mark.parametrize("backwards", [False, True])
def test_a_long_recording_is_searched_as_fast_as_a_short_one(
    monkeypatch: pytest.MonkeyPatch, backwards: bool
) -> None:
    """Each transaction has an epoch of its own (KIP-890), and so a group of its own."""
    compared = 0

    def count(*args: Any) -> int:
        nonlocal compared
        compared += 1
        return distance(*args)

    def ending(epoch: int) -> EndTxnRequest:
        return EndTxnRequest(transactional_id="t", producer_id=1, producer_epoch=epoch)

    monkeypatch.setattr("kraftwire.capture.replay.search.distance", count)
    epochs = range(500)
    core = replay(*((ending(epoch), EndTxnResponse(throttle_time_ms=epoch), 5) for epoch in epochs))
    for epoch in reversed(epochs) if backwards else epochs:
        compared = 0
        assert ask(core, ending(epoch), 5).throttle_time_ms == epoch
        assert compared <= 401
    assert is_missed(core, ending(5), 5)
    assert core.tape.unused() == {}


def test_messages_are_split_and_joined_in_linear_time() -> None:
    looked_at = 0

    def name_of(item: Any) -> object:
        nonlocal looked_at
        looked_at += 1
        return item.name

    names = [f"topic-{number}" for number in range(500)]
    asked, answered, _ = metadata(*names)
    parts = list(split_exchange("Metadata", asked, answered, name_of))
    whole = join_responses("Metadata", [answer for _, answer in parts], name_of)
    assert [topic.name for topic in whole.topics] == names
    assert looked_at <= 3 * len(names)


def test_a_miss_shows_no_secrets() -> None:
    cls = CreateTopicsRequest

    def creating(name: str, value: str) -> CreateTopicsRequest:
        configs = [cls.CreatableTopicConfig(name=name, value=value)]
        return cls(topics=[cls.CreatableTopic(name="tea", configs=configs)])

    core = replay((creating("ssl.key.password", "recorded"), CreateTopicsResponse(), 7))
    for living in (creating("ssl.key.password", "hunter2"), creating("x.password", "hunter2")):
        assert is_missed(core, living, 7)
    secret, other = (str(miss) for miss in core.misses)
    assert "topics[0].configs[0].value" in secret
    assert "x.password" in other
    assert all("hunter2" not in text and "'recorded'" not in text for text in (secret, other))
