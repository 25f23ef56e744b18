"""Replicas with one bug each, which the simulator has to find.

Each mutant patches one function. `python -m codec_tests.simulation.mutants` runs them all and
prints which seed found which, and the rule. With a directory and names, it writes the shortest
runs that show those mutants there (`codec_tests/raft/transcripts`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from kraftwire.raft import replica
from kraftwire.raft.core import claims, core, snapshots
from kraftwire.raft.core.messages import partition_of
from kraftwire.raft.core.roles import Follower, Leader, Prospective, Unattached
from kraftwire.raft.election import leadership, vote_client, vote_grants, vote_server
from kraftwire.raft.membership.kip_856 import Kip856
from kraftwire.raft.metadata_log import control_state, log_state
from kraftwire.raft.metadata_log.batches import split_batches
from kraftwire.raft.metadata_log.log_state import Valid
from kraftwire.raft.replication import fetch_client, fetch_server
from kraftwire.raft.state import majorities, tally
from kraftwire.raft.voter_set import change_server, checks
from kraftwire.simulation.replay import shrink
from kraftwire.simulation.run import simulate
from kraftwire.simulation.transcript import format_transcript
from kraftwire_messages.kafka import VoteRequest

SEEDS = 200


class Caught(NamedTuple):
    """The result for a mutant; `seed` is None if no seed found it."""

    name: str
    seed: int | None
    rule: str
    events: int


def _forget_a_vote() -> Any:
    def vote(self: Any, candidate: Any) -> None:
        self.role.voted = candidate

    return patch.object(core.Core, "vote", vote)


def _vote_twice() -> Any:
    def grants(role: Any, candidate: Any, *, is_up_to_date: bool) -> bool:
        return isinstance(role, Unattached | Prospective) and is_up_to_date

    def vote(self: Any, candidate: Any) -> None:
        self.role.voted = candidate
        self._save()

    return _all(
        patch.object(vote_server, "grants_vote", grants),
        patch.object(core.Core, "vote", vote),
        patch.object(core.Core, "voted", property(lambda self: None)),
    )


def _vote_for_a_shorter_log() -> Any:
    grants = vote_grants.grants_vote

    def any_log(role: Any, candidate: Any, *, is_up_to_date: bool) -> bool:
        return grants(role, candidate, is_up_to_date=True)

    return patch.object(vote_server, "grants_vote", any_log)


def _save_no_epoch() -> Any:
    def become(self: Any, epoch: int, leader_id: int | None = None) -> None:
        with patch.object(core.Core, "_save", lambda self: None):
            become_unattached(self, epoch, leader_id)

    become_unattached = core.Core.become_unattached
    return patch.object(core.Core, "become_unattached", become)


def _forget_that_it_led() -> Any:
    first_role = core.Core._first_role

    def first(self: Any, election: Any) -> Any:
        role = first_role(self, election._replace(leader_id=None, voted=None))
        return role if election.leader_id == self.key.id else first_role(self, election)

    return patch.object(core.Core, "_first_role", first)


def _win_without_a_majority() -> Any:
    def is_won(self: Any) -> bool:
        return bool(len(self._granted) >= max(1, self._needed - 1))

    return patch.object(tally.Tally, "is_won", property(is_won))


def _commit_an_old_epochs_entry() -> Any:
    advance = leadership.advance

    def any_epoch(core_: Any, leader: Leader) -> None:
        begin, leader.epoch_start = leader.epoch_start, -1
        try:
            advance(core_, leader)
        finally:
            leader.epoch_start = begin

    return patch.object(leadership, "advance", any_epoch)


def _commit_without_a_majority() -> Any:
    def most(end_offsets: Any) -> int:
        ordered = sorted(end_offsets, reverse=True)
        return int(ordered[max(0, len(ordered) // 2 - 1)])

    return patch.object(leadership, "majority_end", most)


def _count_a_leader_outside_the_set() -> Any:
    def advance(core_: Any, leader: Leader) -> None:
        ends = [leadership._end_of(leader, one) for one in core_.others] + [leader.flushed]
        end = majorities.majority_end(ends)
        if end > leader.epoch_start and end > (leader.high_watermark or 0):
            leader.high_watermark = end
            core_.has_news = True
            core_.commit(end)

    return patch.object(leadership, "advance", advance)


def _append_a_later_epoch() -> Any:
    """KAFKA-18723: a response is read after its leader has lost the epoch."""

    def append(core_: Any, data: bytes) -> bool:
        before = core_.log.end
        for batch in split_batches(data):
            if batch.header.base_offset != core_.log.end:
                return False
            core_.append(batch)
        if core_.log.end > before:
            core_.flush()
        return True

    return patch.object(fetch_client, "_append", append)


def _acknowledge_unflushed() -> Any:
    return patch.object(core.Core, "flush", lambda self: None)


def _truncate_what_is_committed() -> Any:
    def truncate(core_: Any, leader: Any) -> bool:
        if core_.log.start < core_.log.end:
            core_.truncate(core_.log.start)
        return True

    return patch.object(fetch_client, "_truncate", truncate)


def _truncate_nothing() -> Any:
    return patch.object(fetch_client, "_truncate", lambda core_, leader: True)


def _compare_no_logs() -> Any:
    return patch.object(log_state.LogState, "compare", lambda self, fetched: Valid())


def _keep_truncated_voters() -> Any:
    return patch.object(control_state.ControlState, "truncate", lambda self, offset: None)


def _change_two_voters_at_once() -> Any:
    return _all(
        patch.object(change_server, "check_is_settled", lambda leader: None),
        patch.object(change_server, "check_is_committed", lambda core_, leader: None),
    )


def _change_voters_before_the_epoch_commits() -> Any:
    """The bug of Raft's single-server changes that Ongaro reported in 2015."""

    def settled(leader: Leader) -> Any:
        return None

    def committed(core_: Any, leader: Leader) -> Any:
        last = core_.control.voters.last_offset
        return None if last < leader.epoch_start else check(core_, leader)

    check = checks.check_is_committed
    return _all(
        patch.object(change_server, "check_is_settled", settled),
        patch.object(change_server, "check_is_committed", committed),
    )


def _stand_again_where_somebody_leads() -> Any:
    """As a real controller does that lost its epoch, followed, and restarts."""
    first_role = core.Core._first_role

    def first(self: Any, election: Any) -> Any:
        if election.voted is not None and election.voted.matches(self.key) and self.is_voter:
            return first_role(self, election._replace(leader_id=None))
        return first_role(self, election)

    return patch.object(core.Core, "_first_role", first)


def _stand_only_as_a_voter() -> Any:
    """Two voters, and the leader removes itself: as real controllers do it."""
    return patch.object(core.Core, "is_electable", property(lambda self: self.is_voter))


def _commit_beyond_the_own_log() -> Any:
    commit = core.Core.commit

    def beyond(self: Any, end: int) -> None:
        commit(self, end + 1 if isinstance(self.role, Follower) else end)

    return patch.object(core.Core, "commit", beyond)


def _snapshot_what_is_not_committed() -> Any:
    def any_end(core_: Any, end: int) -> Any:
        latest = core_.log.latest_snapshot
        is_new = latest is None or latest.offset < core_.log.end
        return core_.log.id_of(core_.log.end) if is_new else None

    return patch.object(snapshots, "snapshot_id", any_end)


def _never_stand() -> Any:
    return patch.object(vote_client, "_become_candidate", lambda core_: None)


def _write_before_voters_are_named() -> Any:
    return patch.object(Kip856, "is_open", lambda *_: True)


def _leave_voters_out_of_snapshots() -> Any:
    return patch.object(Kip856, "snapshot_records", lambda *_: [])


def _adopt_any_epoch() -> Any:
    return _all(
        patch.object(vote_server, "accepts_epoch", lambda core_, epoch: True),
        patch.object(fetch_server, "accepts_epoch", lambda core_, epoch: True),
        patch.object(vote_server, "is_possible_epoch", lambda core_, epoch: True),
    )


def _adopt_the_epoch_of_a_pre_vote() -> Any:
    """As a real controller does."""

    def handle(core_: Any, request: Any, message: VoteRequest) -> None:
        partition = partition_of(message)
        epoch = partition.replica_epoch
        if partition.pre_vote and epoch > core_.epoch and claims.accepts_epoch(core_, epoch):
            core_.become_unattached(epoch)
        vote_server.handle_vote(core_, request, message)

    return patch.dict(replica._HANDLERS, {VoteRequest: handle})


MUTANTS: dict[str, Callable[[], Any]] = {
    "forgets a vote in a crash": _forget_a_vote,
    "votes for whoever asks": _vote_twice,
    "votes for a shorter log": _vote_for_a_shorter_log,
    "does not save a new epoch": _save_no_epoch,
    "forgets in a crash that it led": _forget_that_it_led,
    "wins with one vote too few": _win_without_a_majority,
    "never runs for election": _never_stand,
    "commits an old epoch's entry": _commit_an_old_epochs_entry,
    "commits what a minority has": _commit_without_a_majority,
    "counts a leader outside the set": _count_a_leader_outside_the_set,
    "appends a later epoch (KAFKA-18723)": _append_a_later_epoch,
    "acknowledges before it flushes": _acknowledge_unflushed,
    "truncates what is committed": _truncate_what_is_committed,
    "truncates nothing": _truncate_nothing,
    "serves any log as its own": _compare_no_logs,
    "keeps truncated voter sets": _keep_truncated_voters,
    "changes two voters at once": _change_two_voters_at_once,
    "changes voters too early (Ongaro 2015)": _change_voters_before_the_epoch_commits,
    "stands again where somebody leads": _stand_again_where_somebody_leads,
    "stands only as a voter": _stand_only_as_a_voter,
    "commits beyond its own log": _commit_beyond_the_own_log,
    "snapshots what is not committed": _snapshot_what_is_not_committed,
    "writes before voters are named (KIP-856)": _write_before_voters_are_named,
    "snapshots without voters (KIP-856)": _leave_voters_out_of_snapshots,
    "adopts any epoch": _adopt_any_epoch,
    "adopts the epoch of a pre-vote": _adopt_the_epoch_of_a_pre_vote,
}
STRANGERS_FIND = frozenset(
    {
        "adopts any epoch",
        "adopts the epoch of a pre-vote",
    }
)
"""Mutants that only the requests of a stranger show."""


@contextmanager
def _all(*patches: Any) -> Iterator[None]:
    with ExitStack() as stack:
        for one in patches:
            stack.enter_context(one)
        yield


def hunt(name: str, seeds: int = SEEDS) -> Caught:
    """Run seeds with a mutant until a rule breaks."""
    events = 0
    with MUTANTS[name]():
        for seed in range(seeds):
            run = simulate(seed, codecs=False, stranger=name in STRANGERS_FIND)
            events += run.events
            if run.violation is not None:
                return Caught(name, seed, run.violation.rule, events)
    return Caught(name, None, "", events)


def file_of(name: str) -> str:
    """Return the file name of the run that shows a mutant."""
    return f"{re.sub('[^a-z0-9]+', '_', name.lower()).strip('_')}.txt"


def keep(name: str, directory: Path) -> Path:
    """Write the shortest run that shows a mutant, as it goes without the mutant."""
    with MUTANTS[name]():
        stranger = name in STRANGERS_FIND
        runs = (simulate(seed, codecs=False, stranger=stranger) for seed in range(SEEDS))
        run = next(run for run in runs if run.violation is not None)
        steps = shrink(run, codecs=False)
    assert run.violation is not None, "chosen so"
    title = f"A replica that {name} breaks a rule here: {run.violation.rule}."
    path = directory / file_of(name)
    text = format_transcript(title, run.scenario, steps, in_quiet=run.is_stuck)
    path.write_text(text, encoding="utf-8")
    return path


def main(arguments: list[str]) -> int:
    """Print the table; with a directory and names of mutants, write their runs."""
    if arguments:
        directory = Path(arguments[0])
        for name in arguments[1:] or MUTANTS:
            print(keep(name, directory))
        return 0
    print(f"{'mutant':42}{'seed':>5}{'events':>10}  rule")
    missed = 0
    with ProcessPoolExecutor() as pool:
        for caught in pool.map(hunt, MUTANTS):
            missed += caught.seed is None
            seed = "-" if caught.seed is None else caught.seed
            print(f"{caught.name:42}{seed:>5}{caught.events:>10,}  {caught.rule or 'NOT FOUND'}")
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
