"""What differs between two images.

Entities are compared by the identity that Kafka gives them. A topic's is its id, so one that was
deleted and created again is a topic removed and another added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from kraftwire.metadata.entities.entity import (
    Entity,
    EntityKind,
    EntityRef,
    entity_at,
    objects_of,
    sorted_identities,
    topic_of,
    without_secrets,
)
from kraftwire.metadata.entities.views import EntityFields
from kraftwire.metadata.state.image import MetadataImage


class EntityChange(NamedTuple):
    """One entity that was added (`before` is None), removed (`after` is None) or changed."""

    ref: EntityRef
    label: str
    before: EntityFields | None
    after: EntityFields | None
    changed: tuple[str, ...]
    """The names of the fields that differ; empty unless both sides exist."""

    @property
    def kind(self) -> EntityKind:
        return self.ref.kind

    @property
    def verb(self) -> str:
        """`added`, `removed` or `changed`."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


def diff_images(
    before: MetadataImage,
    after: MetadataImage,
    kinds: Collection[EntityKind] = tuple(EntityKind),
    *,
    topics: Collection[str] = (),
    secrets: bool = False,
) -> Iterator[EntityChange]:
    """Yield the differences, kind by kind: removed entities, then added and changed ones.

    With `topics`, only those topics, their partitions and their settings.
    """
    for kind in EntityKind:
        if kind not in kinds:
            continue
        old, new = objects_of(before, kind), objects_of(after, kind)
        gone = [identity for identity in old if identity not in new]
        rest = [at for at, found in new.items() if at not in old or old[at] != found]
        for image, identities in ((before, gone), (after, rest)):
            for identity in sorted_identities(image, kind, identities):
                ref = EntityRef(kind, identity)
                if topics and topic_of(image, ref) not in topics:
                    continue
                old_one = entity_at(before, ref, secrets=True)
                new_one = entity_at(after, ref, secrets=True)
                change = compare(old_one, new_one, secrets=secrets)
                if change is not None:
                    yield change


def compare(
    before: Entity | None, after: Entity | None, *, secrets: bool = False
) -> EntityChange | None:
    """Return the change between two states of an entity, which have their secrets."""
    entity = after or before
    if entity is None:
        return None
    changed: tuple[str, ...] = ()
    if before is not None and after is not None:
        changed = tuple(
            name for name, value in after.fields.items() if before.fields[name] != value
        )
        if not changed:
            return None
    return EntityChange(
        entity.ref, entity.label, _shown(before, secrets), _shown(after, secrets), changed
    )


def _shown(entity: Entity | None, secrets: bool) -> EntityFields | None:
    if entity is None or secrets:
        return entity.fields if entity else None
    return without_secrets(entity.kind, entity.fields)
