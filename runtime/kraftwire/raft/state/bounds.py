"""Which epochs and offsets a replica believes when other nodes announce them.

Epochs are int32 and never fall. A replica that adopts a high epoch can never go back, and after the
highest it can never take part in an election again. Anybody who reaches a listener can send a Vote
with any id: a candidate may be unknown to the voters that it asks (KIP-853), and ids prove nothing.
So belief depends on how a number arrives:

- No input raises the epoch above `MAX_EPOCH`. The epochs above are never used, not by this
  replica's own elections either, so a replica can go on in `MAX_EPOCH` itself.
- A pre-vote never changes the epoch (Kafka adopts it, which KIP-996 does not need). The answer
  names the epoch of the request, or Kafka's controller would ignore it.
- A response may raise the epoch by any amount up to `MAX_EPOCH` if this replica chose to ask the
  node: a bootstrap server, or a voter at its address in the voter set. This is how a new observer
  with epoch 0 joins an old cluster, and how a node catches up after months. A replica asks such
  nodes again and again, so it never depends on a request to learn an epoch.
- All other messages, which are requests of any kind and responses of a node that only a request has
  named, raise the epoch of a voter no further than elections explain (`EpochAllowance`): at most
  `MAX_JUMP` in one step, and `JUMPS_PER_ELECTION` for each election timeout after that. A voter
  starts at most one election in that time, so a quorum would need more than 16 voters, all without
  pre-votes, to be faster. Jumps by the third rule also use up the allowance, so that many strangers
  get no further than one. With the default timeout of 1 s a stranger needs four years of requests
  to bring a quorum to `MAX_EPOCH`, and replicas log and count the refusals all the while. (A
  stranger that may add voters can end the quorum more easily: it adds itself.) A refused request
  costs an honest cluster only time: soon one of the two nodes asks the other, and the third rule
  applies.
- A replica that is not a voter believes less: no request while a leader answers it, and never more
  than `JUMPS_PER_ELECTION` above the last epoch that it learned by the third rule. A voter that is
  ahead of its leader reports its epoch in the response to BeginQuorumEpoch, but observers get no
  such request, and a leader of an earlier epoch does not serve them. Their votes can matter: the
  record that makes them voters may be missing from their log (KIP-853). But then
  no leader answers them, and they ask other nodes.
- A leader resigns for a replica that fetches in a later epoch, within its own allowance. Kafka's
  leaders do not, so a stranger can keep an observer from ever following one of those.

Offsets above `MAX_OFFSET` are refused from every source; no log gets there record by record.

    if accepts_epoch(core, epoch):  # in `claims`, which refuses and counts
        core.become_unattached(epoch)
"""

from __future__ import annotations

MAX_EPOCH = (1 << 31) - 1 - (1 << 20)
"""The highest epoch that a replica is ever in."""
MAX_OFFSET = 1 << 62
"""The highest offset that a log or a snapshot can end at."""
MIN_FREE_OFFSETS = 1 << 20
"""A replica becomes a candidate only if its log has this many offsets left."""
MAX_JUMP = 1024
"""The most by which requests can raise the epoch in one step."""
JUMPS_PER_ELECTION = 16
"""How much allowance is restored in each election timeout."""

HOW_TO_RESET = (
    "if every voter has such an epoch, a stray request has raised it: stop them all, and in each "
    "quorum-state set leaderEpoch to the same number, above the last epoch of every log, and "
    "leaderId and votedId to -1, and votedDirectoryId, if it is there, to AAAAAAAAAAAAAAAAAAAAAA"
)
"""How to repair a quorum that has stored an impossible epoch.

All voters have to forget their votes together, and no epoch may be used twice.
"""


class EpochAllowance:
    """How much requests may still raise the epoch; times are in ms."""

    def __init__(self, election_timeout_ms: int, now: int) -> None:
        self._timeout_ms = max(election_timeout_ms, 1)
        self._left = MAX_JUMP
        self._spent_at = now

    def spend(self, epochs: int, now: int) -> bool:
        """Use part of the allowance; return False and change nothing if it is too small."""
        left = self._left_at(now)
        if epochs > left:
            return False
        self._left, self._spent_at = left - epochs, now
        return True

    def use_up(self, epochs: int, now: int) -> None:
        """Use part of the allowance, or all of it if it is too small."""
        self._left, self._spent_at = max(self._left_at(now) - epochs, 0), now

    def _left_at(self, now: int) -> int:
        earned = (now - self._spent_at) * JUMPS_PER_ELECTION // self._timeout_ms
        return min(MAX_JUMP, self._left + earned)


def is_epoch(epoch: int) -> bool:
    """Whether a replica can be in an epoch."""
    return 0 <= epoch <= MAX_EPOCH


def is_offset(offset: int) -> bool:
    """Whether a log can end at an offset."""
    return 0 <= offset <= MAX_OFFSET
