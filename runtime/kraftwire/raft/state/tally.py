"""The answers to a question that a replica asks all voters, as a rule itself among them."""

from __future__ import annotations

from kraftwire.raft.state.majorities import majority
from kraftwire.raft.state.voters import ReplicaKey, VoterSet


class Tally:
    """Who has said yes and no, of the voters that there were when it was asked."""

    def __init__(self, voters: VoterSet, own: ReplicaKey) -> None:
        """`own` is who asks; its answer is yes, and counts where it is a voter."""
        self._voters = voters
        self._needed = majority(len(voters))
        self._granted: set[ReplicaKey] = set()
        self._refused: set[ReplicaKey] = set()
        self.note(own, granted=True)

    def note(self, voter: ReplicaKey, *, granted: bool) -> None:
        """Take in an answer; a later one of the same voter counts, that of another none."""
        known = self._voters.find(voter)
        if known is None:
            return
        (self._refused if granted else self._granted).discard(known.key)
        (self._granted if granted else self._refused).add(known.key)

    @property
    def granted(self) -> frozenset[ReplicaKey]:
        """Who has said yes."""
        return frozenset(self._granted)

    @property
    def silent(self) -> list[ReplicaKey]:
        """Who has not answered, in the order of the set."""
        answered = self._granted | self._refused
        return [voter.key for voter in self._voters if voter.key not in answered]

    @property
    def is_won(self) -> bool:
        """Whether a majority has said yes."""
        return len(self._granted) >= self._needed

    @property
    def is_lost(self) -> bool:
        """Whether no majority can say yes any more."""
        return len(self._voters) - len(self._refused) < self._needed
