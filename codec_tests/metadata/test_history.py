"""Histories: where they start, what each step says."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftwire.metadata.history import History, about_broker, about_partition, changes
from kraftwire_messages import kafka
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message

from codec_tests.metadata.metadata_logs import (
    CUP,
    TEA,
    broker,
    broker_change,
    moved,
    partition,
    setting,
    topic,
    write_log,
    write_snapshot,
)


def told(root: Path, *messages: Message) -> list[str]:
    write_log(root, messages)
    return [step.description for step in History(root)]


def test_steps_say_what_changed(tmp_path: Path) -> None:
    lines = told(
        tmp_path,
        topic(),
        setting("retention.ms", "1"),
        partition(),
        moved(2),
        setting("retention.ms", "2"),
        setting("retention.ms", "2"),
        kafka.PartitionChangeRecord(partition_id=0, topic_id=TEA, isr=[2], adding_replicas=[]),
        partition(1),
        kafka.RemoveTopicRecord(topic_id=TEA),
        broker(),
        broker_change(fenced=-1),
        kafka.UnregisterBrokerRecord(broker_id=1, broker_epoch=10),
        kafka.ProducerIdsRecord(next_producer_id=1000),
        kafka.NoOpRecord(),
    )
    assert lines == [
        "topic tea added: topicId AAAAAAAAAAAAAAAAAAAABw",
        "config topic tea retention.ms added: value 1",
        "partition tea-0 added: leader 1, leaderEpoch 0, isr [1, 2, 3], replicas [1, 2, 3]",
        "partition tea-0: leader 1 -> 2, leaderEpoch 0 -> 1, partitionEpoch 0 -> 1",
        "config topic tea retention.ms: value 1 -> 2",
        "nothing changed: resourceType 2, resourceName tea, name retention.ms, value 2",
        "partition tea-0: partitionEpoch 1 -> 2, isr [1, 2, 3] -> [2]",
        "partition tea-1 added: leader 1, leaderEpoch 0, isr [1, 2, 3], replicas [1, 2, 3]",
        "topic tea removed, with 2 partitions, 1 config",
        "broker 1 added: epoch 10, fenced yes, endpoints [PLAINTEXT://tea.example:9092]",
        "broker 1: fenced yes -> no",
        "broker 1 removed",
        "producer-ids added: nextProducerId 1000",
        "nothing",
    ]


def test_secrets_are_not_told(tmp_path: Path) -> None:
    credential = kafka.UserScramCredentialRecord(
        name="ann", mechanism=2, salt=b"hidden", stored_key=b"hidden", server_key=b"hidden"
    )
    password = setting("sasl.jaas.config", "hidden")
    write_log(tmp_path, [password, password, setting("sasl.jaas.config", "hidden too"), credential])
    steps = list(History(tmp_path))
    assert "hidden" not in repr(steps)
    assert "aGlkZGVu" not in repr(steps)
    assert [step.description for step in steps] == [
        "config topic tea sasl.jaas.config added: value (redacted)",
        "nothing changed: resourceType 2, resourceName tea, name sasl.jaas.config,"
        " value (redacted)",
        "config topic tea sasl.jaas.config: value changed",
        "scram ann SCRAM-SHA-512 added: iterations 0",
    ]
    shown = [step.description for step in History(tmp_path, secrets=True)]
    assert shown[2] == "config topic tea sasl.jaas.config: value hidden -> hidden too"


def test_transactions_are_reported_when_they_end(tmp_path: Path) -> None:
    begin = kafka.BeginTransactionRecord(name="t")
    messages = [begin, topic(), kafka.EndTransactionRecord(), begin, topic("cup", CUP)]
    write_log(tmp_path, [*messages, kafka.AbortTransactionRecord(reason="why"), begin, partition()])
    history = History(tmp_path)
    assert [(step.offset, step.description) for step in history] == [
        (0, "transaction begins: t"),
        (1, "topic tea added: topicId AAAAAAAAAAAAAAAAAAAABw"),
        (2, "transaction ends: the records since its beginning take effect"),
        (3, "transaction begins: t"),
        (5, "transaction aborted, 1 record dropped: why"),
    ]
    assert history.image.provenance.transaction is not None


def test_steps_know_what_they_are_about(tmp_path: Path) -> None:
    messages = [
        topic(),
        partition(),
        partition(1),
        topic("cup", CUP),
        moved(2, 1),
        broker(),
        broker_change(fenced=1),
        kafka.ClearElrRecord(topic_name="tea"),
        kafka.RemoveTopicRecord(topic_id=TEA),
    ]
    write_log(tmp_path, messages)
    steps = list(History(tmp_path))

    def offsets(test: object) -> list[int]:
        assert callable(test)
        return [step.offset for step in steps if test(step)]

    assert offsets(lambda step: about_partition(step, "tea")) == [0, 1, 2, 4, 7, 8]
    assert offsets(lambda step: about_partition(step, "tea", 1)) == [2, 4, 8]
    assert offsets(lambda step: about_partition(step, "nobody")) == []
    assert offsets(lambda step: about_broker(step, 1)) == [5, 6]


def test_no_ops_can_be_left_out(tmp_path: Path) -> None:
    write_log(tmp_path, [topic(), kafka.NoOpRecord(), partition()])
    assert [step.offset for step in changes(tmp_path)] == [0, 2]


@pytest.mark.parametrize(
    ("bounds", "offsets"),
    [((2, None), [2, 3]), ((None, 2), [0, 1]), ((1, 3), [1, 2]), ((9, None), [])],
)
def test_a_part_can_be_told(
    tmp_path: Path, bounds: tuple[int | None, int | None], offsets: list[int]
) -> None:
    write_log(tmp_path, [topic(), partition(), moved(2), moved(3)])
    write_snapshot(tmp_path, 2, [topic(), partition()])
    steps = list(History(tmp_path, *bounds))
    assert [step.offset for step in steps] == offsets
    assert all(step.changes for step in steps)


def test_a_history_starts_at_the_oldest_snapshot_that_the_log_reaches(tmp_path: Path) -> None:
    write_snapshot(tmp_path, 1, [topic()])
    write_snapshot(tmp_path, 4, [topic(), partition()])
    write_log(tmp_path, [moved(9), moved(2), moved(3)], base=3)
    history = History(tmp_path)
    assert (history.start, history.knows_state) == (4, True)
    assert [step.description for step in history] == [
        "partition tea-0: leader 1 -> 2, leaderEpoch 0 -> 1, partitionEpoch 0 -> 1",
        "partition tea-0: leader 2 -> 3, leaderEpoch 1 -> 2, partitionEpoch 1 -> 2",
    ]


def test_a_segment_alone_is_reported_as_far_as_it_goes(tmp_path: Path) -> None:
    log = write_log(tmp_path, [moved(9), topic("cup", CUP), setting("a", "1", "cup")], base=3)
    history = History(log)
    assert (history.start, history.knows_state) == (3, False)
    first, *rest = [step.description for step in history]
    assert first.startswith("not applied: partitionId 0, topicId AAAAAAAAAAAAAAAAAAAABw")
    assert rest == [
        "topic cup added: topicId AAAAAAAAAAAAAAAAAAAACA",
        "config topic cup a added: value 1",
    ]


def test_snapshots_have_no_history(tmp_path: Path) -> None:
    with pytest.raises(KraftwireError, match="a snapshot alone has no history"):
        History(write_snapshot(tmp_path, 4, [topic()]))
