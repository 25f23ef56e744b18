"""Which epochs and offsets a replica believes when other nodes announce them.

Epochs are int32 and never fall. A replica that adopts a high one can never go back, and one that
adopts the highest can never take part in an election again. Anybody who reaches a listener can
send a Vote, from any id: a candidate may be unknown to the voters that it asks (KIP-853), and ids
prove nothing. So what counts is how a number arrives:

- No input raises the epoch above `MAX_EPOCH`. The epochs above are never used, not by this
  replica's own elections either, so `MAX_EPOCH` itself is a sound epoch to be in.
- A pre-vote never changes the epoch (Kafka adopts it, which KIP-996 does not need). The answer
  speaks of the epoch that it was asked in, or a real controller would not count it.
- The answer of a node that this replica chose to ask, a bootstrap server or a voter at the address
  that the voter set has, may raise the epoch by any amount up to `MAX_EPOCH`. This is how a new
  observer with epoch 0 joins an old cluster, and how a node catches up that was away for months. A
  replica asks such nodes again and again, so it never depends on a request to learn an epoch.
- Everything else, requests of any kind and answers of a node that only a request has named, raises
  the epoch of a voter by what elections explain: `Allowance`. At most `MAX_JUMP` at once, and
  `JUMPS_PER_ELECTION` more for each election timeout. A voter begins at most one election in that
  time, so a quorum would need more than 16 voters, all of them without pre-votes, to be faster.
  Jumps by the third rule use the allowance up too, so many nodes get no further than one. With
  the default timeout of 1 s a stranger needs four years of requests to bring a quorum to
  `MAX_EPOCH`, and the refusals are logged and counted all the while. (One that may add voters needs
  none of that: it can name itself a voter, and ends the quorum in other ways too.) A refused
  request costs an honest cluster nothing but time: its sender is asked, or asks, and then the
  third rule holds.
- A replica that is not a voter believes less: no request while a leader answers it, and never more
  than `JUMPS_PER_ELECTION` above the last epoch of an answer that the third rule is about. A voter
  that is ahead of its leader says so when that sends BeginQuorumEpoch, but others are sent none,
  and a leader of an earlier epoch does not serve them. Their votes can matter, since the record
  that makes them voters may not be in their log (KIP-853); then no leader answers, and they ask.
- A leader gives way to a replica of a later epoch that fetches, within its own allowance. Kafka's
  leaders do not, so a stranger can keep a replica that is no voter from following one of those.

Offsets above `MAX_OFFSET` are refused wherever they come from; no log gets there record by record.

    if accepts_epoch(core, epoch):  # in `claims`, which refuses and counts
        core.become_unattached(epoch)
"""

from __future__ import annotations

MAX_EPOCH = (1 << 31) - 1 - (1 << 20)
"""The highest epoch that a replica is ever in."""
MAX_OFFSET = 1 << 62
"""The highest offset that a log or a snapshot can end at."""
LEADER_ROOM = 1 << 20
"""How many offsets a log must have left for its replica to become a candidate."""
MAX_JUMP = 1024
"""By how much requests can raise the epoch at once."""
JUMPS_PER_ELECTION = 16
"""How much of that comes back in each election timeout."""

HOW_TO_RESET = (
    "if every voter has such an epoch, a stray request has raised it: stop them all, and in each "
    "quorum-state set leaderEpoch to the same number, above the last epoch of every log, and "
    "leaderId and votedId to -1, and votedDirectoryId, if it is there, to AAAAAAAAAAAAAAAAAAAAAA"
)
"""What to do about a quorum whose stored elections are of an epoch that cannot be.

All voters must forget their votes together, and no epoch may be used twice.
"""


class Allowance:
    """By how much requests may raise the epoch still; times are in ms."""

    def __init__(self, election_timeout_ms: int, now: int) -> None:
        self._timeout_ms = max(election_timeout_ms, 1)
        self._left = MAX_JUMP
        self._spent_at = now

    def spend(self, epochs: int, now: int) -> bool:
        """Use some of it if there is so much; return whether there was."""
        left = self._left_at(now)
        if epochs > left:
            return False
        self._left, self._spent_at = left - epochs, now
        return True

    def use_up(self, epochs: int, now: int) -> None:
        """Use so much of it, or all that there is."""
        self._left, self._spent_at = max(self._left_at(now) - epochs, 0), now

    def _left_at(self, now: int) -> int:
        earned = (now - self._spent_at) * JUMPS_PER_ELECTION // self._timeout_ms
        return min(MAX_JUMP, self._left + earned)


def is_epoch(epoch: int) -> bool:
    """Whether an epoch is one that a replica can be in."""
    return 0 <= epoch <= MAX_EPOCH


def is_offset(offset: int) -> bool:
    """Whether an offset is one that a log can end at."""
    return 0 <= offset <= MAX_OFFSET
