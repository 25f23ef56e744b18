"""What records do to topics and partitions."""

from __future__ import annotations

from uuid import UUID

import pytest

from kraftwire.metadata.errors import CannotApply
from kraftwire.metadata.state.topics import PartitionRegistration
from kraftwire_messages.kafka import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
)

from codec_tests.metadata.metadata_logs import (
    CUP,
    DIRECTORY,
    TEA,
    image_of,
    moved,
    partition,
    setting,
    topic,
)


def change(**fields: object) -> PartitionRegistration:
    """The partition after one change."""
    record = PartitionChangeRecord(partition_id=0, topic_id=TEA, **fields)  # type: ignore[arg-type]
    return image_of(topic(), partition(), record).topics.by_id[TEA].partitions[0]


def test_a_topic_has_a_name_and_an_id() -> None:
    topics = image_of(topic(), partition(), partition(1)).topics
    named = topics.named("tea")
    assert named is topics.by_id[TEA]
    assert list(named.partitions) == [0, 1]
    assert topics.named("cup") is None


def test_a_change_without_fields_raises_the_partition_epoch_alone() -> None:
    before = PartitionRegistration.of(partition())
    after = change()
    assert after.partition_epoch == before.partition_epoch + 1
    after.partition_epoch -= 1
    assert after == before


@pytest.mark.parametrize("leader", [2, 1, -1], ids=["another", "the same", "none"])
def test_a_leader_that_is_given_raises_the_leader_epoch(leader: int) -> None:
    after = change(leader=leader)
    assert (after.leader, after.leader_epoch, after.partition_epoch) == (leader, 1, 1)


def test_a_smaller_isr_leaves_the_leader_epoch() -> None:
    after = change(isr=[1])
    assert (after.isr, after.leader, after.leader_epoch) == ((1,), 1, 0)


def test_a_reassignment_adds_and_removes_replicas() -> None:
    others = [UUID(int=n) for n in (1, 2, 4)]
    after = change(
        replicas=[1, 2, 4], adding_replicas=[4], removing_replicas=[3], directories=others
    )
    assert after.replicas == (1, 2, 4)
    assert after.adding_replicas == (4,)
    assert after.removing_replicas == (3,)
    assert after.directories == tuple(others)


def test_empty_lists_are_changes_and_null_is_none() -> None:
    image = image_of(topic(), partition())
    found = image.topics.by_id[TEA].partitions[0]
    seen = []
    for ids in ([4], None, []):
        record = PartitionChangeRecord(
            partition_id=0, topic_id=TEA, adding_replicas=ids, eligible_leader_replicas=ids
        )
        image.apply(record)
        seen.append((found.adding_replicas, found.eligible_leader_replicas))
    assert seen == [((4,), (4,)), ((4,), (4,)), ((), ())]


def test_leader_recovery_goes_on_and_ends() -> None:
    assert change(leader=2, leader_recovery_state=1).leader_recovery_state == 1
    assert change(leader=2).leader_recovery_state == 0


def test_eligible_leader_replicas_change_and_are_cleared() -> None:
    elr = PartitionChangeRecord(
        partition_id=0, topic_id=TEA, eligible_leader_replicas=[2], last_known_elr=[3]
    )
    image = image_of(topic(), partition(), partition(1), elr)
    tea = image.topics.by_id[TEA]
    assert tea.partitions[0].eligible_leader_replicas == (2,)
    assert tea.partitions[0].last_known_elr == (3,)
    image.apply(ClearElrRecord(topic_name="tea"))
    assert not tea.partitions[0].eligible_leader_replicas
    assert not tea.partitions[0].last_known_elr
    # Only partitions that had any count a change.
    assert [found.partition_epoch for found in tea.partitions.values()] == [2, 0]


def test_clearing_without_a_name_clears_all_topics() -> None:
    changes = [
        PartitionChangeRecord(partition_id=0, topic_id=topic_id, eligible_leader_replicas=[2])
        for topic_id in (TEA, CUP)
    ]
    image = image_of(topic(), topic("cup", CUP), partition(), partition(0, CUP), *changes)
    image.apply(ClearElrRecord(topic_name=""))
    for found in image.topics.by_id.values():
        assert found.partitions[0].eligible_leader_replicas == ()


def test_replicas_without_directories_have_none_assigned() -> None:
    record = PartitionRecord(partition_id=0, topic_id=TEA, replicas=[1, 2])
    assert PartitionRegistration.of(record).directories == (UUID(int=0), UUID(int=0))
    assert PartitionRegistration.of(partition()).directories == (DIRECTORY,) * 3


def test_a_topic_goes_with_its_settings() -> None:
    other = setting("retention.ms", "2", "cup")
    image = image_of(topic(), topic("cup", CUP), setting("retention.ms", "1"), other)
    image.apply(RemoveTopicRecord(topic_id=TEA))
    assert list(image.topics.by_id) == [CUP]
    assert image.configs == {(2, "cup"): {"retention.ms": "2"}}


def test_a_name_can_be_used_again() -> None:
    image = image_of(topic(), RemoveTopicRecord(topic_id=TEA), topic("tea", CUP))
    named = image.topics.named("tea")
    assert named is not None
    assert named.id == CUP


def test_what_is_not_there_cannot_change() -> None:
    image = image_of(topic())
    for record in (
        moved(2),
        moved(2, topic_id=CUP),
        partition(0, CUP),
        RemoveTopicRecord(topic_id=CUP),
        ClearElrRecord(topic_name="cup"),
    ):
        with pytest.raises(CannotApply):
            image.apply(record)
    assert image == image_of(topic())
