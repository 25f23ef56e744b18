"""Fetches that wait: they go with their clients, and cost nothing while nothing happens."""

from __future__ import annotations

import random
from time import process_time

import pytest

from kraftwire.raft.core.effects import Effect, Reply
from kraftwire.raft.core.fetch_purgatory import FetchPurgatory
from kraftwire.raft.core.inputs import Propose, Request, RequestLost, Tick
from kraftwire.raft.core.messages import fetch_request
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.voters import ReplicaKey

from codec_tests.raft.replicas import CLUSTER, LISTENER, elected, fetched, lead

_DAYS_MS = 2**31 - 1


def request(token: object, replica: int = 9, offset: int = 0, epoch: int = 0) -> Request:
    """A Fetch of an observer, which would wait for 24 days."""
    message = fetch_request(
        CLUSTER,
        ReplicaKey(replica),
        epoch,
        OffsetAndEpoch(offset, epoch),
        1 << 62,
        max_wait_ms=_DAYS_MS,
        max_bytes=1000,
    )
    return Request(token, message, 18, LISTENER)


def park(replica: Replica, token: object, number: int = 9) -> list[object]:
    """Fetch at the end of the log; the tokens of what was answered."""
    core = replica.core
    asked = request(token, number, core.log.end, core.epoch)
    return answered(replica.step(core.now, asked))


def answered(effects: list[Effect]) -> list[object]:
    return [one.token for one in effects if isinstance(one, Reply)]


def test_what_is_due_is_taken_in_the_order_of_time_and_once() -> None:
    rng = random.Random(1)
    parked = FetchPurgatory()
    tokens = [object() for _ in range(2000)]
    model: dict[object, int] = {}
    for number, token in enumerate(tokens):
        model[token] = rng.randrange(1000)
        parked.add(request(token), model[token])
        if rng.random() < 0.4:
            gone = tokens[rng.randrange(number + 1)]
            parked.remove(gone)
            model.pop(gone, None)
        if rng.random() < 0.05:
            now = rng.randrange(300)
            due = [model[one.token] for one in parked.pop_due(now)]
            assert due == sorted(one for one in model.values() if one <= now)
            model = {key: one for key, one in model.items() if one > now}
        assert len(parked) == len(model)
        assert parked.next_deadline() == min(model.values(), default=None)
    assert [one.token for one in parked.pop_all()] == list(model)
    assert (len(parked), parked.next_deadline()) == (0, None)


def test_a_fetch_goes_with_its_client() -> None:
    replica = elected()
    for number in range(10):
        assert not park(replica, number)
    assert len(lead(replica).purgatory) == 10
    for number in range(10):
        replica.step(replica.core.now, RequestLost(number))
    assert len(lead(replica).purgatory) == 0
    assert lead(replica).purgatory.next_deadline() is None
    assert not answered(replica.step(replica.core.now, Propose("p", [b"value"])))


def test_a_client_that_is_gone_twice_or_waits_for_nothing_is_no_matter() -> None:
    replica = elected()
    park(replica, "one")
    for token in ("one", "one", "other"):
        replica.step(replica.core.now, RequestLost(token))
    assert len(lead(replica).purgatory) == 0


def test_of_too_many_the_oldest_is_answered() -> None:
    replica = elected(max_waiting_fetches=3)
    told = [token for number in range(10) for token in park(replica, number)]
    assert told == [0, 1, 2, 3, 4, 5, 6]
    assert len(lead(replica).purgatory) == 3


@pytest.mark.slow
def test_fetches_that_wait_cost_nothing_while_nothing_happens() -> None:
    """A step is as fast with 10,000 Fetches that wait as with none."""
    few, many = elected(max_waiting_fetches=20_000), elected(max_waiting_fetches=20_000)
    for number in range(10_000):
        park(many, number)
    assert len(lead(many).purgatory) == 10_000

    def seconds(replica: Replica) -> float:
        best = 9.0
        for _ in range(7):
            before = process_time()
            for _ in range(100):
                replica.step(replica.core.now, Tick())
                replica.next_deadline()
            best = min(best, process_time() - before)
        return best

    assert seconds(many) < 5 * seconds(few) + 0.005


def test_a_leader_remembers_a_bounded_number_of_observers() -> None:
    replica = elected(max_observers=50)
    for number in range(100, 400):
        replica.core.now += 1
        fetched(replica, ReplicaKey(number))
    observers = lead(replica).progress.keys() - replica.core.voters.keys
    assert {key.id for key in observers} == set(range(350, 400))
    assert replica.core.voters.keys <= lead(replica).progress.keys() | {replica.core.key}
