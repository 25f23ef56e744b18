"""Topics and partitions over time, out of the records of a metadata log that took effect.

As in Kafka: a field that a change leaves unset stays as it was (null, -2 for the leader, -1
for the recovery state); every change raises the partition epoch, and one that names a leader
the leader epoch. Records about what is not there do nothing.
"""

from __future__ import annotations

from uuid import UUID

from pyspark.sql import DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from kraftwire.log.properties import format_uuid
from kraftwire.metadata.topics import NO_LEADER_CHANGE
from pyspark_kraftwire.jobs.metadata_log import SEQUENCE

CREATED, CHANGED, CLEARED, DELETED = "created", "changed", "elr cleared", "deleted"

_NO_RECOVERY_CHANGE = -1
_NOWHERE = UUID(int=0)
_ASSIGNMENT = ("replicas", "addingReplicas", "removingReplicas", "directories")
_LEADERSHIP = (
    "leader",
    "leaderEpoch",
    "isr",
    "eligibleLeaderReplicas",
    "lastKnownElr",
    "leaderRecoveryState",
)
_FIELDS = {
    "replicas": "replicas",
    "addingReplicas": "adding_replicas",
    "removingReplicas": "removing_replicas",
    "directories": "directories",
    "isr": "isr",
    "eligibleLeaderReplicas": "eligible_leader_replicas",
    "lastKnownElr": "last_known_elr",
    "leader": "leader",
    "leaderRecoveryState": "leader_recovery_state",
}
"""What a record says of a partition, and what that is called in the messages."""

_WHERE = (SEQUENCE, "offset", "timestamp")
_KEY = ("topicId", "partition")
_LIFE = (*_KEY, "_created")
_ELIGIBLE = ("eligibleLeaderReplicas", "lastKnownElr")
_NEVER = (1 << 63) - 1


def topics(records: DataFrame) -> DataFrame:
    """Each topic, when it was created, and when it was deleted."""
    return _lives(records).select(
        SEQUENCE,
        "topic",
        "topicId",
        F.col("offset").alias("createdOffset"),
        F.col("timestamp").alias("createdTimestamp"),
        F.when(F.col("_end.is_removal"), F.col("_end.offset")).alias("deletedOffset"),
        F.when(F.col("_end.is_removal"), F.col("_end.timestamp")).alias("deletedTimestamp"),
    )


def _lives(records: DataFrame) -> DataFrame:
    """Topics from the record that creates each to the next with its id, which is `_end`."""
    created = _of(records, "TopicRecord", name="topic", topic_id="topicId")
    removed = _of(records, "RemoveTopicRecord", topic_id="topicId")
    events = created.withColumn("is_removal", F.lit(False)).unionByName(
        removed.withColumn("is_removal", F.lit(True)), allowMissingColumns=True
    )
    following = F.lead(F.struct("is_removal", *_WHERE))
    events = events.withColumn(
        "_end", following.over(Window.partitionBy("topicId").orderBy(SEQUENCE))
    )
    return events.where(~F.col("is_removal")).drop("is_removal")


def partition_states(records: DataFrame) -> DataFrame:
    """Each partition as it was after every record that changed it."""
    events = _events(records)
    key = Window.partitionBy(*_LIFE).orderBy(SEQUENCE)
    begins = F.col("change").isin(CREATED, DELETED).cast("int")
    events = events.withColumn("_life", F.sum(begins).over(key))
    life = Window.partitionBy(*_LIFE, "_life").orderBy(SEQUENCE)
    so_far = life.rowsBetween(Window.unboundedPreceding, 0)
    first = F.first("change").over(so_far)
    states = events.withColumn("_first", first).where(F.col("_first").isin(CREATED, DELETED))
    for name in _FIELDS:
        if name != "directories":
            states = states.withColumn(name, F.last(name, ignorenulls=True).over(so_far))
    states = _with_directories(states, so_far)
    states = _without_idle(states, life)
    states = _with_epochs(states, so_far)
    return states.select(
        *_WHERE, "topic", *_KEY, "change", *_ASSIGNMENT, *_LEADERSHIP, "partitionEpoch"
    )


def _of(records: DataFrame, message: str, **fields: str) -> DataFrame:
    """The records of a kind, with some of their fields."""
    chosen = (F.col(f"{message}.{name}").alias(alias) for name, alias in fields.items())
    return records.where(F.col("type") == message).select(*_WHERE, *chosen)


def _events(records: DataFrame) -> DataFrame:
    """What happened to partitions of topics that were there: a row for each partition."""
    lives = _lives(records).select(
        "topicId",
        "topic",
        F.col(SEQUENCE).alias("_created"),
        F.coalesce(f"_end.{SEQUENCE}", F.lit(_NEVER)).alias("_ended"),
    )
    described = _there(_described(records).join(lives, "topicId"))
    known = described.groupBy("topic", *_LIFE, "_ended").agg(F.min(SEQUENCE).alias("_since"))
    found = described.unionByName(_there(_changed(records).join(lives, "topicId")))
    removed = _of(records, "RemoveTopicRecord", topic_id="topicId").join(known, "topicId")
    cleared = _cleared(records, lives).join(known, ["topicId", "_created"])
    for some, change in ((removed, DELETED), (cleared, CLEARED)):
        there = _there(some.where(F.col(SEQUENCE) > F.col("_since")).drop("_since"))
        there = there.withColumn("change", F.lit(change))
        if change == CLEARED:
            for name in _ELIGIBLE:
                there = there.withColumn(name, F.array().cast("array<int>"))
        found = found.unionByName(there, allowMissingColumns=True)
    return found


def _there(events: DataFrame) -> DataFrame:
    """The events that came while their topic was there."""
    sequence = F.col(SEQUENCE)
    return events.where((sequence > F.col("_created")) & (sequence <= F.col("_ended")))


def _cleared(records: DataFrame, lives: DataFrame) -> DataFrame:
    """Of which topics eligible leader replicas are cleared: of one by its name, or of all."""
    found = _of(records, "ClearElrRecord", topic_name="_name")
    some = F.broadcast(lives.select("topicId", "_created", F.col("topic").alias("_of")))
    is_all = F.col("_name") == ""
    fits = (is_all | (F.col("_name") == F.col("_of"))) & (F.col(SEQUENCE) > F.col("_created"))
    found = found.join(some, fits)
    # A name stands for the last topic that was created with it.
    newest = Window.partitionBy(SEQUENCE).orderBy(F.desc("_created"))
    found = found.withColumn("_number", F.row_number().over(newest))
    return found.where(is_all | (F.col("_number") == 1)).drop("_name", "_of", "_number")


def _described(records: DataFrame) -> DataFrame:
    fields = {"topic_id": "topicId", "partition_id": "partition"}
    fields |= {message: name for name, message in _FIELDS.items()}
    epochs = {"leader_epoch": "_leaderEpoch", "partition_epoch": "_partitionEpoch"}
    found = _of(records, "PartitionRecord", **fields, **epochs)
    for name in _ELIGIBLE:
        found = found.withColumn(name, F.coalesce(name, F.array().cast("array<int>")))
    empty = F.array().cast("array<string>")
    found = found.withColumn("directories", F.coalesce("directories", empty))
    return found.withColumn("_elected", F.lit(False)).withColumn("change", F.lit(CREATED))


def _changed(records: DataFrame) -> DataFrame:
    fields = {"topic_id": "topicId", "partition_id": "partition"}
    fields |= {message: name for name, message in _FIELDS.items()}
    found = _of(records, "PartitionChangeRecord", **fields)
    unset = {"leader": NO_LEADER_CHANGE, "leaderRecoveryState": _NO_RECOVERY_CHANGE}
    for name, number in unset.items():
        found = found.withColumn(name, F.when(F.col(name) != number, F.col(name)))
    # Which of the filled values were given: the leader epoch counts them.
    found = found.withColumn("_elected", F.col("leader").isNotNull())
    for name in ("_leaderEpoch", "_partitionEpoch"):
        found = found.withColumn(name, F.lit(None).cast("int"))
    return found.withColumn("change", F.lit(CHANGED))


def _with_directories(states: DataFrame, so_far: WindowSpec) -> DataFrame:
    """Where nobody says the directories of replicas, each has the id of all zeros."""
    unknown = F.array_repeat(F.lit(format_uuid(_NOWHERE)), F.size("replicas"))
    given = F.when(F.size("directories") == 0, unknown).otherwise(F.col("directories"))
    given = F.when(F.col("directories").isNotNull(), given)
    return states.withColumn("directories", given).withColumn(
        "directories", F.last("directories", ignorenulls=True).over(so_far)
    )


def _without_idle(states: DataFrame, life: WindowSpec) -> DataFrame:
    """Clearing eligible leader replicas does nothing where there are none."""
    had = F.lit(False)
    for name in _ELIGIBLE:
        had = had | (F.coalesce(F.size(F.lag(name).over(life)), F.lit(0)) > 0)
    states = states.withColumn("_had", had)
    return states.where((F.col("change") != CLEARED) | F.col("_had"))


def _with_epochs(states: DataFrame, so_far: WindowSpec) -> DataFrame:
    elected = F.sum(F.coalesce(F.col("_elected"), F.lit(False)).cast("int")).over(so_far)
    changed = F.sum(F.col("change").isin(CHANGED, CLEARED).cast("int")).over(so_far)
    leader_epoch = F.first("_leaderEpoch").over(so_far) + elected
    partition_epoch = F.first("_partitionEpoch").over(so_far) + changed
    states = states.withColumn("leaderEpoch", leader_epoch.cast("int"))
    return states.withColumn("partitionEpoch", partition_epoch.cast("int"))


def _that_differ(states: DataFrame, names: tuple[str, ...]) -> DataFrame:
    """The states in which some columns are not as in the state before."""
    key = Window.partitionBy(*_KEY).orderBy(SEQUENCE)
    now = F.struct(*names)
    is_edge = F.col("change").isin(CREATED, DELETED)
    return states.withColumn("_differs", is_edge | ~now.eqNullSafe(F.lag(now).over(key)))


def assignments(states: DataFrame) -> DataFrame:
    """The replicas of partitions over time, with the directories that they are in."""
    found = _that_differ(states, _ASSIGNMENT).where("_differs")
    return found.select(*_WHERE, "topic", *_KEY, "change", *_ASSIGNMENT, "partitionEpoch")


def leaderships(states: DataFrame) -> DataFrame:
    """Leaders and in-sync replicas over time, with the leader and the ISR before."""
    key = Window.partitionBy(*_KEY).orderBy(SEQUENCE)
    found = _that_differ(states, _LEADERSHIP)
    found = found.withColumn("previousLeader", F.lag("leader").over(key))
    found = found.withColumn("previousIsr", F.lag("isr").over(key)).where("_differs")
    previous = ("previousLeader", "previousIsr")
    return found.select(
        *_WHERE, "topic", *_KEY, "change", *_LEADERSHIP, *previous, "partitionEpoch"
    )
