"""The entities of an image as fields that JSON can hold, named as in Kafka's records.

Each function returns an entity's label, which identifies it among its kind, and its fields,
secrets included: `entity` replaces them.
"""

from __future__ import annotations

import base64
import math
from typing import Any
from uuid import UUID

from kraftwire.metadata.state import names
from kraftwire.metadata.state.access import QuotaEntity, ScramCredential
from kraftwire.metadata.state.image import MetadataImage
from kraftwire.metadata.state.names import name_of
from kraftwire.metadata.state.nodes import (
    BrokerRegistration,
    ControllerRegistration,
    Features,
    NodeEndpoint,
    VoterRegistration,
)
from kraftwire.metadata.state.topics import PartitionRegistration, TopicImage
from kraftwire_messages.kafka import AccessControlEntryRecord, DelegationTokenRecord
from kraftwire_wire.uuids import format_uuid

EntityFields = dict[str, Any]
EntityView = tuple[str, EntityFields]


def feature(image: MetadataImage, name: str, level: int) -> EntityView:
    """A feature and its level."""
    return name, {"name": name, "level": level}


def voter(image: MetadataImage, voter_id: int, voter: VoterRegistration) -> EntityView:
    """A voter of the quorum."""
    return str(voter_id), {
        "id": voter_id,
        "directoryId": format_uuid(voter.directory_id),
        "endpoints": [_endpoint(at) for at in voter.endpoints],
        "kraftVersion": {"min": voter.kraft_version.min, "max": voter.kraft_version.max},
    }


def controller(image: MetadataImage, node: int, controller: ControllerRegistration) -> EntityView:
    """A controller's registration."""
    return str(node), {
        "id": node,
        "incarnationId": format_uuid(controller.incarnation_id),
        "zkMigrationReady": controller.zk_migration_ready,
        "endpoints": [_endpoint(at) for at in controller.endpoints],
        "features": _supported(controller.features),
    }


def broker(image: MetadataImage, node: int, broker: BrokerRegistration) -> EntityView:
    """A broker's registration."""
    return str(node), {
        "id": node,
        "epoch": broker.epoch,
        "incarnationId": format_uuid(broker.incarnation_id),
        "fenced": broker.fenced,
        "inControlledShutdown": broker.in_controlled_shutdown,
        "isMigratingZkBroker": broker.is_migrating_zk_broker,
        "rack": broker.rack,
        "endpoints": [_endpoint(at) for at in broker.endpoints],
        "features": _supported(broker.features),
        "logDirs": [*map(format_uuid, broker.log_dirs)],
        "cordonedLogDirs": [*map(format_uuid, broker.cordoned_log_dirs)],
    }


def topic(image: MetadataImage, identity: UUID, topic: TopicImage) -> EntityView:
    """A topic; its partitions are separate entities."""
    return topic.name, {
        "name": topic.name,
        "topicId": format_uuid(topic.id),
        "partitions": len(topic.partitions),
    }


def partition(
    image: MetadataImage, identity: tuple[UUID, int], partition: PartitionRegistration
) -> EntityView:
    """A partition."""
    topic_id, number = identity
    topic = image.topics.by_id[topic_id].name
    return f"{topic}-{number}", {
        "topic": topic,
        "partition": number,
        "topicId": format_uuid(topic_id),
        "leader": partition.leader,
        "leaderEpoch": partition.leader_epoch,
        "partitionEpoch": partition.partition_epoch,
        "leaderRecoveryState": name_of(names.RECOVERY_STATES, partition.leader_recovery_state),
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "eligibleLeaderReplicas": list(partition.eligible_leader_replicas),
        "lastKnownElr": list(partition.last_known_elr),
        "addingReplicas": list(partition.adding_replicas),
        "removingReplicas": list(partition.removing_replicas),
        "directories": [*map(format_uuid, partition.directories)],
    }


def config(image: MetadataImage, identity: tuple[int, str, str], value: str) -> EntityView:
    """One setting of one resource."""
    number, resource, name = identity
    kind = name_of(names.CONFIG_TYPES, number)
    return f"{kind} {resource or '(default)'} {name}", {
        "resourceType": kind,
        "resourceName": resource,
        "name": name,
        "value": value,
    }


def _number(value: float) -> float | str:
    """Return a limit; NaN and infinity as strings, since JSON has no such numbers."""
    return value if math.isfinite(value) else str(value)


def quota(image: MetadataImage, identity: tuple[QuotaEntity, str], value: float) -> EntityView:
    """One limit of one entity; the name of a default is null."""
    entity, key = identity
    who = ", ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in entity)
    return f"{who} {key}", {"entity": dict(entity), "key": key, "value": _number(value)}


def acl(image: MetadataImage, identity: UUID, acl: AccessControlEntryRecord) -> EntityView:
    """One rule of access control."""
    permission = name_of(names.PERMISSION_TYPES, acl.permission_type)
    operation = name_of(names.OPERATIONS, acl.operation)
    resource_type = name_of(names.RESOURCE_TYPES, acl.resource_type)
    pattern = name_of(names.PATTERN_TYPES, acl.pattern_type)
    label = f"{permission} {acl.principal} {operation} {resource_type} {acl.resource_name}"
    return label, {
        "id": format_uuid(identity),
        "resourceType": resource_type,
        "resourceName": acl.resource_name,
        "patternType": pattern,
        "principal": acl.principal,
        "host": acl.host,
        "operation": operation,
        "permissionType": permission,
    }


def scram(
    image: MetadataImage, identity: tuple[int, str], credential: ScramCredential
) -> EntityView:
    """A user's credential for one mechanism."""
    mechanism = name_of(names.MECHANISMS, identity[0])
    return f"{identity[1]} {mechanism}", {
        "name": identity[1],
        "mechanism": mechanism,
        "iterations": credential.iterations,
        "salt": _base64(credential.salt),
        "storedKey": _base64(credential.stored_key),
        "serverKey": _base64(credential.server_key),
    }


def token(image: MetadataImage, identity: str, token: DelegationTokenRecord) -> EntityView:
    """A delegation token."""
    return identity, {
        "tokenId": identity,
        "owner": token.owner,
        "requester": token.requester,
        "renewers": list(token.renewers),
        "issueTimestamp": token.issue_timestamp,
        "maxTimestamp": token.max_timestamp,
        "expirationTimestamp": token.expiration_timestamp,
    }


def producer_ids(image: MetadataImage, identity: None, next_id: int) -> EntityView:
    """The first producer id that no broker has reserved yet."""
    return "", {"nextProducerId": next_id}


def _endpoint(endpoint: NodeEndpoint) -> EntityFields:
    fields: EntityFields = {"name": endpoint.name, "host": endpoint.host, "port": endpoint.port}
    if endpoint.security_protocol is not None:
        protocol = name_of(names.SECURITY_PROTOCOLS, endpoint.security_protocol)
        fields["securityProtocol"] = protocol
    return fields


def _supported(features: Features) -> EntityFields:
    return {name: {"min": level.min, "max": level.max} for name, level in sorted(features.items())}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
