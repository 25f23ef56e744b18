"""The metadata of a cluster at one offset, and what each record does to it.

Records change an image in place, as they change that of Kafka's brokers. Each takes constant time,
except those about whole topics. A record that does not fit raises `CannotApply`, and the image
stays as it was.

Two images are equal if the metadata is. The origin (`provenance`) is not compared, nor is the
leader of the quorum, which snapshots do not contain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kraftwire.metadata.errors import CannotApply
from kraftwire.metadata.state.access import QuotaEntity, ScramCredential, quota_entity
from kraftwire.metadata.state.names import TOPIC_CONFIG
from kraftwire.metadata.state.nodes import Brokers, ControllerRegistration, VoterRegistration
from kraftwire.metadata.state.topics import Topics
from kraftwire_messages import kafka
from kraftwire_wire.message import Message
from kraftwire_wire.uuids import format_uuid

KRAFT_VERSION = "kraft.version"
"""A feature whose level is in control records; feature records that name it are ignored."""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A metadata transaction without an end: its records are not applied."""

    name: str | None
    offset: int
    """The offset of the record that begins it."""
    records: int
    """How many records followed so far."""


@dataclass(slots=True)
class Provenance:
    """The origin of an image; unknown fields are None."""

    offset: int = 0
    """The offset after the last record in the image."""
    epoch: int | None = None
    timestamp: int | None = None
    """That of the last record, in ms."""
    snapshot: int | None = None
    """The end offset of the snapshot that the image was built on."""
    cluster_id: str | None = None
    node_id: int | None = None
    transaction: OpenTransaction | None = None


@dataclass(slots=True)
class MetadataImage:
    """The metadata of a cluster."""

    features: dict[str, int] = field(default_factory=dict)
    """Levels, including that of `kraft.version`; features at level 0 are absent."""
    voters: dict[int, VoterRegistration] = field(default_factory=dict)
    brokers: Brokers = field(default_factory=Brokers)
    controllers: dict[int, ControllerRegistration] = field(default_factory=dict)
    topics: Topics = field(default_factory=Topics)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    """Settings by resource type and resource name; the name "" is the default."""
    quotas: dict[QuotaEntity, dict[str, float]] = field(default_factory=dict)
    acls: dict[UUID, kafka.AccessControlEntryRecord] = field(default_factory=dict)
    scram: dict[tuple[int, str], ScramCredential] = field(default_factory=dict)
    """Credentials by mechanism and user."""
    tokens: dict[str, kafka.DelegationTokenRecord] = field(default_factory=dict)
    next_producer_id: int | None = None
    leader: int | None = field(default=None, compare=False)
    provenance: Provenance = field(default_factory=Provenance, compare=False)

    def apply(self, message: Message) -> None:
        """Apply a metadata record or control record.

        Records that begin and end transactions do nothing: `MetadataTransactions` decides which
        records are applied. Raise `CannotApply` if a record does not fit.
        """
        effect = _EFFECTS.get(type(message))
        if effect is None:
            raise CannotApply(f"{type(message).__name__} is not a record of cluster metadata")
        effect(self, message)

    def _set_feature(self, name: str, level: int) -> None:
        if level:
            self.features[name] = level
        else:
            self.features.pop(name, None)

    def _feature_level(self, record: kafka.FeatureLevelRecord) -> None:
        if record.name != KRAFT_VERSION:
            self._set_feature(record.name, record.feature_level)

    def _remove_topic(self, record: kafka.RemoveTopicRecord) -> None:
        topic = self.topics.remove(record)
        self.configs.pop((TOPIC_CONFIG, topic.name), None)

    def _config(self, record: kafka.ConfigRecord) -> None:
        resource = record.resource_type, record.resource_name
        if record.value is not None:
            self.configs.setdefault(resource, {})[record.name] = record.value
        else:
            _remove_from(self.configs, resource, record.name)

    def _quota(self, record: kafka.ClientQuotaRecord) -> None:
        entity = quota_entity(record)
        if record.remove:
            _remove_from(self.quotas, entity, record.key)
        else:
            self.quotas.setdefault(entity, {})[record.key] = record.value

    def _remove_acl(self, record: kafka.RemoveAccessControlEntryRecord) -> None:
        if self.acls.pop(record.id, None) is None:
            raise CannotApply(f"there is no ACL with id {format_uuid(record.id)}")

    def _voters(self, record: kafka.VotersRecord) -> None:
        self.voters = {voter.voter_id: VoterRegistration.of(voter) for voter in record.voters}

    def _leader(self, record: kafka.LeaderChangeMessage) -> None:
        self.leader = record.leader_id

    def _producer_ids(self, record: kafka.ProducerIdsRecord) -> None:
        self.next_producer_id = record.next_producer_id


def _remove_from(table: dict[Any, dict[str, Any]], key: Any, name: str) -> None:
    names = table.get(key)
    if names is not None:
        names.pop(name, None)
        if not names:
            del table[key]


def _nothing(image: MetadataImage, message: Message) -> None:
    """Change nothing."""


_EFFECTS: dict[type[Message], Callable[[MetadataImage, Any], None]] = {
    kafka.FeatureLevelRecord: MetadataImage._feature_level,
    kafka.RegisterBrokerRecord: lambda image, record: image.brokers.register(record),
    kafka.UnregisterBrokerRecord: lambda image, record: _drop(
        image.brokers.by_id, record.broker_id
    ),
    kafka.FenceBrokerRecord: lambda image, record: image.brokers.fence(record),
    kafka.UnfenceBrokerRecord: lambda image, record: image.brokers.unfence(record),
    kafka.BrokerRegistrationChangeRecord: lambda image, record: image.brokers.change(record),
    kafka.RegisterControllerRecord: lambda image, record: _put(
        image.controllers, record.controller_id, ControllerRegistration.of(record)
    ),
    kafka.UnregisterControllerRecord: lambda image, record: _drop(
        image.controllers, record.controller_id
    ),
    kafka.TopicRecord: lambda image, record: image.topics.add(record),
    kafka.RemoveTopicRecord: MetadataImage._remove_topic,
    kafka.PartitionRecord: lambda image, record: image.topics.add_partition(record),
    kafka.PartitionChangeRecord: lambda image, record: image.topics.change_partition(record),
    kafka.ClearElrRecord: lambda image, record: image.topics.clear_elr(record),
    kafka.ConfigRecord: MetadataImage._config,
    kafka.ClientQuotaRecord: MetadataImage._quota,
    kafka.AccessControlEntryRecord: lambda image, record: _put(image.acls, record.id, record),
    kafka.RemoveAccessControlEntryRecord: MetadataImage._remove_acl,
    kafka.UserScramCredentialRecord: lambda image, record: _put(
        image.scram, (record.mechanism, record.name), ScramCredential.of(record)
    ),
    kafka.RemoveUserScramCredentialRecord: lambda image, record: _drop(
        image.scram, (record.mechanism, record.name)
    ),
    kafka.DelegationTokenRecord: lambda image, record: _put(image.tokens, record.token_id, record),
    kafka.RemoveDelegationTokenRecord: lambda image, record: _drop(image.tokens, record.token_id),
    kafka.ProducerIdsRecord: MetadataImage._producer_ids,
    kafka.KRaftVersionRecord: lambda image, record: image._set_feature(
        KRAFT_VERSION, record.kraft_version
    ),
    kafka.VotersRecord: MetadataImage._voters,
    kafka.LeaderChangeMessage: MetadataImage._leader,
    kafka.NoOpRecord: _nothing,
    kafka.BeginTransactionRecord: _nothing,
    kafka.EndTransactionRecord: _nothing,
    kafka.AbortTransactionRecord: _nothing,
    kafka.SnapshotHeaderRecord: _nothing,
    kafka.SnapshotFooterRecord: _nothing,
    # Kafka 4.0 removed ZooKeeper; its image ignores this record.
    kafka.ZkMigrationStateRecord: _nothing,
}


def _put(table: dict[Any, Any], key: object, value: object) -> None:
    table[key] = value


def _drop(table: dict[Any, Any], key: object) -> None:
    table.pop(key, None)
