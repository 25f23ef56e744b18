"""How the log comes to say who the configured voters are, and its snapshots (KIP-856)."""

from __future__ import annotations

import pytest

from kraftwire.raft.core.effects import Leading, ProposalOutcome, StoppedLeading
from kraftwire.raft.core.inputs import Propose, Resign, Tick
from kraftwire.raft.core.snapshots import begin_snapshot
from kraftwire.raft.metadata_log.batches import ControlRecord, control_batch, data_batch
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.voters import ReplicaKey, Voter, VoterSet
from kraftwire_messages import kip_856
from kraftwire_messages.kafka import KRaftVersionRecord, LeaderChangeMessage
from kraftwire_messages.kip_856 import AddVoterRecord

from codec_tests.raft.configured import (
    CONFIGURED,
    NAMED,
    NEW_DISK,
    POLICY,
    adding,
    after,
    flushed,
    named,
    said,
    unnamed,
)
from codec_tests.raft.replicas import (
    ME,
    THREE,
    TWO,
    elected,
    fetched,
    lead,
    listeners_of,
    take_snapshot,
    win,
)


def elect_again(replica: Replica) -> None:
    """Let a leader resign and, with the vote of 2, win the next epoch."""
    core = replica.core
    core.become_resigned()
    core.become_unattached(core.epoch + 1)
    win(core, TWO)


def led_again(replica: Replica) -> Replica:
    """The same replica, as it leads a later epoch."""
    elect_again(replica)
    replica.core.effects.clear()
    return replica


def leader_change(replica: Replica) -> ControlRecord:
    """The LeaderChangeMessage with which a replica begins a later epoch."""
    elect_again(replica)
    first, *_ = said(replica.core.effects)[-1]
    assert isinstance(first.message, LeaderChangeMessage)
    assert first.message.version == first.version, "the version is in the record too"
    return first


def test_an_epoch_begins_with_the_directories_that_are_known() -> None:
    replica = named()
    change = leader_change(replica)
    assert (change.version, replica.core.control.kraft_version.last) == (1, 1)
    message = change.message
    assert isinstance(message, LeaderChangeMessage)
    keys = [ReplicaKey(one.voter_id, one.voter_directory_id) for one in message.voters]
    assert keys == [ME, TWO, THREE]
    granting = [ReplicaKey(one.voter_id, one.voter_directory_id) for one in message.granting_voters]
    assert granting == [ME, TWO]
    draft = kip_856.LeaderChangeMessage.decode(message.encode(1), 1)
    assert [one.voter_uuid for one in draft.voters] == [key.directory_id for key in keys]


def test_an_epoch_begins_without_directories_under_kraft_version_0() -> None:
    """KIP-853 has kraft.version decide which version of the message is written."""
    replica = unnamed()
    change = leader_change(replica)
    assert (change.version, replica.core.control.kraft_version.last) == (0, 0)
    assert change.message == LeaderChangeMessage.decode(change.message.encode(0), 0)


def test_a_log_whose_voters_were_named_before_that_raised_kraft_version_goes_on() -> None:
    """Its voters are named under kraft.version 0, and so its epochs begin without directories."""
    replica = unnamed()
    replica.core.control.voters.add(0, NAMED)
    assert leader_change(replica).version == 0


@pytest.mark.parametrize("kraft_version", [0, 1])
def test_under_shipped_rules_it_begins_without(kraft_version: int) -> None:
    """A controller of Kafka 4.4 reads version 0 alone, and ends where it meets version 1."""
    change = leader_change(elected(kraft_version=kraft_version))
    assert change.version == 0
    assert change.message == LeaderChangeMessage.decode(change.message.encode(0), 0)


def test_all_voters_are_named_in_one_batch_once_all_have_told() -> None:
    replica = unnamed()
    assert said(fetched(replica, TWO)) == []
    ((version, *records),) = said(fetched(replica, THREE))
    assert version.message == KRaftVersionRecord(kraft_version=1), "all voters have it then"
    expected = [AddVoterRecord(voter_id=key.id, voter_uuid=key.directory_id) for key in NAMED.keys]
    assert sorted(map(repr, [one.message for one in records])) == sorted(map(repr, expected))
    assert replica.core.voters == NAMED


def test_the_newest_directory_of_a_voter_counts() -> None:
    replica = unnamed()
    fetched(replica, THREE)
    fetched(replica, NEW_DISK)
    fetched(replica, TWO)
    assert replica.core.voters.keys == {ME, TWO, NEW_DISK}


def test_voters_are_named_behind_a_committed_record() -> None:
    replica = unnamed()
    lead(replica).high_watermark = None
    lead(replica).flushed = 0
    assert said(fetched(replica, TWO, 0)) == []
    assert said(fetched(replica, THREE, 0)) == []
    flushed(replica)
    assert len(said(fetched(replica, TWO))) == 1


def test_state_machines_write_when_all_voters_have_the_names() -> None:
    replica = unnamed()
    core = replica.core

    def settled() -> ProposalOutcome | None:
        effects = replica.step(core.now, Propose("token", [b"record"]))
        return next((one for one in effects if isinstance(one, ProposalOutcome)), None)

    lost = ProposalOutcome("token", None)
    assert settled() == lost, "nobody is named"
    fetched(replica, TWO)
    fetched(replica, THREE)
    assert settled() == lost, "nobody has the names"
    fetched(replica, TWO)
    effects = flushed(replica)
    assert core.committed == core.log.end
    assert not [one for one in effects if isinstance(one, Leading)]
    assert settled() == lost, "one has not"
    assert Leading(4) in fetched(replica, THREE)
    assert settled() is None
    assert not said(fetched(replica, TWO)), "they are named once"


def test_who_has_not_told_that_it_leads_does_not_tell_that_it_leads_no_more() -> None:
    assert StoppedLeading(4) not in unnamed().step(5000, Resign())
    assert StoppedLeading(4) in named().step(5000, Resign())


def test_a_later_leader_too_waits_until_all_voters_have_the_names() -> None:
    replica = led_again(named())
    flushed(replica)
    assert Leading(6) not in fetched(replica, TWO)
    assert replica.core.committed == replica.core.log.end
    assert Leading(6) in fetched(replica, THREE)


def test_where_state_machines_have_written_they_write_at_once() -> None:
    replica = named()
    replica.step(replica.core.now, Propose("token", [b"record"]))
    assert lead(led_again(replica)).is_open


def test_what_state_machines_have_written_may_be_truncated_and_may_be_in_a_snapshot() -> None:
    control = after(adding(ME, TWO, THREE))
    assert not POLICY.is_open(control)
    control.apply(data_batch(3, 1, 0, [b"record"]))
    assert POLICY.is_open(control)
    control.truncate(3)
    assert not POLICY.is_open(control)
    control.load(OffsetAndEpoch(1, 1), [])
    assert not POLICY.is_open(control)
    control.apply(control_batch(1, 1, 0, adding(ME, TWO, THREE)))
    assert not POLICY.is_open(control), "nobody has written"
    control.load(OffsetAndEpoch(9, 1), [control_batch(0, 1, 0, adding(ME, TWO, THREE))])
    assert POLICY.is_open(control)


def test_what_was_written_before_the_names_opens_nothing() -> None:
    control = ControlState(CONFIGURED, POLICY.registry)
    control.apply(data_batch(0, 1, 0, [b"record"]))
    assert not POLICY.is_open(control)


def test_a_sole_voter_names_itself() -> None:
    alone = VoterSet([Voter(ReplicaKey(1), listeners_of(1))])
    replica = unnamed(voters=alone, static_voters=alone)
    assert replica.core.voters.keys == {ME}
    replica.step(replica.core.now, Tick())
    assert not lead(replica).is_open, "its disk has not the names yet"
    assert Leading(4) in flushed(replica)


# -- snapshots ---------------------------------------------------------------------------------


def test_a_snapshot_begins_with_the_voters() -> None:
    replica = named()
    core = replica.core
    replica.step(core.now, Propose("token", [b"record"]))
    flushed(replica)
    fetched(replica, TWO)
    snapshot, content = take_snapshot(replica)
    store = MemoryStore(CONFIGURED, POLICY.registry)
    store.snapshots[snapshot] = content
    found = store.recover()
    assert found.control.voters.last == NAMED
    assert found.control.voters.last_offset == snapshot.offset - 1
    assert found.control.kraft_version.last == 1


def test_a_snapshot_of_what_came_before_the_names_has_none() -> None:
    replica = unnamed()
    snapshot = OffsetAndEpoch(replica.core.log.end, 4)
    content = begin_snapshot(replica.core, snapshot, 0).finish(0)
    store = MemoryStore(CONFIGURED, POLICY.registry)
    store.snapshots[snapshot] = content
    control = store.recover().control
    assert (control.voters.last, control.first_data) == (CONFIGURED, None)
    assert control.kraft_version.last == 0
