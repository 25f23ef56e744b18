"""Builds the checkpoints of a newly formatted directory.

The checkpoint of offset 0 precedes the metadata log; it has the first voters if they are not
static. `bootstrap.checkpoint` has the first features for Kafka's controllers up to 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping

from kraftwire.log.writers.snapshot_writer import SnapshotWriter
from kraftwire.raft.state.voters import VoterSet, encode_voters
from kraftwire_messages.kafka import FeatureLevelRecord, KRaftVersionRecord, SnapshotHeaderRecord
from kraftwire_wire.message import Message
from kraftwire_wire.records import ControlType

BOOTSTRAP_NAME = "bootstrap.checkpoint"
_EPOCH = 0


def first_checkpoint(
    voters: VoterSet, kraft_version: int, levels: Mapping[str, int], now: int
) -> bytes:
    """Return the checkpoint of offset 0, with these voters and features."""
    controls: list[tuple[int, Message, int]] = []
    if kraft_version:
        version = KRaftVersionRecord(kraft_version=kraft_version)
        controls.append((ControlType.KRAFT_VERSION, version, 0))
    if len(voters):
        controls.append((ControlType.KRAFT_VOTERS, encode_voters(voters), 0))
    return _checkpoint(controls, levels, now, last_contained_log_timestamp=now)


def bootstrap_checkpoint(levels: Mapping[str, int], now: int) -> bytes:
    """Return the checkpoint with the first features of a Kafka controller."""
    return _checkpoint([], levels, now, last_contained_log_timestamp=0)


def _checkpoint(
    controls: list[tuple[int, Message, int]],
    levels: Mapping[str, int],
    now: int,
    last_contained_log_timestamp: int,
) -> bytes:
    header = SnapshotHeaderRecord(last_contained_log_timestamp=last_contained_log_timestamp)
    writer = SnapshotWriter(_EPOCH)
    writer.control([(ControlType.SNAPSHOT_HEADER, header, 0), *controls], now)
    features = [
        FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items()
    ]
    if features:
        writer.append([(feature, 0) for feature in features], now)
    return writer.finish(now)
