"""Brokers, controllers and voters, and what records do to them.

A record that changes a broker must name the epoch of its registration. Directories are sorted by id
and endpoints by name, since Kafka writes them in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from uuid import UUID

from kraftwire.metadata.errors import CannotApply
from kraftwire_messages.kafka import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    VotersRecord,
)

FENCE, UNFENCE = 1, -1
_IN_CONTROLLED_SHUTDOWN = 1
_UNCHANGED = 0
_NAME = attrgetter("name")


@dataclass(frozen=True, slots=True)
class NodeEndpoint:
    """A listener of a node; those of voters have no security protocol."""

    name: str
    host: str
    port: int
    security_protocol: int | None = None


@dataclass(frozen=True, slots=True)
class SupportedRange:
    """The levels of a feature that a node supports."""

    min: int
    max: int


Features = dict[str, SupportedRange]


@dataclass(slots=True)
class BrokerRegistration:
    """A broker's registration."""

    id: int
    epoch: int
    incarnation_id: UUID
    endpoints: tuple[NodeEndpoint, ...]
    features: Features
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    is_migrating_zk_broker: bool
    log_dirs: tuple[UUID, ...]
    cordoned_log_dirs: tuple[UUID, ...]

    @classmethod
    def of(cls, record: RegisterBrokerRecord) -> BrokerRegistration:
        return cls(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            endpoints=_endpoints(record),
            features=_features(record),
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            is_migrating_zk_broker=record.is_migrating_zk_broker,
            log_dirs=tuple(sorted(record.log_dirs)),
            cordoned_log_dirs=tuple(record.cordoned_log_dirs or ()),
        )


@dataclass(slots=True)
class ControllerRegistration:
    """A controller's registration."""

    id: int
    incarnation_id: UUID
    zk_migration_ready: bool
    endpoints: tuple[NodeEndpoint, ...]
    features: Features

    @classmethod
    def of(cls, record: RegisterControllerRecord) -> ControllerRegistration:
        return cls(
            id=record.controller_id,
            incarnation_id=record.incarnation_id,
            zk_migration_ready=record.zk_migration_ready,
            endpoints=_endpoints(record),
            features=_features(record),
        )


@dataclass(frozen=True, slots=True)
class VoterRegistration:
    """A member of the quorum; `kraft_version` is the supported range."""

    id: int
    directory_id: UUID
    endpoints: tuple[NodeEndpoint, ...]
    kraft_version: SupportedRange

    @classmethod
    def of(cls, voter: VotersRecord.Voter) -> VoterRegistration:
        supported = voter.kraft_version_feature
        endpoints = (NodeEndpoint(at.name, at.host, at.port) for at in voter.endpoints)
        return cls(
            id=voter.voter_id,
            directory_id=voter.voter_directory_id,
            endpoints=tuple(sorted(endpoints, key=_NAME)),
            kraft_version=SupportedRange(
                supported.min_supported_version, supported.max_supported_version
            ),
        )


@dataclass(slots=True)
class Brokers:
    """All registered brokers."""

    by_id: dict[int, BrokerRegistration] = field(default_factory=dict)

    def register(self, record: RegisterBrokerRecord) -> None:
        self.by_id[record.broker_id] = BrokerRegistration.of(record)

    def fence(self, record: FenceBrokerRecord) -> None:
        self._broker(record.id, record.epoch).fenced = True

    def unfence(self, record: UnfenceBrokerRecord) -> None:
        self._broker(record.id, record.epoch).fenced = False

    def change(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self._broker(record.broker_id, record.broker_epoch)
        if record.fenced not in (FENCE, UNFENCE, _UNCHANGED):
            raise CannotApply(f"broker {broker.id}: unknown fencing change: {record.fenced}")
        if record.in_controlled_shutdown not in (_IN_CONTROLLED_SHUTDOWN, _UNCHANGED):
            number = record.in_controlled_shutdown
            raise CannotApply(f"broker {broker.id}: unknown controlled shutdown change: {number}")
        if record.fenced != _UNCHANGED:
            broker.fenced = record.fenced == FENCE
        if record.in_controlled_shutdown == _IN_CONTROLLED_SHUTDOWN:
            broker.in_controlled_shutdown = True
        if record.log_dirs:
            broker.log_dirs = tuple(sorted(record.log_dirs))
        if record.cordoned_log_dirs is not None:
            broker.cordoned_log_dirs = tuple(record.cordoned_log_dirs)

    def _broker(self, broker_id: int, epoch: int) -> BrokerRegistration:
        broker = self.by_id.get(broker_id)
        if broker is None:
            raise CannotApply(f"broker {broker_id} is not registered")
        if broker.epoch != epoch:
            raise CannotApply(f"broker {broker_id} has epoch {broker.epoch}, not {epoch}")
        return broker


def _endpoints(record: RegisterBrokerRecord | RegisterControllerRecord) -> tuple[NodeEndpoint, ...]:
    points = (
        NodeEndpoint(at.name, at.host, at.port, at.security_protocol) for at in record.end_points
    )
    return tuple(sorted(points, key=_NAME))


def _features(record: RegisterBrokerRecord | RegisterControllerRecord) -> Features:
    return {
        feature.name: SupportedRange(feature.min_supported_version, feature.max_supported_version)
        for feature in record.features
    }
