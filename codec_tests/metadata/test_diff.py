"""What differs between images, and what is secret in it."""

from __future__ import annotations

import pytest

from kraftwire.metadata.entities.diff import diff_images
from kraftwire.metadata.entities.entity import EntityKind, entities
from kraftwire.metadata.state.image import MetadataImage
from kraftwire.redaction import REDACTED
from kraftwire_messages.kafka import (
    PartitionChangeRecord,
    RemoveTopicRecord,
    UserScramCredentialRecord,
)

from codec_tests.metadata.metadata_logs import (
    CUP,
    TEA,
    broker,
    broker_change,
    image_of,
    moved,
    partition,
    setting,
    topic,
)

BASE = [topic(), partition(), broker(), setting("a", "1")]


def words(before: MetadataImage, after: MetadataImage, *only: EntityKind) -> list[str]:
    changes = diff_images(before, after, only or tuple(EntityKind))
    return [
        " ".join([change.verb, change.kind.value, change.label, *change.changed])
        for change in changes
    ]


def test_equal_images_have_no_difference() -> None:
    assert words(image_of(*BASE), image_of(*BASE)) == []


def test_fields_that_differ_are_named() -> None:
    after = image_of(*BASE, moved(2), broker_change(fenced=-1), setting("a", "2"))
    assert words(image_of(*BASE), after) == [
        "changed broker 1 fenced",
        "changed partition tea-0 leader leaderEpoch partitionEpoch",
        "changed config topic tea a value",
    ]
    (change,) = diff_images(image_of(*BASE), after, [EntityKind.PARTITION])
    assert change.before is not None
    assert change.after is not None
    assert (change.before["leader"], change.after["leader"]) == (1, 2)


def test_what_is_only_on_one_side_is_added_or_removed() -> None:
    before, after = image_of(*BASE), image_of(*BASE, topic("cup", CUP), partition(0, CUP))
    assert words(before, after) == ["added topic cup", "added partition cup-0"]
    assert words(after, before) == ["removed topic cup", "removed partition cup-0"]


def test_a_new_partition_counts_in_its_topic() -> None:
    assert words(image_of(*BASE), image_of(*BASE, partition(1))) == [
        "changed topic tea partitions",
        "added partition tea-1",
    ]


def test_a_topic_that_came_again_is_another() -> None:
    again = image_of(*BASE, RemoveTopicRecord(topic_id=TEA), topic("tea", CUP), partition(0, CUP))
    assert words(image_of(*BASE), again, EntityKind.TOPIC, EntityKind.PARTITION) == [
        "removed topic tea",
        "added topic tea",
        "removed partition tea-0",
        "added partition tea-0",
    ]


def test_topics_can_be_picked() -> None:
    after = image_of(*BASE, moved(2), topic("cup", CUP), partition(0, CUP), setting("b", "", "cup"))
    found = diff_images(MetadataImage(), after, topics=["cup"])
    assert [change.label for change in found] == ["cup", "cup-0", "topic cup b"]


def credential(key: bytes) -> UserScramCredentialRecord:
    return UserScramCredentialRecord(name="ann", mechanism=1, salt=b"s", stored_key=key)


def test_secrets_that_differ_are_reported_without_them() -> None:
    secret = setting("ssl.keystore.password", "hidden one"), credential(b"hidden one")
    other = setting("ssl.keystore.password", "hidden two"), credential(b"hidden two")
    before, after = image_of(*secret), image_of(*other)
    changes = list(diff_images(before, after))
    assert [change.changed for change in changes] == [("value",), ("storedKey",)]
    assert all(
        change.before is not None and change.before[name] == REDACTED
        for change in changes
        for name in change.changed
    )
    assert "hidden" not in repr([change[2:4] for change in changes])
    shown = list(diff_images(before, after, secrets=True))
    assert "hidden one" in repr(shown[0].before)


@pytest.mark.parametrize("secrets", [False, True])
def test_entities_hide_secrets_unless_asked(secrets: bool) -> None:
    image = image_of(setting("ssl.key.password", "hidden"), credential(b"hidden"))
    found = repr([entity.fields for entity in entities(image, secrets=secrets)])
    assert ("hidden" in found) is secrets
    assert ("c3RvcmVk" in found or "aGlkZGVu" in found) is secrets


def test_entities_come_in_order() -> None:
    image = image_of(
        topic("z", CUP),
        topic("a", TEA),
        partition(10),
        partition(9),
        partition(0, CUP),
        broker(10),
        broker(9),
    )
    labels = [entity.label for entity in entities(image)]
    assert labels == ["9", "10", "a", "z", "a-9", "a-10", "z-0"]


def test_a_change_of_nothing_but_the_epoch_is_a_change() -> None:
    change = PartitionChangeRecord(partition_id=0, topic_id=TEA)
    assert words(image_of(*BASE), image_of(*BASE, change)) == [
        "changed partition tea-0 partitionEpoch"
    ]
