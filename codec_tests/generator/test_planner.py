"""Plans: what a message's LAYOUT says, where its structs occur, and the tables of a package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraftwire_generator.checks.spec_set import load_set
from kraftwire_generator.plan.plan_data import MessagePlan, PackagePlan
from kraftwire_generator.plan.planner import plan_message, plan_package
from kraftwire_wire.layout import NEVER, Array, Field, StructType

from codec_tests.compile_spec import compile_spec
from codec_tests.spec_files import field_spec, message_spec, resolve_json, write_set


def plan(spec: dict[str, Any]) -> MessagePlan:
    return plan_message(resolve_json(spec), "spec.json")


def test_a_layout_leaves_nothing_out() -> None:
    text = field_spec(
        "GroupId",
        "string",
        versions="1+",
        nullableVersions="1+",
        taggedVersions="2+",
        tag=0,
        flexibleVersions="2+",
        default="null",
        ignorable=True,
        entityType="groupId",
    )
    data = field_spec("Data", "bytes", zeroCopy=True)
    topic = field_spec("Topics", "[]Topic", fields=[field_spec("Name", "string", mapKey=True)])
    spec = message_spec(
        "VoteRequest",
        text,
        data,
        topic,
        type="request",
        apiKey=52,
        validVersions="0-3",
        flexibleVersions="2+",
        deprecatedVersions="0-1",
        listeners=["broker"],
        latestVersionUnstable=True,
    )
    message: Any = compile_spec(spec)
    layout = message.LAYOUT
    assert (layout.name, layout.versions, layout.flexible) == ("VoteRequest", range(4), range(2, 4))
    assert (layout.type, layout.api_key, layout.deprecated) == ("request", 52, range(2))
    assert layout.headers == ((range(2), 1), (range(2, 4), 2))
    assert (layout.listeners, layout.latest_version_unstable) == (("broker",), True)
    assert layout.fields[0] == Field(
        "group_id",
        "GroupId",
        "string",
        range(1, 4),
        None,
        nullable=range(1, 4),
        tag=0,
        tagged=range(2, 4),
        flexible=range(2, 4),
        ignorable=True,
        entity_type="groupId",
    )
    assert layout.fields[1] == Field("data", "Data", "bytes", range(4), b"", zero_copy=True)
    assert layout.fields[2] == Field("topics", "Topics", Array(StructType("Topic")), range(4), ())
    (name,) = message.Topic.LAYOUT.fields
    assert name == Field("name", "Name", "string", range(4), "", map_key=True)


def test_a_class_says_its_key_and_versions() -> None:
    message: Any = compile_spec(message_spec(validVersions="1-3", flexibleVersions="none"))
    assert message.API_KEY is None
    assert range(1, 4) == message.VALID_VERSIONS
    assert message.FLEXIBLE_VERSIONS == NEVER


def test_a_struct_occurs_from_the_first_to_the_last_version_of_its_uses() -> None:
    common = {"name": "Node", "versions": "0+", "fields": [field_spec()]}
    spec = message_spec(
        "Vote",
        field_spec("Early", "Node", versions="1"),
        field_spec("Late", "[]Node", versions="4-5"),
        validVersions="0-7",
        commonStructs=[common],
    )
    message: Any = compile_spec(spec)
    assert message.Node.LAYOUT.versions == range(1, 6)


def test_structs_that_refer_to_one_another_in_many_ways_are_planned_in_time() -> None:
    """Sixty levels of two uses each: 2**60 paths, but sixty structs."""
    structs = [
        {
            "name": f"S{level}",
            "versions": "0+",
            "fields": [field_spec("A", f"S{level + 1}"), field_spec("B", f"[]S{level + 1}")],
        }
        for level in range(60)
    ]
    structs.append({"name": "S60", "versions": "0+", "fields": [field_spec()]})
    planned = plan(message_spec("Vote", field_spec("First", "S0"), commonStructs=structs))
    assert len(planned.structs) == 61


@pytest.mark.parametrize("order", [1, -1])
def test_uses_in_any_order_give_a_struct_the_same_versions(order: int) -> None:
    inner = {"name": "Inner", "versions": "0+", "fields": [field_spec()]}
    outer = {"name": "Outer", "versions": "0+", "fields": [field_spec("Inner", "Inner")]}
    uses = [
        field_spec("A", "Outer", versions="0-1"),
        field_spec("B", "Outer", versions="5"),
        field_spec("C", "Inner", versions="3"),
    ]
    spec = message_spec("Vote", *uses[::order], validVersions="0-7", commonStructs=[inner, outer])
    message: Any = compile_spec(spec)
    assert message.Outer.LAYOUT.versions == message.Inner.LAYOUT.versions == range(6)


def package(directory: Path, *specs: dict[str, Any], settings: str = "") -> PackagePlan:
    spec_set, _ = load_set(write_set(directory, *specs, settings=settings))
    assert spec_set is not None
    return plan_package(spec_set, "mine")


def test_a_package_lists_messages_by_name_and_by_key(tmp_path: Path) -> None:
    planned = package(
        tmp_path,
        message_spec("VoteRequest", type="request", apiKey=52),
        message_spec("VoteResponse", type="response", apiKey=52),
        message_spec("none"),
        message_spec("GoneRequest", type="request", apiKey=4, validVersions="none"),
        message_spec("GoneResponse", type="response", apiKey=4, validVersions="none"),
    )
    assert planned.messages == (
        ("None_", "none"),
        ("VoteRequest", "vote_request"),
        ("VoteResponse", "vote_response"),
    )
    assert planned.requests == ((52, "VoteRequest"),)
    assert planned.responses == ((52, "VoteResponse"),)


def test_control_records_are_listed_by_type(tmp_path: Path) -> None:
    version = field_spec("Version", "int16")
    planned = package(
        tmp_path,
        message_spec("none", version),
        message_spec("AddRecord", version),
        message_spec("GoneRecord", version, validVersions="none"),
        settings="[control_records]\nnone = 0x7002\nAddRecord = 0x7001\nGoneRecord = 9",
    )
    assert planned.control_records == ((0x7001, "AddRecord"), (0x7002, "None_"))


def test_records_are_listed_by_log_and_id(tmp_path: Path) -> None:
    planned = package(
        tmp_path,
        message_spec("meta/TopicRecord", type="metadata", apiKey=2),
        message_spec("meta/BrokerRecord", type="metadata", apiKey=0),
        message_spec("group/OffsetKey", type="coordinator-key", apiKey=1),
        message_spec("group/OffsetValue", type="coordinator-value", apiKey=1),
        message_spec("group/LonelyKey", type="coordinator-key", apiKey=3),
        message_spec("keys/OnlyKey", type="coordinator-key", apiKey=0),
        settings='title = "Mine"\ndraft = true\n[records]\ncluster-metadata = "meta"\n',
    )
    assert planned.records == (
        ("cluster-metadata", ((0, "(None, 'BrokerRecord')"), (2, "(None, 'TopicRecord')"))),
        ("group", ((1, "('OffsetKey', 'OffsetValue')"),)),
    )
