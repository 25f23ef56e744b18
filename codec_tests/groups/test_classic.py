"""Classic groups: generations, members, and what these put into bytes."""

from __future__ import annotations

import struct

import pytest

from kraftwire.groups import AssignedPartitions, GroupType
from kraftwire_messages.kafka import ConsumerProtocolSubscription, GroupMetadataValue

from codec_tests.groups.building import Log, commit, kinds
from codec_tests.groups.classic_records import KEY, assignment, member, subscription, value


def test_a_stable_group_has_members_with_assignments() -> None:
    log = Log()
    log.put(KEY, value(4, member("a", assignment(tea=[0, 2])), member("b")))
    group = log.groups["g"]
    assert (group.type, group.state) == (GroupType.CLASSIC, "Stable")
    assert group.classic is not None
    assert (group.classic.generation, group.classic.leader) == (4, "a")
    assert (group.classic.protocol_type, group.classic.protocol) == ("consumer", "range")
    info, current = group.members["a"].info, group.members["a"].current
    assert info is not None
    assert current is not None
    assert (info.client_id, info.client_host, info.rack_id) == ("cup", "/host", "r1")
    assert (info.subscription, info.session_timeout_ms) == (("tea",), 45)
    assert info.owned == (AssignedPartitions((1,), topic="tea"),)
    assert current.assigned == (AssignedPartitions((0, 2), topic="tea"),)
    empty = group.members["b"].current
    assert empty is not None
    assert empty.assigned == ()


@pytest.mark.parametrize("version", GroupMetadataValue.VALID_VERSIONS)
def test_every_version_is_read(version: int) -> None:
    log = Log()
    log.put(KEY, value(4, member("a", assignment(tea=[0]))), version=version)
    info = log.groups["g"].members["a"].info
    assert info is not None
    assert info.rebalance_timeout_ms == (300 if version >= 1 else None)
    assert log.groups["g"].classic is not None


@pytest.mark.parametrize("version", ConsumerProtocolSubscription.VALID_VERSIONS)
def test_every_version_of_a_subscription_is_read(version: int) -> None:
    log = Log()
    log.put(KEY, value(1, member("a", wants=subscription("tea", "cups", version=version))))
    info = log.groups["g"].members["a"].info
    assert info is not None
    assert info.subscription == ("tea", "cups")


@pytest.mark.parametrize(
    ("version", "written_as"), [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2), (4, 3), (9, 0)]
)
def test_a_subscription_that_lacks_the_last_fields_of_its_version(
    version: int, written_as: int
) -> None:
    """Many clients announce version 1 and leave out the owned partitions."""
    message = ConsumerProtocolSubscription(topics=["tea", "cups"], user_data=b"\0\0\0\7")
    if written_as:
        owned = ConsumerProtocolSubscription.TopicPartition(topic="tea", partitions=[1])
        message.owned_partitions = [owned]
    wants = struct.pack(">h", version) + message.encode(written_as)
    log = Log()
    log.put(KEY, value(1, member("a", wants=wants)))
    info = log.groups["g"].members["a"].info
    assert info is not None
    assert (info.subscription, info.protocol_bytes) == (("tea", "cups"), None)


@pytest.mark.parametrize("junk", [b"", b"\0", b"\0\x63tea", b"\xff" * 40])
def test_what_is_no_subscription_stays_bytes(junk: bytes) -> None:
    log = Log()
    log.put(KEY, value(1, member("a", junk or b"\0", wants=junk)))
    info, current = log.groups["g"].members["a"].info, log.groups["g"].members["a"].current
    assert info is not None
    assert current is not None
    assert (info.subscription, info.protocol_bytes) == (None, junk)
    assert (current.assigned, current.assigned_bytes) == (None, junk or b"\0")


def test_other_protocols_are_not_looked_into() -> None:
    log = Log()
    log.put(KEY, value(1, member("a", assignment(tea=[0])), kind="connect"))
    info, current = log.groups["g"].members["a"].info, log.groups["g"].members["a"].current
    assert info is not None
    assert current is not None
    assert info.protocol_bytes == subscription("tea")
    assert current.assigned_bytes == assignment(tea=[0])


def test_what_happens_to_members_is_reported() -> None:
    log = Log()
    assert kinds(log.put(KEY, value(0, kind=""))) == ["generation"]
    events = log.put(KEY, value(1, member("a", assignment(tea=[0, 1]))))
    assert kinds(events) == ["generation", "member joined"]
    assert events[1].change.member == "a"
    events = log.put(
        KEY, value(2, member("a", assignment(tea=[0])), member("b", assignment(tea=[1])))
    )
    assert kinds(events) == ["generation", "assignment changed", "member joined"]
    changed = member("b", assignment(tea=[1]), wants=subscription("cups"))
    events = log.put(KEY, value(2, changed))
    assert kinds(events) == ["generation", "member left", "member changed"]
    assert log.put(KEY, value(2, changed)) == [], "the same again"
    assert kinds(log.put(KEY, value(3))) == ["generation", "member left"]
    assert log.groups["g"].state == "Empty"


def test_a_tombstone_ends_the_group_and_leaves_its_offsets() -> None:
    log = Log()
    log.put(KEY, value(1, member("a")))
    log.put(*commit("g", "tea", 0, 5))
    assert kinds(log.put(KEY, None)) == ["group deleted"]
    group = log.groups["g"]
    assert (group.state, group.members, group.classic) == ("Dead", {}, None)
    assert len(group.offsets) == 1
    log.put(*commit("g", "tea", 0, 6))
    assert group.state == "Empty", "somebody commits without being a member"
    log.put(*commit("g", "tea", 0, None))
    assert log.groups.by_name == {}


def test_a_tombstone_of_a_group_that_nobody_saw_is_still_told() -> None:
    log = Log()
    assert kinds(log.put(KEY, None)) == ["group deleted"]
    assert log.groups.by_name == {}
