"""Framings of stored records: each of them from bytes made by hand, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire_messages.kafka import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerProtocolAssignment,
    DefaultPrincipalData,
    EndTxnMarker,
    KRaftVersionRecord,
    LeaderChangeMessage,
    NoOpRecord,
    ProducerSnapshot,
    RemotePartitionDeleteMetadataRecord,
    ShareSnapshotKey,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    TransactionLogKey,
    VoteRequest,
    VotersRecord,
    registry,
)
from kraftwire_wire import records
from kraftwire_wire.errors import EncodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.records import ControlType, VersionedMessage

from codec_tests.wire.refusals import decode_error_of

# frame version 1, id 20, version 0, no tags
NO_OP = "01" + "14" + "00" + "00"


# -- metadata logs -----------------------------------------------------------------------------


def test_a_metadata_record_equals_bytes_by_hand() -> None:
    decoded = records.decode_metadata_record(registry, "cluster-metadata", bytes.fromhex(NO_OP))
    assert decoded == VersionedMessage(NoOpRecord(), 0)
    assert records.encode_metadata_record(NoOpRecord(), 0).hex() == NO_OP


def test_a_remote_log_record_equals_bytes_by_hand() -> None:
    record = RemotePartitionDeleteMetadataRecord
    entry = record.TopicIdPartitionEntry(name="t", partition=1)
    message = record(topic_id_partition=entry, broker_id=2, event_timestamp_ms=3)
    raw = bytes.fromhex(
        "01" + "02" + "00"  # frame version, id, version
        "0274" + "00" * 16 + "00000001" + "00"  # name, id, partition, tags
        "00000002" + "0000000000000003" + "00" + "00"  # broker, timestamp, state, tags
    )
    assert records.encode_metadata_record(message, 0) == raw
    assert records.decode_metadata_record(registry, "remote-log", raw) == (message, 0)


@pytest.mark.parametrize(
    ("raw", "path", "offset", "reason"),
    [
        ("", "frame version", 0, "varint is cut off by the end of the input"),
        ("00", "frame version", 0, "0 is not supported; only 1 is"),
        ("02" + "140000", "frame version", 0, "2 is not supported; only 1 is"),
        ("01", "record id", 1, "varint is cut off by the end of the input"),
        ("01" + "06" + "0000", "record id", 1, "no cluster-metadata record has id 6"),
        ("8100" + "06", "record id", 2, "no cluster-metadata record has id 6"),
        ("01" + "14", "record version", 2, "varint is cut off by the end of the input"),
        ("01" + "14" + "00", "tags", 3, "varint is cut off by the end of the input"),
        (NO_OP + "ffff", "", 4, "2 bytes follow the end of NoOpRecord version 0"),
    ],
)
def test_bad_metadata_records_are_refused(raw: str, path: str, offset: int, reason: str) -> None:
    value = bytes.fromhex(raw)
    error = decode_error_of(
        lambda: records.decode_metadata_record(registry, "cluster-metadata", value)
    )
    assert (error.path, error.offset, error.reason) == (path, offset, reason)


def test_unsupported_record_versions_are_refused() -> None:
    with pytest.raises(UnsupportedVersion):
        records.decode_metadata_record(registry, "cluster-metadata", b"\x01\x14\x07\x00")
    for version in (-1, 7, 2**40):
        with pytest.raises(UnsupportedVersion):
            records.encode_metadata_record(NoOpRecord(), version)
        with pytest.raises(UnsupportedVersion):
            records.encode_prefixed(EndTxnMarker(), version)


def test_messages_without_a_record_id_are_refused() -> None:
    for encode in (
        lambda: records.encode_metadata_record(VotersRecord(), 0),
        lambda: records.encode_coordinator_key(VotersRecord()),
    ):
        with pytest.raises(EncodeError, match="VotersRecord has no record id"):
            encode()


def test_unknown_logs_are_refused() -> None:
    with pytest.raises(KraftwireError, match="knows no records of 'nonsense'"):
        records.decode_metadata_record(registry, "nonsense", bytes.fromhex(NO_OP))
    with pytest.raises(KraftwireError, match="its records have no keys"):
        records.decode_coordinator_key(registry, "cluster-metadata", b"\x00\x14")


# -- coordinator logs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "message", "raw"),
    [
        # id, group_id
        ("group", ConsumerGroupMetadataKey(group_id="g"), "0003" + "000167"),
        # id, transactional_id
        ("transaction", TransactionLogKey(transactional_id="t"), "0000" + "000174"),
        # id, group_id, topic_id, partition
        (
            "share",
            ShareSnapshotKey(group_id="g", partition=1),
            "0000" + "000167" + "00" * 16 + "00000001",
        ),
    ],
)
def test_coordinator_keys(log: str, message: Any, raw: str) -> None:
    assert records.encode_coordinator_key(message).hex() == raw
    assert records.decode_coordinator_key(registry, log, bytes.fromhex(raw)) == message


def test_coordinator_values() -> None:
    raw = bytes.fromhex("0000" + "0000000a" + "00")  # version, epoch, no tags
    decoded = records.decode_coordinator_value(registry, "group", 3, raw)
    assert decoded == (ConsumerGroupMetadataValue(epoch=10), 0)
    assert records.encode_prefixed(ConsumerGroupMetadataValue(epoch=10), 0) == raw


def test_a_tombstone_has_no_value() -> None:
    assert records.decode_coordinator_value(registry, "group", 3, None) is None


@pytest.mark.parametrize(
    ("raw", "path", "offset", "reason"),
    [
        ("00", "record id", 0, "needs 2 bytes, there are 1"),
        ("0009", "record id", 0, "no group record has id 9"),
        ("ffff", "record id", 0, "no group record has id -1"),
        ("0003" + "0002" + "67", "group_id", 2, "needs 2 bytes, the input has 1 left"),
        ("0003" + "000167" + "00", "", 5, "1 byte follows the end of ConsumerGroupMetadataKey"),
    ],
)
def test_bad_coordinator_keys_are_refused(raw: str, path: str, offset: int, reason: str) -> None:
    key = bytes.fromhex(raw)
    error = decode_error_of(lambda: records.decode_coordinator_key(registry, "group", key))
    assert (error.path, error.offset) == (path, offset)
    assert error.reason.startswith(reason)


@pytest.mark.parametrize("log", ["group", "share", "transaction"])
def test_every_coordinator_record_is_read_back(log: str) -> None:
    for record_id in registry.record_ids[log]:
        key, value = registry.record(log, record_id)
        assert key is not None
        raw_key = records.encode_coordinator_key(key())
        assert raw_key[:2] == record_id.to_bytes(2, "big")
        assert records.decode_coordinator_key(registry, log, raw_key) == key()
        for version in value.VALID_VERSIONS:
            raw = records.encode_prefixed(value(), version)
            decoded = records.decode_coordinator_value(registry, log, record_id, raw)
            assert decoded == (value(), version)


@pytest.mark.parametrize("log", ["cluster-metadata", "remote-log"])
def test_every_metadata_record_is_read_back(log: str) -> None:
    for record_id in registry.record_ids[log]:
        key, value = registry.record(log, record_id)
        assert key is None
        for version in value.VALID_VERSIONS:
            raw = records.encode_metadata_record(value(), version)
            assert raw[:3] == bytes([1, record_id, version])
            assert records.decode_metadata_record(registry, log, raw) == (value(), version)


# -- control batches ---------------------------------------------------------------------------


@pytest.mark.parametrize("control_type", ControlType)
def test_control_keys(control_type: ControlType) -> None:
    raw = b"\x00\x00\x00" + bytes([control_type])
    assert records.encode_control_key(control_type) == raw
    assert records.decode_control_key(raw) is control_type


def test_control_keys_of_the_future_are_read() -> None:
    assert records.decode_control_key(bytes.fromhex("0000" + "0151")) == 337
    assert records.decode_control_key(bytes.fromhex("0005" + "0001" + "abcd")) is ControlType.COMMIT


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "0 bytes are not a control record key"),
        ("000000", "3 bytes are not a control record key"),
        ("ffff0000", "-1, but versions of control record keys start at 0"),
    ],
)
def test_bad_control_keys_are_refused(raw: str, reason: str) -> None:
    error = decode_error_of(lambda: records.decode_control_key(bytes.fromhex(raw)))
    assert (error.reason, error.offset) == (reason, 0)


def test_a_control_message_is_written_in_the_version_it_names() -> None:
    for message in (LeaderChangeMessage(), LeaderChangeMessage(version=2)):
        with pytest.raises(EncodeError, match="set the field to 1") as caught:
            records.encode_control_value(ControlType.LEADER_CHANGE, message, 1)
        assert caught.value.path == "version"


@pytest.mark.parametrize("control_type", [-1, 0x8000, 2**40])
def test_numbers_that_are_no_control_type_are_refused(control_type: int) -> None:
    with pytest.raises(EncodeError, match="is not the type of a control record"):
        records.encode_control_key(control_type)


LEADER = LeaderChangeMessage(leader_id=1, voters=[LeaderChangeMessage.Voter(voter_id=1)])


@pytest.mark.parametrize(
    ("control_type", "message", "version", "raw"),
    [
        # version, coordinator_epoch
        (ControlType.ABORT, EndTxnMarker(coordinator_epoch=79), 0, "0000" + "0000004f"),
        (ControlType.COMMIT, EndTxnMarker(coordinator_epoch=-1), 0, "0000" + "ffffffff"),
        # version, leader_id, one voter with no tags, no granting voters, no tags
        (
            ControlType.LEADER_CHANGE,
            LEADER,
            0,
            "0000" + "00000001" + "02" + "00000001" + "00" + "01" + "00",
        ),
        # version, last_contained_log_timestamp, no tags
        (
            ControlType.SNAPSHOT_HEADER,
            SnapshotHeaderRecord(last_contained_log_timestamp=1),
            0,
            "0000" + "0000000000000001" + "00",
        ),
        (ControlType.SNAPSHOT_FOOTER, SnapshotFooterRecord(), 0, "0000" + "00"),
        # version, kraft_version, no tags
        (ControlType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=1), 0, "0000" + "000100"),
        # version, no voters, no tags
        (ControlType.KRAFT_VOTERS, VotersRecord(), 0, "0000" + "01" + "00"),
    ],
)
def test_control_values(control_type: int, message: Any, version: int, raw: str) -> None:
    assert records.encode_control_value(control_type, message, version).hex() == raw
    decoded = records.decode_control_value(registry, control_type, bytes.fromhex(raw))
    assert decoded == (message, version)


def test_a_leader_change_is_read_in_the_version_it_names() -> None:
    # version 1, leader_id, one voter with directory id, no granting voters, no tags
    voter = "00000001" + "00" * 15 + "02" + "00"
    raw = bytes.fromhex("0001" + "00000001" + "02" + voter + "01" + "00")
    decoded = records.decode_control_value(registry, ControlType.LEADER_CHANGE, raw)
    assert decoded.version == 1
    assert records.encode_control_value(ControlType.LEADER_CHANGE, decoded.message, 1) == raw


def test_bad_control_values_are_refused() -> None:
    with pytest.raises(KraftwireError, match="no message is known for control records of type 7"):
        records.decode_control_value(registry, 7, b"\x00\x00")
    with pytest.raises(UnsupportedVersion):
        records.decode_control_value(registry, ControlType.SNAPSHOT_FOOTER, b"\x00\x09\x00")
    error = decode_error_of(
        lambda: records.decode_control_value(registry, ControlType.ABORT, b"\x00")
    )
    assert (error.path, error.offset) == ("version", 0)
    footer = ControlType.SNAPSHOT_FOOTER
    error = decode_error_of(
        lambda: records.decode_control_value(registry, footer, b"\x00\x00\x00\x00")
    )
    assert error.reason == "1 byte follows the end of SnapshotFooterRecord version 0"


# -- blobs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "version", "raw"),
    [
        # version, no partitions, no user data
        (ConsumerProtocolAssignment(), 1, "0001" + "00000000" + "ffffffff"),
        # version, type, name, token_authenticated, no tags
        (DefaultPrincipalData(type="U", name="n"), 0, "0000" + "0255" + "026e" + "00" + "00"),
        # version, crc, no entries
        (ProducerSnapshot(crc=2**32 - 1), 1, "0001" + "ffffffff" + "00000000"),
    ],
)
def test_blobs(message: Any, version: int, raw: str) -> None:
    assert records.encode_prefixed(message, version).hex() == raw
    assert records.decode_prefixed(type(message), bytes.fromhex(raw)) == (message, version)


@pytest.mark.parametrize(("raw", "offset"), [("", 0), ("00", 0)])
def test_a_blob_without_a_version_is_refused(raw: str, offset: int) -> None:
    error = decode_error_of(lambda: records.decode_prefixed(VoteRequest, bytes.fromhex(raw)))
    assert (error.path, error.offset) == ("version", offset)


@given(st.binary(max_size=30), st.integers(-2, 30))
def test_the_framings_raise_only_their_own_errors(raw: bytes, number: int) -> None:
    for action in (
        lambda: records.decode_metadata_record(registry, "cluster-metadata", b"\x01" + raw),
        lambda: records.decode_metadata_record(registry, "remote-log", raw),
        lambda: records.decode_coordinator_key(registry, "group", b"\x00" + raw),
        lambda: records.decode_coordinator_value(registry, "group", number, b"\x00\x00" + raw),
        lambda: records.decode_control_key(raw),
        lambda: records.decode_control_value(registry, number, raw),
    ):
        try:
            action()
        except KraftwireError:
            continue
