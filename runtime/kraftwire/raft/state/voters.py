"""Who votes: replicas by id and directory, where they listen, and sets of them.

A replica is an id and the directory that its log lies in (KIP-853): with another disk it is
another replica. An entry whose directory is not known, from a static configuration, stands
for its id alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple
from uuid import UUID

from kraftwire.raft.state.majorities import majority
from kraftwire_messages.kafka import VotersRecord
from kraftwire_wire.generated import ZERO_UUID

NO_DIRECTORY = ZERO_UUID
"""The directory of a replica that has told none."""


class ReplicaKey(NamedTuple):
    """What a replica is known by; without a directory, any of that id."""

    id: int
    directory_id: UUID = NO_DIRECTORY

    def means(self, replica: ReplicaKey) -> bool:
        """Whether this key is that of a replica; without a directory it is any of its id."""
        return self.id == replica.id and self.directory_id in (NO_DIRECTORY, replica.directory_id)


class Listener(NamedTuple):
    """Where a voter listens: the listener's name, host and port."""

    name: str
    host: str
    port: int


class Voter(NamedTuple):
    """A voter, its listeners (the first is the default), and the kraft.version it has."""

    key: ReplicaKey
    listeners: tuple[Listener, ...] = ()
    min_kraft_version: int = 0
    max_kraft_version: int = 0

    @property
    def id(self) -> int:
        """The id of the replica."""
        return self.key.id

    def agrees(self, other: Voter) -> bool:
        """Whether both say the same of a replica, in whatever order it listens."""
        places = set(self.listeners), set(other.listeners)
        return places[0] == places[1] and self._replace(listeners=other.listeners) == other


class VoterSet:
    """Voters in the order of their keys; it never changes, changes make other sets.

    Whether an id may be there twice, with two directories, is up to the membership policy.
    """

    def __init__(self, voters: Iterable[Voter]) -> None:
        """`ValueError` where a key is there twice."""
        self.voters = tuple(sorted(voters, key=lambda voter: voter.key))
        self._by_id: dict[int, tuple[Voter, ...]] = {}
        self._unnamed: dict[int, Voter] = {}
        """Those whose directory is not known."""
        for voter in self.voters:
            same_id = self._by_id.get(voter.id, ())
            if any(other.key == voter.key for other in same_id):
                raise ValueError(f"voter {voter.key} is there twice")
            self._by_id[voter.id] = (*same_id, voter)
            if voter.key.directory_id == NO_DIRECTORY:
                self._unnamed[voter.id] = voter

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and self.voters == other.voters

    def __hash__(self) -> int:
        return hash(self.voters)

    def __len__(self) -> int:
        return len(self.voters)

    def __iter__(self) -> Iterator[Voter]:
        return iter(self.voters)

    def __repr__(self) -> str:
        return f"VoterSet({', '.join(map(str, self.voters))})"

    @cached_property
    def keys(self) -> frozenset[ReplicaKey]:
        """The keys of all voters."""
        return frozenset(voter.key for voter in self.voters)

    @property
    def majority(self) -> int:
        """How many voters decide."""
        return majority(len(self.voters))

    def of_id(self, replica_id: int) -> tuple[Voter, ...]:
        """The voters with an id."""
        return self._by_id.get(replica_id, ())

    def find(self, key: ReplicaKey) -> Voter | None:
        """The voter that a replica is: by its key, or by id where the set knows no more."""
        for voter in self._by_id.get(key.id, ()):
            if voter.key == key:
                return voter
        return self._unnamed.get(key.id)

    def adding(self, voter: Voter) -> VoterSet:
        """The set with one more; `ValueError` where its key is there."""
        return VoterSet((*self.voters, voter))

    def removing(self, key: ReplicaKey) -> VoterSet:
        """The set without exactly this key; `ValueError` where it is not there."""
        if key not in self.keys:
            raise ValueError(f"no voter {key}")
        return VoterSet(voter for voter in self.voters if voter.key != key)

    def updating(self, voter: Voter) -> VoterSet:
        """The set with other listeners and versions of one; `ValueError` for one not there.

        A directory becomes known this way, which is no other voter.
        """
        before = self.find(voter.key)
        if before is None:
            raise ValueError(f"no voter {voter.key}")
        return VoterSet(voter if one is before else one for one in self.voters)


NO_VOTERS = VoterSet(())


def encode_voters(voters: VoterSet) -> VotersRecord:
    """The record that says a set, with all that is known of its voters."""
    return VotersRecord(
        voters=[
            VotersRecord.Voter(
                voter_id=voter.id,
                voter_directory_id=voter.key.directory_id,
                endpoints=[
                    VotersRecord.Endpoint(name=name, host=host, port=port)
                    for name, host, port in voter.listeners
                ],
                kraft_version_feature=VotersRecord.KRaftVersionFeature(
                    min_supported_version=voter.min_kraft_version,
                    max_supported_version=voter.max_kraft_version,
                ),
            )
            for voter in voters
        ]
    )


def decode_voters(record: VotersRecord) -> VoterSet:
    """The set that a record says; `ValueError` where a voter is there twice."""
    return VoterSet(
        Voter(
            ReplicaKey(voter.voter_id, voter.voter_directory_id),
            tuple(Listener(one.name, one.host, one.port) for one in voter.endpoints),
            voter.kraft_version_feature.min_supported_version,
            voter.kraft_version_feature.max_supported_version,
        )
        for voter in record.voters
    )
