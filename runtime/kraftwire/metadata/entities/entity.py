"""An image as entities of several kinds, each with a label and fields that JSON can hold.

Printing, comparison and history work on entities. Secrets (SCRAM salts and keys, settings named
like passwords) are replaced unless requested.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

from kraftwire.metadata.entities import views
from kraftwire.metadata.entities.views import EntityFields, EntityView
from kraftwire.metadata.state.access import QuotaEntity
from kraftwire.metadata.state.image import MetadataImage
from kraftwire.metadata.state.names import TOPIC_CONFIG
from kraftwire.metadata.state.topics import PartitionRegistration
from kraftwire.redaction import REDACTED, is_secret_setting


class EntityKind(Enum):
    """The kinds of entities, in the order in which they are listed."""

    FEATURE = "feature"
    VOTER = "voter"
    CONTROLLER = "controller"
    BROKER = "broker"
    TOPIC = "topic"
    PARTITION = "partition"
    CONFIG = "config"
    QUOTA = "quota"
    ACL = "acl"
    SCRAM = "scram"
    TOKEN = "token"  # noqa: S105  not a secret: the name of the kind
    PRODUCER_IDS = "producer-ids"

    @property
    def section(self) -> str:
        """The plural of the kind: `topics`."""
        has_plural = self not in (EntityKind.SCRAM, EntityKind.PRODUCER_IDS)
        return f"{self.value}s" if has_plural else self.value


class EntityRef(NamedTuple):
    """Identifies an entity: its kind and its key."""

    kind: EntityKind
    identity: Hashable


class Entity(NamedTuple):
    """A broker, topic, setting or other object in an image."""

    ref: EntityRef
    label: str
    fields: EntityFields

    @property
    def kind(self) -> EntityKind:
        return self.ref.kind


class _Table(NamedTuple):
    """How to find and show the entities of a kind."""

    objects: Callable[[MetadataImage], Mapping[Any, Any]]
    """Returns the objects by identity."""
    view: Callable[[MetadataImage, Any, Any], EntityView]
    order: Callable[[MetadataImage, Any], Any] = lambda image, identity: identity
    """Returns what to sort identities by."""
    find: Callable[[MetadataImage, Any], Any] | None = None
    """Returns one object or None. Not needed if `objects` only returns a dict of the image."""


def entities(
    image: MetadataImage,
    kinds: Collection[EntityKind] = tuple(EntityKind),
    *,
    topics: Collection[str] = (),
    secrets: bool = False,
) -> Iterator[Entity]:
    """Yield the entities of an image, kind by kind, sorted.

    With `topics`, only those topics, their partitions and their settings.
    """
    for kind in EntityKind:
        if kind not in kinds:
            continue
        for identity in sorted_identities(image, kind, objects_of(image, kind)):
            ref = EntityRef(kind, identity)
            if not topics or topic_of(image, ref) in topics:
                entity = entity_at(image, ref, secrets=secrets)
                assert entity is not None, "it was listed"
                yield entity


def objects_of(image: MetadataImage, kind: EntityKind) -> Mapping[Any, Any]:
    """Return the objects of a kind by identity; they compare equal across images if unchanged."""
    return _TABLES[kind].objects(image)


def sorted_identities(
    image: MetadataImage, kind: EntityKind, identities: Collection[Any]
) -> list[Any]:
    """Return identities of a kind in the order in which they are listed."""
    order = _TABLES[kind].order
    return sorted(identities, key=lambda identity: order(image, identity))


def entity_at(image: MetadataImage, ref: EntityRef, *, secrets: bool) -> Entity | None:
    """Return the entity of a reference; None if the image does not have it."""
    table = _TABLES[ref.kind]
    find = table.find
    found = find(image, ref.identity) if find else table.objects(image).get(ref.identity)
    if found is None:
        return None
    label, fields = table.view(image, ref.identity, found)
    return Entity(ref, label, fields if secrets else without_secrets(ref.kind, fields))


def without_secrets(kind: EntityKind, fields: EntityFields) -> EntityFields:
    """Return the fields of an entity with its secrets replaced."""
    if kind is EntityKind.SCRAM:
        return fields | dict.fromkeys(("salt", "storedKey", "serverKey"), REDACTED)
    if kind is EntityKind.CONFIG and is_secret_setting(fields["name"]):
        return fields | {"value": REDACTED}
    return fields


def topic_of(image: MetadataImage, ref: EntityRef) -> str | None:
    """Return the name of the topic that an entity belongs to; None if it belongs to none."""
    identity: Any = ref.identity
    match ref.kind:
        case EntityKind.TOPIC:
            topic = image.topics.by_id.get(identity)
        case EntityKind.PARTITION:
            topic = image.topics.by_id.get(identity[0])
        case EntityKind.CONFIG if identity[0] == TOPIC_CONFIG:
            return str(identity[1])
        case _:
            return None
    return topic.name if topic else None


def _topic_order(image: MetadataImage, identity: UUID) -> tuple[str, UUID]:
    return image.topics.by_id[identity].name, identity


def _partition_order(image: MetadataImage, identity: tuple[UUID, int]) -> tuple[str, UUID, int]:
    return image.topics.by_id[identity[0]].name, *identity


def _quota_order(image: MetadataImage, identity: tuple[QuotaEntity, str]) -> Any:
    entity, key = identity
    return [(kind, name is not None, name or "") for kind, name in entity], key


def _acl_order(image: MetadataImage, identity: UUID) -> Any:
    acl = image.acls[identity]
    return acl.resource_type, acl.resource_name, acl.principal, acl.operation, identity


def _all_partitions(image: MetadataImage) -> dict[tuple[UUID, int], PartitionRegistration]:
    return {
        (topic.id, number): partition
        for topic in image.topics.by_id.values()
        for number, partition in topic.partitions.items()
    }


def _all_configs(image: MetadataImage) -> dict[tuple[int, str, str], str]:
    return {
        (*resource, name): value
        for resource, settings in image.configs.items()
        for name, value in settings.items()
    }


def _all_quotas(image: MetadataImage) -> dict[tuple[QuotaEntity, str], float]:
    return {
        (entity, key): value
        for entity, limits in image.quotas.items()
        for key, value in limits.items()
    }


def _find_partition(
    image: MetadataImage, identity: tuple[UUID, int]
) -> PartitionRegistration | None:
    topic = image.topics.by_id.get(identity[0])
    return topic.partitions.get(identity[1]) if topic else None


def _next_ids(image: MetadataImage) -> dict[None, int]:
    return {} if image.next_producer_id is None else {None: image.next_producer_id}


_TABLES = {
    EntityKind.FEATURE: _Table(lambda image: image.features, views.feature),
    EntityKind.VOTER: _Table(lambda image: image.voters, views.voter),
    EntityKind.CONTROLLER: _Table(lambda image: image.controllers, views.controller),
    EntityKind.BROKER: _Table(lambda image: image.brokers.by_id, views.broker),
    EntityKind.TOPIC: _Table(lambda image: image.topics.by_id, views.topic, _topic_order),
    EntityKind.PARTITION: _Table(
        _all_partitions, views.partition, _partition_order, _find_partition
    ),
    EntityKind.CONFIG: _Table(
        _all_configs,
        views.config,
        find=lambda image, identity: image.configs.get(identity[:2], {}).get(identity[2]),
    ),
    EntityKind.QUOTA: _Table(
        _all_quotas,
        views.quota,
        _quota_order,
        lambda image, identity: image.quotas.get(identity[0], {}).get(identity[1]),
    ),
    EntityKind.ACL: _Table(lambda image: image.acls, views.acl, _acl_order),
    EntityKind.SCRAM: _Table(lambda image: image.scram, views.scram),
    EntityKind.TOKEN: _Table(lambda image: image.tokens, views.token),
    EntityKind.PRODUCER_IDS: _Table(_next_ids, views.producer_ids),
}
