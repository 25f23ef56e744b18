"""The rows of `metadata_history`: what each record of a metadata log changed, table by table.

`HistoryTables` applies the records to a `MetadataImage`, in the order in which they take effect,
and adds rows for what each changed. `kraftwire.metadata` decides what a record does to an image;
this module only knows which table shows it. Records that cannot be applied add no rows.

A row is a tuple in the order of its table's schema. Rows begin with the record's offset and
timestamp, both None for the records of the snapshot that the history starts from.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

import pyarrow as pa

from kraftwire.columns.schema import ELEMENT
from kraftwire.metadata import CannotApply, MetadataImage
from kraftwire.metadata.records.replay import MetadataRecord
from kraftwire.metadata.state.nodes import FENCE, UNFENCE, BrokerRegistration, NodeEndpoint
from kraftwire.metadata.state.topics import PartitionRegistration, TopicImage
from kraftwire_messages import kafka
from kraftwire_wire.uuids import format_uuid
from pyspark_kraftwire.columns.spark_types import TIMESTAMP

CREATED, CHANGED, CLEARED, DELETED = "created", "changed", "elr cleared", "deleted"
REGISTERED, UNREGISTERED = "registered", "unregistered"
_FENCED, _UNFENCED, _SHUTTING_DOWN = "fenced", "unfenced", "shutting down"

TableRow = tuple[Any, ...]


def _list(of: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field(ELEMENT, of))


_IDS, _UUIDS = _list(pa.int32()), _list(pa.string())
_LISTENER = [("name", pa.string()), ("host", pa.string()), ("port", pa.int32())]
_WHEN = [("offset", pa.int64()), ("timestamp", TIMESTAMP)]
_PARTITION = [
    *_WHEN,
    ("topic", pa.string()),
    ("topicId", pa.string()),
    ("partition", pa.int32()),
    ("change", pa.string()),
]

TABLES: dict[str, pa.DataType] = {
    "topics": pa.struct(
        [
            ("topic", pa.string()),
            ("topicId", pa.string()),
            ("createdOffset", pa.int64()),
            ("createdTimestamp", TIMESTAMP),
            ("deletedOffset", pa.int64()),
            ("deletedTimestamp", TIMESTAMP),
        ]
    ),
    "partitions": pa.struct(
        [
            *_PARTITION,
            ("replicas", _IDS),
            ("addingReplicas", _IDS),
            ("removingReplicas", _IDS),
            ("directories", _UUIDS),
            ("partitionEpoch", pa.int32()),
        ]
    ),
    "leaders": pa.struct(
        [
            *_PARTITION,
            ("leader", pa.int32()),
            ("leaderEpoch", pa.int32()),
            ("isr", _IDS),
            ("eligibleLeaderReplicas", _IDS),
            ("lastKnownElr", _IDS),
            ("leaderRecoveryState", pa.int8()),
            ("previousLeader", pa.int32()),
            ("previousIsr", _IDS),
            ("partitionEpoch", pa.int32()),
        ]
    ),
    "brokers": pa.struct(
        [
            *_WHEN,
            ("brokerId", pa.int32()),
            ("brokerEpoch", pa.int64()),
            ("event", pa.string()),
            ("incarnationId", pa.string()),
            ("endPoints", _list(pa.struct([*_LISTENER, ("security_protocol", pa.int16())]))),
            ("rack", pa.string()),
            ("fenced", pa.bool_()),
            ("inControlledShutdown", pa.bool_()),
            ("logDirs", _UUIDS),
            ("cordonedLogDirs", _UUIDS),
        ]
    ),
    "voters": pa.struct(
        [
            *_WHEN,
            ("leaderEpoch", pa.int32()),
            ("voterId", pa.int32()),
            ("directoryId", pa.string()),
            ("endPoints", _list(pa.struct(_LISTENER))),
            ("minKraftVersion", pa.int16()),
            ("maxKraftVersion", pa.int16()),
        ]
    ),
    "leader_epochs": pa.struct(
        [
            *_WHEN,
            ("leaderEpoch", pa.int32()),
            ("leaderId", pa.int32()),
            ("voterIds", _IDS),
            ("grantingVoterIds", _IDS),
        ]
    ),
}
"""The tables by name, and the types of their columns."""

_Leadership = tuple[Any, ...]
_leadership: Callable[[PartitionRegistration], _Leadership] = attrgetter(
    "leader",
    "leader_epoch",
    "isr",
    "eligible_leader_replicas",
    "last_known_elr",
    "leader_recovery_state",
)
_assignment: Callable[[PartitionRegistration], tuple[Any, ...]] = attrgetter(
    "replicas", "adding_replicas", "removing_replicas", "directories"
)


class _State(NamedTuple):
    """The state of a partition that its last rows show; None and None after its deletion."""

    leadership: _Leadership | None
    assignment: tuple[Any, ...] | None


_NO_STATE = _State(None, None)
_NO_LEADERSHIP = (None,) * 6
_NO_ASSIGNMENT = (None,) * 4
_NO_BROKER = (None,) * 7


class HistoryTables:
    """Turns records into rows; the caller may remove rows from `rows` at any time.

    A topic's row shows its creation and its deletion, so `finish` adds the rows of all topics, in
    the order of their creation.
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[TableRow]] = {name: [] for name in TABLES}
        self._image = MetadataImage()
        self._states: dict[tuple[UUID, int], _State] = {}
        self._topics: list[list[Any]] = []
        self._existing: dict[UUID, list[Any]] = {}

    def add(self, entry: MetadataRecord, offset: int | None, timestamp: int | None) -> None:
        """Apply a record and add the rows for what it changed; `timestamp` is in ms."""
        handle = _HANDLERS.get(type(entry.message))
        try:
            if handle is None:
                self._image.apply(entry.message)
            else:
                handle(self, entry, (offset, timestamp))
        except CannotApply:
            pass  # Kafka ignores such a record too

    def finish(self) -> None:
        """Add the rows of the table `topics`."""
        self.rows["topics"] += [tuple(row) for row in self._topics]

    # -- topics and partitions ---------------------------------------------------------------

    def _create_topic(self, entry: MetadataRecord, when: TableRow) -> None:
        record = entry.message
        assert isinstance(record, kafka.TopicRecord)
        self._image.apply(record)
        row = [record.name, format_uuid(record.topic_id), *when, None, None]
        self._topics.append(row)
        self._existing[record.topic_id] = row

    def _remove_topic(self, entry: MetadataRecord, when: TableRow) -> None:
        record = entry.message
        assert isinstance(record, kafka.RemoveTopicRecord)
        topic = self._image.topics.topic(record.topic_id)
        self._image.apply(record)
        self._existing.pop(record.topic_id)[4:] = when
        for number in sorted(topic.partitions):
            self._add_partition_rows(topic, number, None, DELETED, when)

    def _change_partition(self, entry: MetadataRecord, when: TableRow) -> None:
        record = entry.message
        assert isinstance(record, kafka.PartitionRecord | kafka.PartitionChangeRecord)
        self._image.apply(record)
        change = CREATED if isinstance(record, kafka.PartitionRecord) else CHANGED
        topic = self._image.topics.by_id[record.topic_id]
        number = record.partition_id
        self._add_partition_rows(topic, number, topic.partitions[number], change, when)

    def _clear_elr(self, entry: MetadataRecord, when: TableRow) -> None:
        before = {
            (topic.id, number): partition.partition_epoch
            for topic in self._image.topics.by_id.values()
            for number, partition in topic.partitions.items()
        }
        self._image.apply(entry.message)
        for topic_id, number in sorted(before, key=self._name_and_number):
            topic = self._image.topics.by_id[topic_id]
            partition = topic.partitions[number]
            if partition.partition_epoch != before[topic_id, number]:
                self._add_partition_rows(topic, number, partition, CLEARED, when)

    def _name_and_number(self, key: tuple[UUID, int]) -> tuple[str, int]:
        return self._image.topics.by_id[key[0]].name, key[1]

    def _add_partition_rows(
        self,
        topic: TopicImage,
        number: int,
        partition: PartitionRegistration | None,
        change: str,
        when: TableRow,
    ) -> None:
        """Add rows for what changed in a partition; None means that it was deleted."""
        before = self._states.get((topic.id, number), _NO_STATE)
        now = _NO_STATE
        if partition is not None:
            now = _State(_leadership(partition), _assignment(partition))
        self._states[topic.id, number] = now
        epoch = None if partition is None else partition.partition_epoch
        which = (*when, topic.name, format_uuid(topic.id), number, change)
        always = change in (CREATED, DELETED)
        if always or now.assignment != before.assignment:
            *replicas, directories = now.assignment or _NO_ASSIGNMENT
            self.rows["partitions"].append((*which, *replicas, _uuid_strings(directories), epoch))
        if always or now.leadership != before.leadership:
            previous = before.leadership or _NO_LEADERSHIP
            shown = now.leadership or _NO_LEADERSHIP
            self.rows["leaders"].append((*which, *shown, previous[0], previous[2], epoch))

    # -- brokers -----------------------------------------------------------------------------

    def _change_broker(self, entry: MetadataRecord, when: TableRow) -> None:
        number, epoch, event = _BROKER_EVENTS[type(entry.message)](entry.message)
        if event == UNREGISTERED and number not in self._image.brokers.by_id:
            return
        self._image.apply(entry.message)
        broker = self._image.brokers.by_id.get(number)
        state = _NO_BROKER if broker is None else _state_of(broker)
        self.rows["brokers"].append((*when, number, epoch, event, *state))

    # -- the quorum --------------------------------------------------------------------------

    def _change_voters(self, entry: MetadataRecord, when: TableRow) -> None:
        self._image.apply(entry.message)
        for number, voter in sorted(self._image.voters.items()):
            row = (
                *(*when, entry.epoch, number, format_uuid(voter.directory_id)),
                [_listener(at) for at in voter.endpoints],
                *(voter.kraft_version.min, voter.kraft_version.max),
            )
            self.rows["voters"].append(row)

    def _change_leader(self, entry: MetadataRecord, when: TableRow) -> None:
        record = entry.message
        assert isinstance(record, kafka.LeaderChangeMessage)
        voters = [voter.voter_id for voter in record.voters]
        granting = [voter.voter_id for voter in record.granting_voters]
        row = (*when, entry.epoch, record.leader_id, voters, granting)
        self.rows["leader_epochs"].append(row)


_BROKER_EVENTS: dict[type, Callable[[Any], tuple[int, int, str]]] = {
    kafka.RegisterBrokerRecord: lambda one: (one.broker_id, one.broker_epoch, REGISTERED),
    kafka.UnregisterBrokerRecord: lambda one: (one.broker_id, one.broker_epoch, UNREGISTERED),
    kafka.FenceBrokerRecord: lambda one: (one.id, one.epoch, _FENCED),
    kafka.UnfenceBrokerRecord: lambda one: (one.id, one.epoch, _UNFENCED),
    kafka.BrokerRegistrationChangeRecord: (
        lambda one: (one.broker_id, one.broker_epoch, _change_of(one))
    ),
}
"""Return the broker's id, its epoch and the event of each record about brokers."""


def _change_of(record: kafka.BrokerRegistrationChangeRecord) -> str:
    if record.fenced in (FENCE, UNFENCE):
        return _FENCED if record.fenced == FENCE else _UNFENCED
    return _SHUTTING_DOWN if record.in_controlled_shutdown else CHANGED


_HANDLERS: dict[type, Callable[[HistoryTables, MetadataRecord, TableRow], None]] = {
    kafka.TopicRecord: HistoryTables._create_topic,
    kafka.RemoveTopicRecord: HistoryTables._remove_topic,
    kafka.PartitionRecord: HistoryTables._change_partition,
    kafka.PartitionChangeRecord: HistoryTables._change_partition,
    kafka.ClearElrRecord: HistoryTables._clear_elr,
    kafka.VotersRecord: HistoryTables._change_voters,
    kafka.LeaderChangeMessage: HistoryTables._change_leader,
    **dict.fromkeys(_BROKER_EVENTS, HistoryTables._change_broker),
}
"""The records that some table shows; the others are only applied."""


def _uuid_strings(ids: tuple[UUID, ...] | None) -> list[str] | None:
    return None if ids is None else [format_uuid(one) for one in ids]


def _listener(at: NodeEndpoint) -> dict[str, object]:
    return {"name": at.name, "host": at.host, "port": at.port}


def _state_of(broker: BrokerRegistration) -> TableRow:
    """Return the columns of the table `brokers` that show the registration."""
    return (
        format_uuid(broker.incarnation_id),
        [{**_listener(at), "security_protocol": at.security_protocol} for at in broker.endpoints],
        broker.rack,
        broker.fenced,
        broker.in_controlled_shutdown,
        _uuid_strings(broker.log_dirs),
        _uuid_strings(broker.cordoned_log_dirs),
    )
