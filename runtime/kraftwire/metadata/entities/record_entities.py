"""The entities that a record is about: those that `MetadataImage.apply` may change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kraftwire.metadata.entities.entity import EntityKind, EntityRef
from kraftwire.metadata.state.access import quota_entity
from kraftwire.metadata.state.image import KRAFT_VERSION, MetadataImage
from kraftwire.metadata.state.names import TOPIC_CONFIG
from kraftwire_messages import kafka
from kraftwire_wire.message import Message


def entities_of(image: MetadataImage, message: Message) -> list[EntityRef]:
    """Return the entities that a record is about, in the image before it."""
    find = _FINDERS.get(type(message))
    return [] if find is None else list(find(image, message))


def _topic_and_parts(image: MetadataImage, record: kafka.RemoveTopicRecord) -> Iterable[EntityRef]:
    yield EntityRef(EntityKind.TOPIC, record.topic_id)
    topic = image.topics.by_id.get(record.topic_id)
    if topic is not None:
        for number in topic.partitions:
            yield EntityRef(EntityKind.PARTITION, (topic.id, number))
        for name in image.configs.get((TOPIC_CONFIG, topic.name), ()):
            yield EntityRef(EntityKind.CONFIG, (TOPIC_CONFIG, topic.name, name))


def _topic_and_elrs(image: MetadataImage, record: kafka.ClearElrRecord) -> Iterable[EntityRef]:
    named = image.topics.named(record.topic_name)
    if named is not None:
        yield EntityRef(EntityKind.TOPIC, named.id)
    elif record.topic_name:
        return
    for topic in [named] if named is not None else image.topics.by_id.values():
        for number, partition in topic.partitions.items():
            if partition.eligible_leader_replicas or partition.last_known_elr:
                yield EntityRef(EntityKind.PARTITION, (topic.id, number))


def _voters(image: MetadataImage, record: kafka.VotersRecord) -> Iterable[EntityRef]:
    ids = {voter.voter_id for voter in record.voters} | image.voters.keys()
    return [EntityRef(EntityKind.VOTER, voter) for voter in sorted(ids)]


def _one(kind: EntityKind, *names: str) -> Callable[[MetadataImage, Any], Iterable[EntityRef]]:
    """Return a function for records whose fields are the entity's identity."""

    def find(image: MetadataImage, record: Any) -> Iterable[EntityRef]:
        values = tuple(getattr(record, name) for name in names)
        return (EntityRef(kind, values if len(values) > 1 else values[0]),)

    return find


_BROKER = _one(EntityKind.BROKER, "broker_id")
_FENCED = _one(EntityKind.BROKER, "id")
_CONTROLLER = _one(EntityKind.CONTROLLER, "controller_id")
_PARTITION = _one(EntityKind.PARTITION, "topic_id", "partition_id")
_ACL = _one(EntityKind.ACL, "id")
_SCRAM = _one(EntityKind.SCRAM, "mechanism", "name")
_TOKEN = _one(EntityKind.TOKEN, "token_id")

_FINDERS: dict[type[Message], Callable[[MetadataImage, Any], Iterable[EntityRef]]] = {
    kafka.FeatureLevelRecord: _one(EntityKind.FEATURE, "name"),
    kafka.KRaftVersionRecord: lambda image, record: [EntityRef(EntityKind.FEATURE, KRAFT_VERSION)],
    kafka.VotersRecord: _voters,
    kafka.RegisterBrokerRecord: _BROKER,
    kafka.UnregisterBrokerRecord: _BROKER,
    kafka.BrokerRegistrationChangeRecord: _BROKER,
    kafka.FenceBrokerRecord: _FENCED,
    kafka.UnfenceBrokerRecord: _FENCED,
    kafka.RegisterControllerRecord: _CONTROLLER,
    kafka.UnregisterControllerRecord: _CONTROLLER,
    kafka.TopicRecord: _one(EntityKind.TOPIC, "topic_id"),
    kafka.RemoveTopicRecord: _topic_and_parts,
    kafka.PartitionRecord: _PARTITION,
    kafka.PartitionChangeRecord: _PARTITION,
    kafka.ClearElrRecord: _topic_and_elrs,
    kafka.ConfigRecord: _one(EntityKind.CONFIG, "resource_type", "resource_name", "name"),
    kafka.ClientQuotaRecord: lambda image, record: [
        EntityRef(EntityKind.QUOTA, (quota_entity(record), record.key))
    ],
    kafka.AccessControlEntryRecord: _ACL,
    kafka.RemoveAccessControlEntryRecord: _ACL,
    kafka.UserScramCredentialRecord: _SCRAM,
    kafka.RemoveUserScramCredentialRecord: _SCRAM,
    kafka.DelegationTokenRecord: _TOKEN,
    kafka.RemoveDelegationTokenRecord: _TOKEN,
    kafka.ProducerIdsRecord: lambda image, record: [EntityRef(EntityKind.PRODUCER_IDS, None)],
}
