"""Brokers, voters and leader epochs over time, out of the records of a metadata log.

A change of a broker names the epoch of the registration that it is about; one that names
another epoch, or fences in a way there is not, does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from kraftwire.metadata.nodes import FENCE, UNFENCE
from pyspark_kraftwire.jobs.metadata_log import SEQUENCE

REGISTERED, UNREGISTERED = "registered", "unregistered"
_FENCED, _UNFENCED = "fenced", "unfenced"
_SHUTTING_DOWN, _CHANGED = "shutting down", "changed"
_WHERE = (SEQUENCE, "offset", "timestamp")

_END_POINT = "struct<name: string, host: string, port: int, security_protocol: smallint>"
_STATE = {
    "incarnationId": "string",
    "endPoints": f"array<{_END_POINT}>",
    "rack": "string",
    "fenced": "boolean",
    "inControlledShutdown": "boolean",
    "logDirs": "array<string>",
    "cordonedLogDirs": "array<string>",
}
"""What a broker is, after each change."""


def brokers(records: DataFrame) -> DataFrame:
    """Each registration, change and end of one, with the broker as it was then."""
    parts = [
        _registered(records),
        _changed(records),
        _fencing(records, "FenceBrokerRecord", _FENCED),
        _fencing(records, "UnfenceBrokerRecord", _UNFENCED),
        _unregistered(records),
    ]
    events = parts[0]
    for part in parts[1:]:
        events = events.unionByName(part)
    key = Window.partitionBy("brokerId").orderBy(SEQUENCE)
    edge = F.when(F.col("event").isin(REGISTERED, UNREGISTERED), F.col("event"))
    before = F.last(edge, ignorenulls=True).over(key.rowsBetween(Window.unboundedPreceding, -1))
    events = events.withColumn("_before", before)
    events = events.withColumn("_life", F.sum((F.col("event") == REGISTERED).cast("int")).over(key))
    so_far = Window.partitionBy("brokerId", "_life").orderBy(SEQUENCE)
    so_far = so_far.rowsBetween(Window.unboundedPreceding, 0)
    epoch = F.first("brokerEpoch").over(so_far)
    is_there = F.coalesce(F.col("_before") == REGISTERED, F.lit(False))
    fits = is_there & ((F.col("event") == UNREGISTERED) | (F.col("brokerEpoch") == epoch))
    fits = (F.col("event") == REGISTERED) | fits
    found = events.withColumn("_fits", fits).where("_fits")
    is_gone = F.col("event") == UNREGISTERED
    for name in _STATE:
        state = F.last(name, ignorenulls=True).over(so_far)
        found = found.withColumn(name, F.when(~is_gone, state))
    return found.select(*_WHERE, "brokerId", "brokerEpoch", "event", *_STATE)


def _event(
    records: DataFrame, message: str, broker: str, epoch: str, event: Column, **state: Column
) -> DataFrame:
    """The records of a kind as events; what they say nothing of is null."""
    told = records.where(F.col("type") == message)
    return told.select(
        *_WHERE,
        F.col(f"{message}.{broker}").alias("brokerId"),
        F.col(f"{message}.{epoch}").alias("brokerEpoch"),
        event.alias("event"),
        *(state.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in _STATE.items()),
    )


def _registered(records: DataFrame) -> DataFrame:
    name = "RegisterBrokerRecord"
    record: Mapping[str, Column] = {
        "incarnationId": F.col(f"{name}.incarnation_id"),
        "endPoints": F.col(f"{name}.end_points"),
        "rack": F.col(f"{name}.rack"),
        "fenced": F.col(f"{name}.fenced"),
        "inControlledShutdown": F.col(f"{name}.in_controlled_shutdown"),
        "logDirs": F.col(f"{name}.log_dirs"),
        "cordonedLogDirs": F.coalesce(F.col(f"{name}.cordoned_log_dirs"), F.array()),
    }
    return _event(records, name, "broker_id", "broker_epoch", F.lit(REGISTERED), **record)


def _changed(records: DataFrame) -> DataFrame:
    name = "BrokerRegistrationChangeRecord"
    fenced, shutdown = F.col(f"{name}.fenced"), F.col(f"{name}.in_controlled_shutdown")
    log_dirs = F.col(f"{name}.log_dirs")
    event = (
        F.when(fenced == FENCE, _FENCED)
        .when(fenced == UNFENCE, _UNFENCED)
        .when(shutdown == 1, _SHUTTING_DOWN)
        .otherwise(_CHANGED)
    )
    known = records.where(
        (F.col("type") != name) | (fenced.isin(FENCE, UNFENCE, 0) & shutdown.isin(0, 1))
    )
    return _event(
        known,
        name,
        "broker_id",
        "broker_epoch",
        event,
        fenced=F.when(fenced != 0, fenced == FENCE),
        inControlledShutdown=F.when(shutdown == 1, shutdown == 1),
        logDirs=F.when(F.size(log_dirs) > 0, log_dirs),
        cordonedLogDirs=F.col(f"{name}.cordoned_log_dirs"),
    )


def _fencing(records: DataFrame, message: str, event: str) -> DataFrame:
    state = F.lit(event == _FENCED)
    return _event(records, message, "id", "epoch", F.lit(event), fenced=state)


def _unregistered(records: DataFrame) -> DataFrame:
    message = "UnregisterBrokerRecord"
    return _event(records, message, "broker_id", "broker_epoch", F.lit(UNREGISTERED))


def voters(records: DataFrame) -> DataFrame:
    """The voters that each VotersRecord names: a row for each of them."""
    told = records.where("type = 'VotersRecord'")
    each = told.select(*_WHERE, "leaderEpoch", F.explode("VotersRecord.voters").alias("voter"))
    return each.select(
        *_WHERE,
        "leaderEpoch",
        F.col("voter.voter_id").alias("voterId"),
        F.col("voter.voter_directory_id").alias("directoryId"),
        F.col("voter.endpoints").alias("endPoints"),
        F.col("voter.kraft_version_feature.min_supported_version").alias("minKraftVersion"),
        F.col("voter.kraft_version_feature.max_supported_version").alias("maxKraftVersion"),
    )


def leader_epochs(records: DataFrame) -> DataFrame:
    """The epochs of the quorum: who led, from which offset on, and by whose votes."""
    name = "LeaderChangeMessage"
    return records.where(F.col("type") == name).select(
        *_WHERE,
        "leaderEpoch",
        F.col(f"{name}.leader_id").alias("leaderId"),
        F.col(f"{name}.voters.voter_id").alias("voterIds"),
        F.col(f"{name}.granting_voters.voter_id").alias("grantingVoterIds"),
    )
