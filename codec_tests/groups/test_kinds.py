"""Consumer, share and streams groups: what each kind of record does."""

from __future__ import annotations

import pytest

from kraftwire.groups import AssignedPartitions, GroupState, GroupType
from kraftwire.groups.effects import EFFECTS
from kraftwire_messages import kafka
from kraftwire_messages.kafka import registry

from codec_tests.groups.building import Log, commit, kinds
from codec_tests.groups.member_records import (
    CUPS,
    STABLE,
    TEA,
    assigned,
    join,
    key,
    leave,
    partitions,
    value,
)

KINDS = {"Consumer": GroupType.CONSUMER, "Share": GroupType.SHARE, "Streams": GroupType.STREAMS}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_record_of_the_logs_has_an_effect() -> None:
    keys = {
        registry.record(log, number).key
        for log in ("group", "share")
        for number in registry.record_ids[log]
    }
    assert {kafka.LegacyOffsetCommitKey, kafka.OffsetCommitKey, *EFFECTS} == keys


def test_a_member_joins_and_leaves(kind: str) -> None:
    log = Log()
    assert join(log, kind)[:5] == [
        "member joined",
        "group epoch",
        "target assignment changed",
        "target assignment epoch",
        "assignment changed",
    ]
    group = log.groups["g"]
    assert (group.type, group.state) == (KINDS[kind], "Stable")
    assert group.epochs is not None
    assert (group.epochs.epoch, group.epochs.assignment_epoch) == (2, 2)
    assert (group.epochs.metadata_hash, group.epochs.assignment_timestamp) == (9, 5)
    member = group.members["m"]
    assert member.info is not None
    assert member.current is not None
    assert (member.info.client_id, member.info.client_host, member.info.rack_id) == (
        ("cup", "/h", "r")
    )
    assert member.info.subscription == (None if kind == "Streams" else ("tea",))
    assert member.target == member.current.assigned == assigned(kind, 0, 1)
    assert (member.current.epoch, member.current.state) == (2, STABLE[kind])

    assert leave(log, kind) == ["member left"]
    assert group.members == {}
    assert group.state == "Empty"


def test_records_that_change_nothing_are_no_events(kind: str) -> None:
    log = Log()
    join(log, kind)
    assert join(log, kind) == []


def test_a_deleted_group_is_gone_except_for_its_offsets(kind: str) -> None:
    log = Log()
    join(log, kind)
    log.put(*commit("g", "tea", 0, 5))
    leave(log, kind)
    assert log.put(key(kind, "TargetAssignmentMetadata"), None) == []
    assert kinds(log.put(key(kind, "Metadata"), None)) == ["group deleted"]
    group = log.groups["g"]
    assert (group.type, group.state) == (KINDS[kind], "Dead")
    assert kinds(log.put(*commit("g", "tea", 0, None))) == ["offset deleted"]
    assert log.groups.by_name == {}


def test_the_state_follows_the_epochs() -> None:
    log = Log()
    join(log, "Consumer")
    group = log.groups["g"]
    log.put(key("Consumer", "Metadata"), value("Consumer", "Metadata", epoch=3))
    assert group.state == "Assigning"
    target = value("Consumer", "TargetAssignmentMetadata", assignment_epoch=3)
    log.put(key("Consumer", "TargetAssignmentMetadata"), target)
    assert group.state == "Reconciling"
    current = partitions("Consumer", "CurrentMemberAssignment", [0])
    revoking = partitions("Consumer", "CurrentMemberAssignment", [1])
    at = key("Consumer", "CurrentMemberAssignment", "m")
    for state, expected in ((1, "Reconciling"), (0, "Stable")):
        made = value(
            "Consumer",
            "CurrentMemberAssignment",
            member_epoch=3,
            previous_member_epoch=2,
            state=state,
            assigned_partitions=current,
            partitions_pending_revocation=revoking,
        )
        assert kinds(log.put(at, made)) == ["assignment changed"]
        assert group.state == expected
    has = group.members["m"].current
    assert has is not None
    assert (has.assigned, has.revoking) == (assigned("Consumer", 0), assigned("Consumer", 1))
    assert (has.epoch, has.previous_epoch) == (3, 2)


def test_streams_groups_are_not_ready_without_their_topology() -> None:
    log = Log()
    join(log, "Streams")
    group = log.groups["g"]
    topology = kafka.StreamsGroupTopologyKey(group_id="g")
    log.put(topology, None)
    assert group.state == "NotReady"
    made = kafka.StreamsGroupTopologyValue(epoch=4)
    assert kinds(log.put(topology, made)) == ["topology"]
    assert (group.topology, group.state) == (made, "Stable")
    metadata = value("Streams", "Metadata", epoch=2, metadata_hash=9, validated_topology_epoch=3)
    log.put(key("Streams", "Metadata"), metadata)
    assert group.state == "NotReady", "the topology that was validated is another one"


def test_tasks_have_roles() -> None:
    log = Log()
    message = kafka.StreamsGroupCurrentMemberAssignmentValue
    tasks = [message.TaskIds(subtopology_id="s", partitions=[0])]
    made = message(active_tasks=tasks, standby_tasks=tasks, warmup_tasks_pending_revocation=tasks)
    log.put(key("Streams", "CurrentMemberAssignment", "m"), made)
    current = log.groups["g"].members["m"].current
    assert current is not None
    assert [(a.subtopology, a.role) for a in current.assigned or ()] == [
        ("s", "active"),
        ("s", "standby"),
    ]
    assert [a.role for a in current.revoking] == ["warmup"]


def test_what_only_streams_members_say() -> None:
    log = Log()
    message = kafka.StreamsGroupMemberMetadataValue
    made = message(
        instance_id="i",
        rack_id=None,
        topology_epoch=3,
        process_id="p",
        user_endpoint=message.Endpoint(host="h", port=80),
        client_tags=[message.KeyValue(key="zone", value="z")],
    )
    log.put(key("Streams", "MemberMetadata", "m"), made)
    info = log.groups["g"].members["m"].info
    assert info is not None
    assert (info.instance_id, info.topology_epoch, info.process_id) == ("i", 3, "p")
    assert (info.endpoint, info.client_tags) == ("h:80", (("zone", "z"),))


def test_what_only_consumer_members_say() -> None:
    log = Log()
    message = kafka.ConsumerGroupMemberMetadataValue
    protocol = message.ClassicProtocol(name="range")
    made = message(
        instance_id=None,
        rack_id=None,
        subscribed_topic_regex="t.*",
        server_assignor="uniform",
        classic_member_metadata=message.ClassicMemberMetadata(
            session_timeout_ms=45, supported_protocols=[protocol]
        ),
    )
    log.put(key("Consumer", "MemberMetadata", "m"), made)
    info = log.groups["g"].members["m"].info
    assert info is not None
    assert (info.regex, info.assignor, info.session_timeout_ms) == ("t.*", "uniform", 45)
    assert (info.instance_id, info.classic_protocols) == (None, ("range",))


def test_regular_expressions_are_resolved() -> None:
    log = Log()
    at = kafka.ConsumerGroupRegularExpressionKey(group_id="g", regular_expression="t.*")
    made = kafka.ConsumerGroupRegularExpressionValue(topics=["tea"], version=3, timestamp=5)
    (event,) = log.put(at, made)
    assert (event.change.what.value, event.change.regex) == ("regex resolved", "t.*")
    assert log.groups["g"].regexes["t.*"].topics == ("tea",)
    assert log.put(at, made) == []
    assert log.put(at, None) == []
    assert log.groups.by_name == {}


def test_old_partition_metadata_gives_names() -> None:
    log = Log()
    message = kafka.ConsumerGroupPartitionMetadataValue
    made = message(topics=[message.TopicMetadata(topic_id=TEA, topic_name="tea")])
    at = kafka.ConsumerGroupPartitionMetadataKey(group_id="g")
    assert log.put(at, made) == []
    assert log.put(at, None) == []
    assert log.groups.topic_names == {TEA: "tea"}
    assert log.groups.by_name == {}


def test_topics_of_share_groups() -> None:
    log = Log()
    message = kafka.ShareGroupStatePartitionMetadataValue
    info = message.TopicPartitionsInfo
    made = message(
        initializing_topics=[info(topic_id=TEA, topic_name="tea", partitions=[0])],
        initialized_topics=[info(topic_id=TEA, topic_name="tea", partitions=[1])],
        deleting_topics=[message.TopicInfo(topic_id=CUPS, topic_name="cups")],
    )
    at = kafka.ShareGroupStatePartitionMetadataKey(group_id="g")
    assert kinds(log.put(at, made)) == ["share topics"]
    topics = log.groups["g"].share_topics
    assert topics is not None
    assert topics.initializing == (AssignedPartitions((0,), "tea", TEA),)
    assert topics.initialized == (AssignedPartitions((1,), "tea", TEA),)
    assert topics.deleting == (AssignedPartitions((), "cups", CUPS),)
    assert log.groups.topic_names == {TEA: "tea", CUPS: "cups"}
    assert log.put(at, None) == []
    assert log.groups.by_name == {}


def test_a_classic_group_becomes_a_consumer_group_and_comes_back() -> None:
    """Online migration (KIP-848): the old kind is deleted, the offsets stay."""
    log = Log()
    classic = kafka.GroupMetadataKey(group="g")
    member = kafka.GroupMetadataValue.MemberMetadata(member_id="old")
    log.put(classic, kafka.GroupMetadataValue(members=[member]))
    log.put(*commit("g", "tea", 0, 5))
    log.put(classic, None)
    join(log, "Consumer", "new")
    group = log.groups["g"]
    assert (group.type, group.state, [*group.members]) == (GroupType.CONSUMER, "Stable", ["new"])
    assert group.classic is None
    assert len(group.offsets) == 1
    leave(log, "Consumer", "new")
    log.put(key("Consumer", "TargetAssignmentMetadata"), None)
    log.put(key("Consumer", "Metadata"), None)
    log.put(classic, kafka.GroupMetadataValue(members=[member]))
    assert (group.type, group.state, [*group.members]) == (GroupType.CLASSIC, "Stable", ["old"])
    assert group.epochs is None
    assert len(group.offsets) == 1


def test_where_the_tombstone_is_lost_the_new_kind_begins_again() -> None:
    log = Log()
    join(log, "Share", "old")
    join(log, "Consumer", "new")
    group = log.groups["g"]
    assert (group.type, [*group.members]) == (GroupType.CONSUMER, ["new"])
    assert log.put(key("Share", "Metadata"), None) == [], "nor can the old kind end it"
    assert group.state == "Stable"


def test_a_group_is_reconciled_only_with_records_that_say_so() -> None:
    group = GroupState("g", kind=GroupType.CONSUMER)
    log = Log()
    join(log, "Consumer")
    group.members = log.groups["g"].members
    assert group.state == "Reconciling"
