"""A cassette as a broker: answers to Produce and Fetch, record by record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kraftwire_messages.kafka import FetchRequest

from codec_tests.capture.replaying import (
    A_BATCH,
    ask,
    ask_raw,
    batch,
    fetch,
    fetched,
    is_missed,
    metadata,
    produce,
    produced,
    replay,
    values_of,
)


def test_records_are_matched_one_by_one() -> None:
    core = replay((produce(A_BATCH), produced(7), 9), (produce(batch(0, b"three")), produced(9), 9))
    living = batch(0, b"one", timestamp=5, producer=44)
    assert offset_of(ask(core, produce(living), 11)) == 7
    assert offset_of(ask(core, produce(batch(0, b"two", b"three")), 11)) == 8
    assert core.tape.unused() == {}


@given(st.lists(st.integers(1, 3), max_size=4), st.lists(st.integers(1, 3), max_size=4))
def test_records_match_regardless_of_batches(recorded: list[int], living: list[int]) -> None:
    """However n records were batched, any batching of them gets the same offsets."""
    values = [str(at).encode() for at in range(min(sum(recorded), sum(living)))]

    def batches(sizes: list[int]) -> list[tuple[int, list[bytes]]]:
        found, at = [], 0
        for size in sizes:
            found.append((at, values[at : at + size]))
            at += size
        return [one for one in found if one[1]]

    core = replay(
        metadata("tea"),
        *((produce(batch(0, *some)), produced(at), 9) for at, some in batches(recorded)),
    )
    for at, some in batches(living):
        assert offset_of(ask(core, produce(batch(0, *some)), 9)) == at
    assert core.tape.unused().get("Produce") is None


def offset_of(answer: Any) -> int:
    return int(answer.responses[0].partition_responses[0].base_offset)


def test_another_record_is_a_miss_with_its_difference() -> None:
    core = replay((produce(A_BATCH), produced(7), 9))
    assert is_missed(core, produce(batch(0, b"uno")), 9)
    (found,) = core.misses[0].differences
    assert (found.path, found.actual, found.expected) == ("tea-0.records[0].value", b"uno", b"one")
    assert is_missed(core, produce(A_BATCH, topic="cups"), 9)
    assert is_missed(core, produce(A_BATCH[:-1]), 9)


def test_a_refusal_is_given_once() -> None:
    core = replay((produce(A_BATCH), produced(-1, 6), 9), (produce(A_BATCH), produced(3), 9))
    first = ask(core, produce(A_BATCH), 9).responses[0].partition_responses[0]
    assert first.error_code == 6
    assert offset_of(ask(core, produce(A_BATCH), 9)) == 3


def test_acks_0_is_not_answered() -> None:
    core = replay((produce(A_BATCH, acks=0), None, 9), metadata("tea"))
    _, reply = ask_raw(core, produce(A_BATCH, acks=0), 9)
    assert (reply.data, reply.is_miss, core.misses) == (None, False, [])


def test_a_fetch_gets_the_batches_at_its_offset() -> None:
    later = batch(2, b"three")
    core = replay((fetch(0), fetched(A_BATCH), 12), (fetch(2), fetched(later), 12))
    assert values_of(ask(core, fetch(0), 12)) == [b"one", b"two"]
    assert values_of(ask(core, fetch(1), 11)) == [b"one", b"two"]
    assert values_of(ask(core, fetch(2), 12)) == [b"three"]


def test_a_fetch_after_the_end_waits_and_is_empty() -> None:
    core = replay((fetch(0), fetched(A_BATCH), 12))
    _, reply = ask_raw(core, fetch(5), 12, is_last_call=False)
    assert reply.wait_s == 0.05
    assert values_of(ask(core, fetch(5), 12)) == []
    assert core.misses == []


def test_nothing_is_fetched_before_it_is_produced() -> None:
    core = replay(
        (produce(A_BATCH), produced(0), 9),
        (produce(batch(0, b"three")), produced(2), 9),
        (fetch(0), fetched(A_BATCH + batch(2, b"three")), 12),
    )
    assert values_of(ask(core, fetch(0), 12)) == []
    ask(core, produce(batch(0, b"one")), 9)
    assert values_of(ask(core, fetch(0), 12)) == []
    ask(core, produce(batch(0, b"two")), 9)
    assert values_of(ask(core, fetch(0), 12)) == [b"one", b"two"]
    ask(core, produce(batch(0, b"three")), 9)
    assert values_of(ask(core, fetch(2), 12)) == [b"three"]


def test_records_become_visible_in_the_order_of_their_offsets() -> None:
    """Also where two producers' answers came in another order than their requests."""
    core = replay(
        (produce(batch(0, b"second")), produced(1), 9),
        (produce(batch(0, b"first")), produced(0), 9),
        (fetch(0), fetched(batch(0, b"first") + batch(1, b"second")), 11),
    )
    ask(core, produce(batch(0, b"second")), 9)
    assert values_of(ask(core, fetch(0), 11)) == []
    ask(core, produce(batch(0, b"first")), 9)
    assert values_of(ask(core, fetch(0), 11)) == [b"first", b"second"]
    assert values_of(ask(core, fetch(1), 11)) == [b"second"]


def test_errors_of_a_fetch_come_first() -> None:
    core = replay((fetch(0), fetched(b"", error_code=3), 12), (fetch(0), fetched(A_BATCH), 12))
    assert ask(core, fetch(0), 12).responses[0].partitions[0].error_code == 3
    assert values_of(ask(core, fetch(0), 12)) == [b"one", b"two"]


def test_recorded_fetch_sessions_are_followed_and_no_new_ones_open() -> None:
    opening = replace(fetch(0), session_id=0, session_epoch=0)
    going_on = FetchRequest(session_id=5, session_epoch=1)
    core = replay(
        (opening, fetched(b"", session_id=5), 12),
        (going_on, fetched(b"", error_code=6, session_id=5), 12),
        (going_on, fetched(A_BATCH, session_id=5), 12),
    )
    assert ask(core, fetch(0), 12).responses[0].partitions[0].error_code == 6
    answer = ask(core, opening, 12)
    assert answer.session_id == 0
    assert values_of(answer) == [b"one", b"two"]
    assert ask(core, going_on, 12).error_code == 70


def test_an_unrecorded_partition_is_a_miss() -> None:
    core = replay(metadata("tea"), (fetch(0, 1), fetched(A_BATCH, 1), 12))
    assert values_of(ask(core, fetch(0, 0), 12)) == []  # known, though never fetched
    assert is_missed(core, fetch(0, 2), 12)
