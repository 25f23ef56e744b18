"""What a leader does: the start of its epoch, appends, commits, and the end of its leadership."""

from __future__ import annotations

from collections.abc import Sequence

from kraftwire.raft.core.connections import ResignationNotice
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import Leading, ProposalOutcome
from kraftwire.raft.core.messages import begin_quorum_epoch_request, end_quorum_epoch_request
from kraftwire.raft.core.roles import Candidate, Leader, Progress, Resigned
from kraftwire.raft.metadata_log.batches import ControlRecord, control_batch, data_batch
from kraftwire.raft.state.majorities import majority_end
from kraftwire.raft.state.voters import NO_DIRECTORY, ReplicaKey, VoterSet
from kraftwire_messages.kafka import LeaderChangeMessage
from kraftwire_wire.records import ControlType

_UNKNOWN = -1


def begin_epoch(core: Core) -> None:
    """Lead the epoch that this candidate has won, and append its LeaderChangeMessage."""
    candidate = core.role
    assert isinstance(candidate, Candidate), "only candidates are elected"
    policy = core.policy
    leader = Leader(
        epoch=core.epoch,
        leader_id=core.key.id,
        leader_listeners=core.config.listeners,
        epoch_start=core.log.end,
        granted=candidate.tally.granted,
        check_quorum_deadline=None,
        begin_quorum_deadline=core.now,
        flushed=core.log.end,
        is_open=policy.is_open(core.control),
        directories={core.key.id: core.key.directory_id},
        named_end=core.log.end if policy.has_named(core.voters) else None,
    )
    if core.control.kraft_version.last < policy.needed_kraft_version:
        leader.described = core.voters.updating(core.myself)
    core.become_leader(leader)
    if leader.is_open:
        core.effects.append(Leading(core.epoch))
    records = policy.first_records(core.control, core.myself)
    append_controls(core, leader, [_leader_change(core, leader), *records])


def _leader_change(core: Core, leader: Leader) -> ControlRecord:
    def voters(keys: list[ReplicaKey]) -> list[LeaderChangeMessage.Voter]:
        return [
            LeaderChangeMessage.Voter(
                voter_id=key.id, voter_directory_id=key.directory_id if version else NO_DIRECTORY
            )
            for key in keys
        ]

    kraft_version = core.control.kraft_version.last
    version = core.policy.leader_change_version(kraft_version)
    message = LeaderChangeMessage(
        version=version,
        leader_id=core.key.id,
        voters=voters([voter.key for voter in core.voters]),
        granting_voters=voters(sorted(leader.granted)),
    )
    return ControlRecord(ControlType.LEADER_CHANGE, message, version)


def append_controls(core: Core, leader: Leader, controls: Sequence[ControlRecord]) -> None:
    """Append control records; a voter set among them is in force immediately."""
    before = core.voters
    core.append(control_batch(core.log.end, core.epoch, core.now, controls))
    _note_voters(core, leader, before)
    core.flush()


def _note_voters(core: Core, leader: Leader, before: VoterSet) -> None:
    """Adopt a changed voter set, and keep the progress of all replicas."""

    def key_after(key: ReplicaKey) -> ReplicaKey:
        was_unnamed = key in before.keys and key.directory_id == NO_DIRECTORY
        same_id = core.voters.of_id(key.id) if was_unnamed else ()
        return same_id[-1].key if same_id else key

    known = {key_after(key): progress for key, progress in leader.progress.items()}
    leader.progress = {voter.key: Progress() for voter in core.voters} | known
    leader.heard &= core.voters.keys
    if len(core.voters) == 1:
        leader.check_quorum_deadline = None
    elif leader.check_quorum_deadline is None:
        leader.check_quorum_deadline = core.now + core.config.check_quorum_ms


def name_voters(core: Core, leader: Leader) -> None:
    """Append the directory ids of the voters once all have reported them (KIP-856).

    As with any change, a record of this epoch has to be committed first. State machines may propose
    once each voter has these records, whichever leader wrote them.
    """
    if leader.is_open:
        return
    if leader.named_end is not None:
        ends = [leader.flushed, *(_end_of(leader, key) for key in core.others)]
        leader.is_open = min(ends) >= leader.named_end
        if leader.is_open:
            core.effects.append(Leading(core.epoch))
    elif leader.high_watermark is not None:
        records = core.policy.naming_records(core.voters, leader.directories)
        if records:
            append_controls(core, leader, records)
            leader.named_end = core.log.end


def is_removed(core: Core, leader: Leader) -> bool:
    """Whether the removal of this leader as a voter is committed, so that it has to resign.

    Until then it leads, and its own log does not count (KIP-853).
    """
    end = leader.high_watermark
    return not core.is_voter and end is not None and core.control.voters.is_committed(end)


def resign(core: Core, leader: Leader) -> None:
    """Stop leading, and prefer the voters with the longest logs as successors."""
    successors = sorted(core.others, key=lambda key: (-_end_of(leader, key), key))
    core.become_resigned(tuple(successors))


def announce_leader(core: Core, leader: Leader) -> None:
    """Send BeginQuorumEpoch to voters that do not fetch."""
    leader.begin_quorum_deadline = core.now + core.config.begin_quorum_ms
    for key in core.others:
        last = leader.progress.get(key, Progress()).last_fetch_ms
        is_quiet = last < 0 or core.now - last >= core.config.begin_quorum_ms
        address = core.address_if_ready(key)
        if is_quiet and address is not None:
            request = begin_quorum_epoch_request(
                core.config.cluster_id, core.key.id, key, core.epoch, core.config.listeners
            )
            core.send(key.id, address, request)


def announce_resignation(core: Core, resigned: Resigned) -> None:
    """Send EndQuorumEpoch to voters that have not answered one yet."""
    for key in sorted(resigned.unacknowledged):
        address = core.address_if_ready(key)
        if address is not None:
            request = end_quorum_epoch_request(
                core.config.cluster_id, core.key.id, core.epoch, resigned.successors, ()
            )
            core.send(key.id, address, request, ResignationNotice(key))


def propose(core: Core, token: object, values: Sequence[bytes]) -> None:
    """Append records of the state machine, if this leader has reported `Leading`."""
    leader = core.role
    if not isinstance(leader, Leader) or not leader.is_open:
        core.effects.append(ProposalOutcome(token, None))
        return
    core.append(data_batch(core.log.end, core.epoch, core.now, values))
    leader.proposals.append((token, core.log.end))
    core.flush()


def note_flushed(core: Core, end: int) -> None:
    """Count the durable part of the leader's own log toward the high watermark."""
    if isinstance(core.role, Leader):
        core.role.flushed = max(core.role.flushed, min(end, core.log.end))
        advance(core, core.role)


def note_fetch(core: Core, leader: Leader, replica: ReplicaKey, offset: int) -> None:
    """Note that a replica has the log up to an offset; ignore clients without a replica id."""
    voter = core.voters.find(replica)
    key = replica if voter is None else voter.key
    if key.id < 0:
        return
    progress = leader.progress.get(key)
    if progress is None:
        _forget_observers(core, leader)
        progress = leader.progress[key] = Progress()
    if offset >= core.log.end:
        progress.last_caught_up_ms = core.now
    elif 0 < progress.leader_end <= offset:  # it has all that the log had at its last Fetch
        progress.last_caught_up_ms = max(progress.last_caught_up_ms, progress.last_fetch_ms)
    progress.end_offset = offset
    progress.last_fetch_ms = core.now
    progress.leader_end = core.log.end
    if voter is not None:
        if not leader.is_open and replica.directory_id != NO_DIRECTORY:
            leader.directories[voter.id] = replica.directory_id
        note_heard(core, leader, voter.key)
        advance(core, leader)


def _forget_observers(core: Core, leader: Leader) -> None:
    """Make room for another observer: a client may pretend to be any number of them."""
    observers = [key for key in leader.progress if key not in core.voters.keys]
    if len(observers) >= core.config.max_observers:
        del leader.progress[min(observers, key=lambda key: leader.progress[key].last_fetch_ms)]


def note_heard(core: Core, leader: Leader, replica: ReplicaKey) -> None:
    """Note that a voter fetches. Once a majority has, including the leader, lead for longer."""
    voter = core.voters.find(replica)
    if voter is None:
        return
    leader.heard.add(voter.key)
    others = core.voters.majority - (1 if core.is_voter else 0)
    if leader.check_quorum_deadline is not None and len(leader.heard) >= others:
        leader.heard.clear()
        leader.check_quorum_deadline = core.now + core.config.check_quorum_ms


def advance(core: Core, leader: Leader) -> None:
    """Commit the records that a majority has, if some are of this epoch (Raft, 5.4.2)."""
    own = core.voters.find(core.key)
    ends = [leader.flushed if voter is own else _end_of(leader, voter.key) for voter in core.voters]
    end = majority_end(ends) if ends else _UNKNOWN
    if end > leader.epoch_start and end > (leader.high_watermark or 0):
        leader.high_watermark = end
        core.has_news = True
        core.commit(end)
        for token, after in leader.proposals:
            if after <= end:
                core.effects.append(ProposalOutcome(token, after))
        leader.proposals = [one for one in leader.proposals if one[1] > end]


def _end_of(leader: Leader, voter: ReplicaKey) -> int:
    end = leader.progress.get(voter, Progress()).end_offset
    return _UNKNOWN if end is None else end
