"""What is in force as a log is appended to, truncated and cleaned."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.raft.metadata_log.history import BEFORE_THE_LOG, History, HistoryEntry


def test_values_are_in_force_from_their_record_on() -> None:
    history = History("static")
    history.add(5, "second")
    history.add(9, "third")
    assert [history.before(offset) for offset in (0, 5, 6, 9, 10)] == [
        "static",
        "static",
        "second",
        "second",
        "third",
    ]
    assert [history.is_committed(end) for end in (0, 9, 10)] == [False, False, True]
    history.truncate(9)
    assert history.entries == [HistoryEntry(BEFORE_THE_LOG, "static"), HistoryEntry(5, "second")]
    history.truncate(5)
    assert (history.last_offset, history.last) == (BEFORE_THE_LOG, "static")
    assert history.is_committed(0)
    with pytest.raises(ValueError, match="not after"):
        history.add(-1, "other")


Actions = list[tuple[str, int]]
ACTIONS = st.lists(
    st.tuples(st.sampled_from(["add", "truncate", "forget"]), st.integers(0, 12)), max_size=25
)


@given(ACTIONS)
def test_a_history_is_a_replay_of_the_log(actions: Actions) -> None:
    history = History(99)
    log = {BEFORE_THE_LOG: 99}
    start = 0
    for kind, number in actions:
        if kind == "add":
            offset = max([start - 1, *log]) + 1 + number % 3
            log[offset] = number
            history.add(offset, number)
        elif kind == "truncate" and number >= start:
            log = {offset: value for offset, value in log.items() if offset < number}
            history.truncate(number)
        elif kind == "forget" and number >= start:
            start = number
            history.forget_before(number)
        for offset in range(start, 40):
            assert history.before(offset) == log[max(at for at in log if at < offset)]
        assert history.last == log[max(log)]
