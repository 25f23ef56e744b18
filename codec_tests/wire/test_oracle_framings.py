"""Headers and the framings of stored records are those of Kafka's own classes.

`DEVIATIONS` says for each case that is not why: it is about something that Kafka has
removed since, or we decide otherwise.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from kraftwire_messages.kafka import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    EndTxnMarker,
    registry,
)
from kraftwire_wire import ApiKey, records
from kraftwire_wire.errors import DecodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.records import ControlType

from codec_tests.compile_spec import compile_spec
from codec_tests.oracle import oracle_section, report_oracle_count

# API keys of `header_versions`.
REMOVED_APIS = {
    4: "Kafka 4.0 removed LeaderAndIsr, with ZooKeeper",
    5: "Kafka 4.0 removed StopReplica, with ZooKeeper",
    6: "Kafka 4.0 removed UpdateMetadata, with ZooKeeper",
    7: "Kafka 4.0 removed ControlledShutdown, with ZooKeeper",
}
REPLACED_APIS = {
    76: "Kafka 4.1 removed ShareGroupHeartbeat 0, the only version of that time",
    77: "Kafka 4.1 removed ShareGroupDescribe 0, the only version of that time",
    78: "Kafka 4.1 removed ShareFetch 0, the only version of that time",
    79: "Kafka 4.1 removed ShareAcknowledge 0, the only version of that time",
}
RENAMED_APIS = {74: "ListClientMetricsResources is called ListConfigResources now"}

# Cases of `api_message_type`: API name and version.
HEADER_DEVIATIONS = {
    ("PRODUCE", 0): "Kafka 4.0 removed this version (KIP-896)",
    ("PRODUCE", 1): "Kafka 4.0 removed this version (KIP-896)",
    ("CONTROLLED_SHUTDOWN", 0): REMOVED_APIS[7],
    ("CONTROLLED_SHUTDOWN", 1): REMOVED_APIS[7],
}

METADATA_DEVIATIONS = {
    "version beyond valid (NoOp v7)": "a version outside the valid range is never read",
}

END_TXN_DEVIATIONS = {
    "00050000004f0000": "a version outside the valid range is never read; Java skips its rest",
}


# -- headers -----------------------------------------------------------------------------------


def test_header_versions() -> None:
    """Compared in the versions that both have."""
    cases = oracle_section("header_versions")
    for case in cases:
        key = case["apiKey"]
        assert (key in registry.api_keys) == (key not in REMOVED_APIS)
        if key in registry.api_keys:
            compare_headers(case)
    report_oracle_count(
        "header_versions", len(cases), len(REMOVED_APIS | REPLACED_APIS | RENAMED_APIS)
    )


def compare_headers(case: dict[str, Any]) -> None:
    key = case["apiKey"]
    request, response = registry.request(key), registry.response(key)
    is_renamed = key in RENAMED_APIS
    assert (request.__name__ != case["name"] + "Request") == is_renamed
    assert (ApiKey(key).name != case["enum"]) == is_renamed
    both = range(max(request.VALID_VERSIONS[0], case["lowest"]), case["highest"] + 1)
    assert set(both) <= set(request.VALID_VERSIONS)
    assert (len(both) == 0) == (key in REPLACED_APIS)
    for version in both:
        index = version - case["lowest"]
        assert request.header_version(version) == case["request"][index]
        assert response.header_version(version) == case["response"][index]


def test_api_message_type() -> None:
    cases = oracle_section("api_message_type")
    for name, version, request, response in cases:
        ours = header_versions(ApiKey[name], version)
        is_listed = (name, version) in HEADER_DEVIATIONS
        assert (ours == (request, response)) != is_listed, (name, version)
    report_oracle_count("api_message_type", len(cases), len(HEADER_DEVIATIONS))


def header_versions(key: int, version: int) -> tuple[int, int] | None:
    if key not in registry.api_keys or version not in registry.request(key).VALID_VERSIONS:
        return None
    request, response = registry.request(key), registry.response(key)
    return request.header_version(version), response.header_version(version)


# -- metadata records --------------------------------------------------------------------------


def test_metadata_frames() -> None:
    cases = oracle_section("metadata_frames")
    for case in cases:
        raw = bytes.fromhex(case["hex"])
        message, version = records.decode_metadata_record(registry, "cluster-metadata", raw)
        assert (message.API_KEY, version) == (case["apiKey"], case["version"])
        assert records.encode_metadata_record(message, version) == raw
        assert described(message, case["desc"])
    report_oracle_count("metadata_frames", len(cases), 0)


def described(message: Any, text: str) -> bool:
    """Whether a message holds the values that the description of its case names."""
    name, _, values = text.partition("{")
    given = re.findall(r"(\w+)=([\w-]+)", values)
    printed = message.to_json(message.VALID_VERSIONS[-1], style="java")
    assert all(str(printed[key]) == value for key, value in given), (text, printed)
    return type(message).__name__ == name.split()[0]


def test_metadata_frame_errors() -> None:
    cases = oracle_section("metadata_frame_errors")
    for case in cases:
        refused = False
        try:
            raw = bytes.fromhex(case["hex"])
            records.decode_metadata_record(registry, "cluster-metadata", raw)
        except KraftwireError:
            refused = True
        is_listed = case["desc"] in METADATA_DEVIATIONS
        assert (refused == ("error" in case)) != is_listed, case
    report_oracle_count("metadata_frame_errors", len(cases), len(METADATA_DEVIATIONS))


@pytest.mark.parametrize(
    ("desc", "place"),
    [
        (
            "testDeserializeWithUnhandledFrameVersion",
            "frame version: 15 is not supported",
        ),
        ("testParsingMalformedFrameVersionVarint", "frame version: varint is longer"),
        ("testParsingMalformedMessageTypeVarint", "record id: varint is longer"),
        ("testParsingMalformedMessageVersionVarint", "record version: varint is longer"),
        ("testParsingUnsupportedApiKey", "record id: no cluster-metadata record has id 16383"),
        ("testParsingMalformedMessage", "incarnation_id|broker_id: needs"),
        ("garbage", "1 byte follows the end of NoOpRecord version 0"),
    ],
)
def test_errors_of_metadata_frames_are_about_the_same(desc: str, place: str) -> None:
    case = next(c for c in oracle_section("metadata_frame_errors") if c["desc"] == desc)
    with pytest.raises(DecodeError, match=place):
        records.decode_metadata_record(registry, "cluster-metadata", bytes.fromhex(case["hex"]))


def test_metadata_types() -> None:
    cases = oracle_section("metadata_types")
    for case in cases:
        key, value = registry.record("cluster-metadata", case["id"])
        assert key is None
        assert value.__name__ == case["class"]
        assert value.VALID_VERSIONS[0] == case["lowest"]
        assert value.VALID_VERSIONS[-1] >= case["highest"]
    report_oracle_count("metadata_types", len(cases), 0)


# -- control records ---------------------------------------------------------------------------


def test_control_keys() -> None:
    cases = oracle_section("control_keys")
    assert [case["type"] for case in cases] == [member.name for member in ControlType]
    for case in cases:
        assert ControlType[case["type"]] == case["id"]
        assert records.encode_control_key(case["id"]).hex() == case["key_hex"]
        assert records.decode_control_key(bytes.fromhex(case["key_hex"])) == case["id"]
    report_oracle_count("control_keys", len(cases), 0)


def test_control_key_parse() -> None:
    cases = oracle_section("control_key_parse")
    for case in cases:
        key = bytes.fromhex(case["hex"])
        if "error" in case:
            with pytest.raises(DecodeError):
                records.decode_control_key(key)
        else:
            found = records.decode_control_key(key)
            name = found.name if isinstance(found, ControlType) else "UNKNOWN"
            assert name == case["type"]
    report_oracle_count("control_key_parse", len(cases), 0)


def test_end_txn_marker() -> None:
    cases = oracle_section("end_txn_marker")
    for case in cases:
        raw = bytes.fromhex(case.get("hex", case.get("decode_hex")))
        ours = marker_epoch(raw)
        is_listed = raw.hex() in END_TXN_DEVIATIONS
        assert (ours == case.get("epoch")) != is_listed, case
        if "hex" in case:
            marker = EndTxnMarker(coordinator_epoch=case["epoch"])
            assert records.encode_control_value(ControlType.COMMIT, marker, 0) == raw
    report_oracle_count("end_txn_marker", len(cases), len(END_TXN_DEVIATIONS))


def marker_epoch(raw: bytes) -> int | None:
    try:
        decoded = records.decode_control_value(registry, ControlType.COMMIT, raw)
    except (DecodeError, UnsupportedVersion):
        return None
    assert isinstance(decoded.message, EndTxnMarker)
    return decoded.message.coordinator_epoch


# -- coordinator records, and records within messages ------------------------------------------


def test_coordinator_records() -> None:
    cases = oracle_section("coordinator_records")
    key, value = (bytes.fromhex(case["hex"]) for case in cases)
    key_message = ConsumerGroupMetadataKey(group_id="group")
    assert records.encode_coordinator_key(key_message) == key
    assert records.decode_coordinator_key(registry, "group", key) == key_message
    value_message = ConsumerGroupMetadataValue(epoch=10)
    assert records.encode_prefixed(value_message, 0) == value
    assert records.decode_coordinator_value(registry, "group", 3, value) == (value_message, 0)
    report_oracle_count("coordinator_records", len(cases), 0)


def test_records_serde() -> None:
    cases = oracle_section("records_serde")
    message = compile_spec(oracle_section("test_specs")["SimpleRecordsMessage"])
    for case in cases:
        raw = bytes.fromhex(case["message_hex"])
        decoded: Any = message.decode(raw, case["version"])
        assert decoded.record_set.hex() == case["records_hex"]
        assert decoded.encode(case["version"]) == raw
    report_oracle_count("records_serde", len(cases), 0)
