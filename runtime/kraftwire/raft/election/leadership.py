"""What a leader does: the beginning of its epoch, and what is committed in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import Leading, Settled
from kraftwire.raft.core.messages import begin_quorum_epoch_request, end_quorum_epoch_request
from kraftwire.raft.core.roles import Candidate, Leader, Progress, Resigned
from kraftwire.raft.membership import policy_of
from kraftwire.raft.metadata_log.batches import Control, control_batch, data_batch
from kraftwire.raft.state.majorities import majority, majority_end
from kraftwire.raft.state.voters import NO_DIRECTORY, ReplicaKey, VoterSet
from kraftwire_messages.kafka import LeaderChangeMessage
from kraftwire_wire.records import ControlType

_NOT_FETCHED = -1
_NEVER = -1


class AskedBegin(NamedTuple):
    """A voter was told who leads."""


class AskedEnd(NamedTuple):
    """A voter was told that the epoch has ended."""

    voter: ReplicaKey


def begin_epoch(core: Core) -> None:
    """Lead the epoch that was won, beginning with a batch that says so."""
    candidate = core.role
    assert isinstance(candidate, Candidate), "only candidates are elected"
    policy = policy_of(core.config)
    leader = Leader(
        epoch=core.epoch,
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
    said = policy.first_records(core.control, core.myself)
    append_controls(core, leader, [_leader_change(core, leader), *said])


def _leader_change(core: Core, leader: Leader) -> Control:
    def voters(keys: list[ReplicaKey]) -> list[LeaderChangeMessage.Voter]:
        return [
            LeaderChangeMessage.Voter(
                voter_id=key.id, voter_directory_id=key.directory_id if version else NO_DIRECTORY
            )
            for key in keys
        ]

    kraft_version = core.control.kraft_version.last
    version = policy_of(core.config).leader_change_version(kraft_version)
    message = LeaderChangeMessage(
        version=version,
        leader_id=core.key.id,
        voters=voters([voter.key for voter in core.voters]),
        granting_voters=voters(sorted(leader.granted)),
    )
    return Control(ControlType.LEADER_CHANGE, message, version)


def append_controls(core: Core, leader: Leader, said: Sequence[Control]) -> None:
    """Put control records into the log; a voter set among them is in force at once."""
    before = core.voters
    core.append(control_batch(core.log.end, core.epoch, core.now, said))
    _note_voters(core, leader, before)
    core.flush()


def _note_voters(core: Core, leader: Leader, before: VoterSet) -> None:
    """Go on with another voter set: what is known of a replica stays, voter or not."""

    def now(key: ReplicaKey) -> ReplicaKey:
        is_told = key in before.keys and key.directory_id == NO_DIRECTORY
        same_id = core.voters.of_id(key.id) if is_told else ()
        return same_id[-1].key if same_id else key

    known = {now(key): progress for key, progress in leader.progress.items()}
    leader.progress = {voter.key: Progress() for voter in core.voters} | known
    leader.heard &= core.voters.keys
    if len(core.voters) == 1:
        leader.check_quorum_deadline = None
    elif leader.check_quorum_deadline is None:
        leader.check_quorum_deadline = core.now + core.config.check_quorum_ms


def name_voters(core: Core, leader: Leader) -> None:
    """Say in the log who the voters are, once all have told, and then let state machines write.

    Each voter has the records that say so before that (KIP-856), whichever leader has written them.
    As any change they are written behind a record of this epoch that is committed.
    """
    if leader.is_open:
        return
    if leader.named_end is not None:
        ends = [leader.flushed, *(_end_of(leader, key) for key in core.others)]
        leader.is_open = min(ends) >= leader.named_end
        if leader.is_open:
            core.effects.append(Leading(core.epoch))
    elif leader.high_watermark is not None:
        said = policy_of(core.config).naming_records(core.voters, leader.directories)
        if said:
            append_controls(core, leader, said)
            leader.named_end = core.log.end


def is_removed(core: Core, leader: Leader) -> bool:
    """Whether this leader is no voter any more, and that is committed: it has to resign.

    Up to then it leads, and is not counted (KIP-853).
    """
    end = leader.high_watermark
    return not core.is_voter and end is not None and core.control.voters.is_committed(end)


def resign(core: Core, leader: Leader) -> None:
    """Lead no more; those with the longest logs should be next."""
    successors = sorted(core.others, key=lambda key: (-_end_of(leader, key), key))
    core.become_resigned(tuple(successors))


def tell_voters(core: Core, leader: Leader) -> None:
    """Tell voters that do not fetch who leads."""
    leader.begin_quorum_deadline = core.now + core.config.begin_quorum_ms
    for key in core.others:
        progress = leader.progress.get(key)
        last = progress.last_fetch_ms if progress is not None else _NEVER
        is_quiet = last == _NEVER or core.now - last >= core.config.begin_quorum_ms
        address = core.reach(key)
        if is_quiet and address is not None:
            request = begin_quorum_epoch_request(
                core.config.cluster_id, core.key.id, key, core.epoch, core.config.listeners
            )
            core.send(key.id, address, AskedBegin(), request)


def tell_successors(core: Core, resigned: Resigned) -> None:
    """Tell voters that have not answered yet that the epoch has ended, and who should be next."""
    for key in sorted(resigned.untold):
        address = core.reach(key)
        if address is not None:
            request = end_quorum_epoch_request(
                core.config.cluster_id, core.key.id, core.epoch, resigned.successors, ()
            )
            core.send(key.id, address, AskedEnd(key), request)


def propose(core: Core, token: object, values: Sequence[bytes]) -> None:
    """Put records of the state machine into the log; only a leader can that has told so."""
    leader = core.role
    if not isinstance(leader, Leader) or not leader.is_open:
        core.effects.append(Settled(token, None))
        return
    core.append(data_batch(core.log.end, core.epoch, core.now, values))
    leader.proposed.append((token, core.log.end))
    core.flush()


def note_flushed(core: Core, end: int) -> None:
    """Count the leader's own log as far as it is durable."""
    if isinstance(core.role, Leader):
        core.role.flushed = max(core.role.flushed, min(end, core.log.end))
        advance(core, core.role)


def note_fetch(core: Core, leader: Leader, replica: ReplicaKey, offset: int) -> None:
    """Take in that a replica has the log up to an offset; who has no id is not counted."""
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
    elif 0 < progress.leader_end <= offset:  # it has what there was when it fetched before
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
    """Make room for another observer: any client may fetch as any number of them."""
    observers = [key for key in leader.progress if key not in core.voters.keys]
    if len(observers) >= core.config.max_observers:
        del leader.progress[min(observers, key=lambda key: leader.progress[key].last_fetch_ms)]


def note_heard(core: Core, leader: Leader, voter: ReplicaKey) -> None:
    """Stay leader for a while longer, once a majority with the leader has been heard."""
    leader.heard.add(voter)
    others = majority(len(core.voters)) - (1 if core.is_voter else 0)
    if leader.check_quorum_deadline is not None and len(leader.heard) >= others:
        leader.heard.clear()
        leader.check_quorum_deadline = core.now + core.config.check_quorum_ms


def advance(core: Core, leader: Leader) -> None:
    """Commit what a majority has, once that reaches into this epoch (Raft, 5.4.2)."""
    own = core.voters.find(core.key)
    ends = [leader.flushed if voter is own else _end_of(leader, voter.key) for voter in core.voters]
    end = majority_end(ends) if ends else _NOT_FETCHED
    if end > leader.epoch_start and end > (leader.high_watermark or 0):
        leader.high_watermark = end
        core.has_news = True
        core.commit(end)
        for token, behind in leader.proposed:
            if behind <= end:
                core.effects.append(Settled(token, behind))
        leader.proposed = [one for one in leader.proposed if one[1] > end]


def _end_of(leader: Leader, voter: ReplicaKey) -> int:
    """Up to where another voter is known to have the log."""
    progress = leader.progress.get(voter)
    end = progress.end_offset if progress is not None else None
    return _NOT_FETCHED if end is None else end
