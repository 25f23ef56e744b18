"""The votes that a replica has received in an election or a pre-vote."""

from __future__ import annotations

from kraftwire.raft.state.voters import ReplicaKey, VoterSet


class Tally:
    """Votes of the voters that were in the set when the election began."""

    def __init__(self, voters: VoterSet, own: ReplicaKey) -> None:
        """`own` votes for itself, which counts if it is a voter."""
        self._voters = voters
        self._needed = voters.majority
        self._granted: set[ReplicaKey] = set()
        self._refused: set[ReplicaKey] = set()
        self.note(own, granted=True)

    def note(self, voter: ReplicaKey, *, granted: bool) -> None:
        """Count a voter's vote, which replaces its earlier one; ignore other replicas."""
        known = self._voters.find(voter)
        if known is None:
            return
        (self._refused if granted else self._granted).discard(known.key)
        (self._granted if granted else self._refused).add(known.key)

    @property
    def granted(self) -> frozenset[ReplicaKey]:
        return frozenset(self._granted)

    @property
    def silent(self) -> list[ReplicaKey]:
        """The voters that have not answered, in the order of the set."""
        answered = self._granted | self._refused
        return [voter.key for voter in self._voters if voter.key not in answered]

    @property
    def is_won(self) -> bool:
        return len(self._granted) >= self._needed

    @property
    def is_lost(self) -> bool:
        return len(self._voters) - len(self._refused) < self._needed
