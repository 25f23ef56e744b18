"""What is committed comes to a state machine once, in order, behind a snapshot if there is one."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kraftwire.log.batches.batch import Batch
from kraftwire.log.writers.snapshot_writer import SnapshotWriter
from kraftwire.node import state_machine
from kraftwire.node.key_value import KeyValues, delete, put
from kraftwire.node.state_machine import Applier
from kraftwire.raft.metadata_log.batches import ControlRecord, control_batch, data_batch
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire_messages.kafka import LeaderChangeMessage
from kraftwire_wire.records import ControlType


class Values:
    """A state machine that notes what it is handed."""

    def __init__(self) -> None:
        self.seen: list[bytes | None] = []

    def apply(self, batch: Batch) -> None:
        self.seen += [record.value for record in batch.records]

    def load(self, batches: Iterable[Batch]) -> None:
        self.seen.clear()
        for batch in batches:
            self.apply(batch)

    def snapshot(self) -> None:
        """None are taken."""


def stored(*batches: Batch) -> MemoryStore:
    store = MemoryStore()
    for batch in batches:
        store.append(batch)
    return store


def leader_change(offset: int) -> Batch:
    return control_batch(
        offset, 1, 0, [ControlRecord(ControlType.LEADER_CHANGE, LeaderChangeMessage())]
    )


def test_records_are_applied_up_to_what_is_committed() -> None:
    store = stored(leader_change(0), data_batch(1, 1, 5, [b"a", b"b"]), data_batch(3, 1, 6, [b"c"]))
    applier = Applier(store, values := Values())
    assert not applier.apply_some(3)
    assert values.seen == [b"a", b"b"]
    assert (applier.applied, applier.last_timestamp) == (3, 5)
    assert not applier.apply_some(4)
    assert values.seen == [b"a", b"b", b"c"]


def test_much_is_applied_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_machine, "_MAX_BYTES", 1)
    store = stored(data_batch(0, 1, 0, [b"a"]), data_batch(1, 1, 0, [b"b"]))
    applier = Applier(store, values := Values())
    assert applier.apply_some(2)
    assert values.seen == [b"a"]
    assert not applier.apply_some(2)
    assert values.seen == [b"a", b"b"]


def test_a_snapshot_takes_the_place_of_what_was_there() -> None:
    store = stored(data_batch(0, 1, 0, [b"old"]))
    writer = SnapshotWriter(1)
    writer.begin(0, 0)
    writer.append_values([b"x", b"y"], 0)
    snapshot = OffsetAndEpoch(7, 1)
    store.write_snapshot(snapshot, 0, writer.finish(0))
    store.finish_snapshot(snapshot)
    applier = Applier(store, values := Values())
    applier.apply_some(1)
    applier.load(snapshot)
    assert values.seen == [b"x", b"y"]
    assert applier.applied == 7


def test_keys_have_their_last_values() -> None:
    keys = KeyValues()
    keys.apply(data_batch(0, 1, 0, [put("a", "1"), put("b", "2"), put("a", "3"), delete("b")]))
    assert keys.values == {"a": "3"}
    again = KeyValues()
    again.load([data_batch(0, 1, 0, list(keys.snapshot()))])
    assert again.values == keys.values


@pytest.mark.parametrize("value", [b"", b"{", b'["fly"]', b"[" * 100_000, b'["put", 1, 2]'])
def test_a_record_that_is_no_change_of_a_key_is_skipped_and_logged(
    value: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    keys = KeyValues()
    keys.apply(data_batch(0, 1, 0, [put("a", "1"), value, put("b", "2")]))
    assert (keys.values, keys.skipped) == ({"a": "1", "b": "2"}, 1)
    (line,) = caplog.records
    assert vars(line)["offset"] == 1
    assert len(vars(line)["why"]) < 250


def test_a_batch_that_cannot_be_opened_is_skipped() -> None:
    good = data_batch(0, 1, 0, [put("a", "1")])
    keys = KeyValues()
    keys.apply(Batch(good.header, good.data[:-1] + b"\xff", good.file))
    assert (keys.values, keys.skipped) == ({}, 1)


def test_many_records_that_cannot_be_read_are_a_few_lines(
    caplog: pytest.LogCaptureFixture,
) -> None:
    keys = KeyValues()
    keys.apply(data_batch(0, 1, 0, [b"{"] * 1000))
    assert keys.skipped == 1000
    assert len(caplog.records) == 30
