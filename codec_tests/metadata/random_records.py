"""Random metadata records that hit one another: few ids, so that most meet something there."""

from __future__ import annotations

import random
from collections.abc import Callable
from uuid import UUID

from kraftwire_messages import kafka
from kraftwire_wire.message import Message

FIRST = kafka.FeatureLevelRecord(name="metadata.version", feature_level=33)
"""What every log of metadata begins with."""


class RandomRecords:
    """A source of records; the same seed gives the same."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._epoch = 0
        self._epochs: dict[int, int] = {}

    def take(self, count: int) -> list[Message]:
        """Some records, behind the one that says the metadata version."""
        return [FIRST, *(self._rng.choice(self._kinds)() for _ in range(count))]

    @property
    def _kinds(self) -> list[Callable[[], Message]]:
        return [
            self._topic,
            *[self._partition] * 2,
            *[self._change] * 5,
            lambda: self._rarely(self._remove_topic, self._change),
            lambda: self._rarely(self._clear_elr, self._change),
            *[self._register_broker] * 2,
            lambda: self._rarely(self._unregister_broker, self._register_broker),
            self._fence,
            self._unfence,
            self._change_broker,
            self._register_controller,
            lambda: kafka.UnregisterControllerRecord(controller_id=self._node()),
            self._config,
            self._quota,
            self._acl,
            lambda: kafka.RemoveAccessControlEntryRecord(id=self._uuid(30)),
            self._scram,
            lambda: kafka.RemoveUserScramCredentialRecord(
                name=self._name("user", 6), mechanism=self._rng.randint(1, 2)
            ),
            self._token,
            lambda: kafka.RemoveDelegationTokenRecord(token_id=self._name("token", 6)),
            self._feature,
            lambda: kafka.ProducerIdsRecord(
                broker_id=1, broker_epoch=1, next_producer_id=self._rng.randint(1, 99_999)
            ),
            kafka.NoOpRecord,
        ]

    # -- parts -----------------------------------------------------------------------------

    def _rarely(self, one: Callable[[], Message], other: Callable[[], Message]) -> Message:
        return one() if self._rng.random() < 0.3 else other()

    def _name(self, stem: str, count: int) -> str:
        return f"{stem}{self._rng.randint(1, count)}"

    def _uuid(self, count: int) -> UUID:
        return UUID(int=100 + self._rng.randint(1, count))

    def _node(self) -> int:
        return self._rng.randint(1, 4)

    def _nodes(self) -> list[int]:
        return self._rng.sample(range(1, 7), self._rng.randint(0, 4))

    def _replicas(self) -> list[int]:
        return self._rng.sample(range(1, 7), self._rng.randint(1, 4))

    def _maybe(self, make: Callable[[], list[int]]) -> list[int] | None:
        return make() if self._rng.random() < 0.4 else None

    def _directories(self) -> list[UUID]:
        return [UUID(int=1000 + number) for number in self._nodes()]

    def _broker_epoch(self, broker: int) -> int:
        """The right one, mostly."""
        return self._epochs.get(broker, 1) if self._rng.random() < 0.9 else 7777

    # -- topics ----------------------------------------------------------------------------

    def _topic(self) -> Message:
        number = self._rng.randint(1, 5)
        return kafka.TopicRecord(name=f"topic{number}", topic_id=UUID(int=100 + number))

    def _remove_topic(self) -> Message:
        return kafka.RemoveTopicRecord(topic_id=self._uuid(5))

    def _clear_elr(self) -> Message:
        return kafka.ClearElrRecord(topic_name=self._rng.choice(["", self._name("topic", 5)]))

    def _partition(self) -> Message:
        replicas = self._replicas()
        placed = self._rng.random() < 0.8
        return kafka.PartitionRecord(
            partition_id=self._rng.randint(0, 2),
            topic_id=self._uuid(5),
            replicas=replicas,
            isr=replicas[: self._rng.randint(0, 4)],
            removing_replicas=self._nodes(),
            adding_replicas=self._nodes(),
            leader=self._rng.choice([-1, 1, 2, 3]),
            leader_recovery_state=self._rng.randint(0, 1),
            leader_epoch=self._rng.randint(0, 9),
            partition_epoch=self._rng.randint(0, 9),
            directories=[UUID(int=1000 + node) for node in replicas] if placed else [],
            eligible_leader_replicas=self._maybe(self._nodes),
            last_known_elr=self._maybe(self._nodes),
        )

    def _change(self) -> Message:
        replicas = self._maybe(self._replicas)
        return kafka.PartitionChangeRecord(
            partition_id=self._rng.randint(0, 2),
            topic_id=self._uuid(5),
            isr=self._maybe(self._nodes),
            leader=self._rng.choice([-2, -2, -1, 1, 2]),
            replicas=replicas,
            removing_replicas=self._maybe(self._nodes),
            adding_replicas=self._maybe(self._nodes),
            leader_recovery_state=self._rng.choice([-1, -1, 0, 1]),
            directories=[UUID(int=2000 + node) for node in replicas] if replicas else None,
            eligible_leader_replicas=self._maybe(self._nodes),
            last_known_elr=self._maybe(self._nodes),
        )

    # -- nodes -----------------------------------------------------------------------------

    def _register_broker(self) -> Message:
        broker = self._node()
        self._epoch += 1
        self._epochs[broker] = self._epoch
        record = kafka.RegisterBrokerRecord
        return record(
            broker_id=broker,
            incarnation_id=UUID(int=self._epoch),
            broker_epoch=self._epoch,
            end_points=[
                record.BrokerEndpoint(name=name, host="host", port=9092, security_protocol=0)
                for name in self._rng.sample(["A", "B", "C"], self._rng.randint(1, 3))
            ],
            features=[
                record.BrokerFeature(name=name, min_supported_version=0, max_supported_version=3)
                for name in self._rng.sample(["a", "b", "c"], self._rng.randint(0, 3))
            ],
            rack=self._rng.choice([None, "", "rack"]),
            fenced=self._rng.random() < 0.5,
            in_controlled_shutdown=self._rng.random() < 0.2,
            log_dirs=self._directories(),
        )

    def _unregister_broker(self) -> Message:
        broker = self._node()
        epoch = self._broker_epoch(broker)
        return kafka.UnregisterBrokerRecord(broker_id=broker, broker_epoch=epoch)

    def _fence(self) -> Message:
        broker = self._node()
        return kafka.FenceBrokerRecord(id=broker, epoch=self._broker_epoch(broker))

    def _unfence(self) -> Message:
        broker = self._node()
        return kafka.UnfenceBrokerRecord(id=broker, epoch=self._broker_epoch(broker))

    def _change_broker(self) -> Message:
        broker = self._node()
        return kafka.BrokerRegistrationChangeRecord(
            broker_id=broker,
            broker_epoch=self._broker_epoch(broker),
            fenced=self._rng.choice([-1, 0, 1]),
            in_controlled_shutdown=self._rng.choice([0, 1]),
            log_dirs=self._directories(),
        )

    def _register_controller(self) -> Message:
        record = kafka.RegisterControllerRecord
        return record(
            controller_id=self._node(),
            incarnation_id=self._uuid(9),
            end_points=[record.ControllerEndpoint(name="C", host="host", port=9093)],
            features=[record.ControllerFeature(name="a", max_supported_version=2)],
        )

    # -- everything else -------------------------------------------------------------------

    def _config(self) -> Message:
        return kafka.ConfigRecord(
            resource_type=self._rng.choice([2, 4, 16, 32]),
            resource_name=self._name("topic", 6),
            name=self._name("setting", 3),
            value=self._rng.choice([None, "", "x", "y"]),
        )

    def _quota(self) -> Message:
        kinds = self._rng.sample(["user", "client-id", "ip"], self._rng.randint(1, 2))
        names = (None, "one", "two")
        return kafka.ClientQuotaRecord(
            entity=[
                kafka.ClientQuotaRecord.EntityData(
                    entity_type=kind, entity_name=self._rng.choice(names)
                )
                for kind in kinds
            ],
            key=self._name("quota", 2),
            value=self._rng.choice([1.5, 2.5]),
            remove=self._rng.random() < 0.4,
        )

    def _acl(self) -> Message:
        return kafka.AccessControlEntryRecord(
            id=self._uuid(30),
            resource_type=self._rng.randint(2, 7),
            resource_name="thing",
            pattern_type=self._rng.choice([3, 4]),
            principal="User:a",
            host="*",
            operation=self._rng.randint(2, 15),
            permission_type=self._rng.randint(2, 3),
        )

    def _scram(self) -> Message:
        return kafka.UserScramCredentialRecord(
            name=self._name("user", 6),
            mechanism=self._rng.randint(1, 2),
            salt=b"salt",
            stored_key=b"key",
            server_key=b"key",
            iterations=self._rng.randint(4096, 5000),
        )

    def _token(self) -> Message:
        return kafka.DelegationTokenRecord(
            owner="User:a",
            requester="User:b",
            renewers=["User:c"],
            issue_timestamp=self._rng.randint(1, 9),
            max_timestamp=9,
            expiration_timestamp=9,
            token_id=self._name("token", 6),
        )

    def _feature(self) -> Message:
        names = ["group.version", "share.version", "kraft.version", "custom"]
        return kafka.FeatureLevelRecord(
            name=self._rng.choice(names), feature_level=self._rng.randint(0, 2)
        )
