"""Voters: replicas by id and directory, their listeners, and voter sets.

A replica is identified by its id and by that of its log directory (KIP-853): with another disk it
is another replica.
A voter whose directory is unknown, from a static configuration, matches every replica of its id.
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
"""The directory id of a replica that has not reported one."""


class ReplicaKey(NamedTuple):
    """An id and a directory id; without the latter, the key matches any replica of the id."""

    id: int
    directory_id: UUID = NO_DIRECTORY

    def matches(self, replica: ReplicaKey) -> bool:
        """Whether this key matches a replica."""
        return self.id == replica.id and self.directory_id in (NO_DIRECTORY, replica.directory_id)


class Listener(NamedTuple):
    """A listener of a replica, under a name such as CONTROLLER."""

    name: str
    host: str
    port: int


class Voter(NamedTuple):
    """A voter, its listeners, and the range of kraft.version that it supports."""

    key: ReplicaKey
    listeners: tuple[Listener, ...] = ()
    min_kraft_version: int = 0
    max_kraft_version: int = 0

    @property
    def id(self) -> int:
        return self.key.id

    def describes_same_as(self, other: Voter) -> bool:
        """Whether both describe a replica the same way; the order of listeners does not matter."""
        is_same = set(self.listeners) == set(other.listeners)
        return is_same and self._replace(listeners=other.listeners) == other


class VoterSet:
    """Voters in the order of their keys; immutable.

    The membership policy decides whether an id may occur twice, with two directories.
    """

    def __init__(self, voters: Iterable[Voter]) -> None:
        self.voters = tuple(sorted(voters, key=lambda voter: voter.key))
        self._by_id: dict[int, tuple[Voter, ...]] = {}
        self._unnamed: dict[int, Voter] = {}
        """The voters whose directory is unknown, by id."""
        for voter in self.voters:
            same_id = self._by_id.get(voter.id, ())
            if any(other.key == voter.key for other in same_id):
                raise ValueError(f"voter {voter.key} occurs twice")
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
        return frozenset(voter.key for voter in self.voters)

    @property
    def majority(self) -> int:
        return majority(len(self.voters))

    def of_id(self, replica_id: int) -> tuple[Voter, ...]:
        return self._by_id.get(replica_id, ())

    def find(self, key: ReplicaKey) -> Voter | None:
        """Return the voter with a key, or the one of its id whose directory is unknown."""
        for voter in self._by_id.get(key.id, ()):
            if voter.key == key:
                return voter
        return self._unnamed.get(key.id)

    def adding(self, voter: Voter) -> VoterSet:
        """Return the set with one more voter; raise `ValueError` if the key is already in it."""
        return VoterSet((*self.voters, voter))

    def removing(self, key: ReplicaKey) -> VoterSet:
        """Return the set without exactly this key; raise `ValueError` if it lacks the key."""
        if key not in self.keys:
            raise ValueError(f"no voter {key}")
        return VoterSet(voter for voter in self.voters if voter.key != key)

    def updating(self, voter: Voter) -> VoterSet:
        """Return the set with another description of a voter; raise `ValueError` if it lacks it.

        This may add the directory of a voter whose directory was unknown.
        """
        before = self.find(voter.key)
        if before is None:
            raise ValueError(f"no voter {voter.key}")
        return VoterSet(voter if one is before else one for one in self.voters)


NO_VOTERS = VoterSet(())


def encode_voters(voters: VoterSet) -> VotersRecord:
    """Return the record of a voter set."""
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
    """Return the voter set in a record; raise `ValueError` if a key occurs twice."""
    return VoterSet(
        Voter(
            ReplicaKey(voter.voter_id, voter.voter_directory_id),
            tuple(Listener(one.name, one.host, one.port) for one in voter.endpoints),
            voter.kraft_version_feature.min_supported_version,
            voter.kraft_version_feature.max_supported_version,
        )
        for voter in record.voters
    )
