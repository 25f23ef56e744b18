"""The voter set and kraft.version of a quorum, as its control records set them.

They come from the latest snapshot and from the whole log, committed or not. Kafka's VotersRecord
holds a whole set (KIP-853). The records of KIP-856 add and remove one voter each, and the listeners
come from the configuration. If the configured set has a voter without a directory, a record that
adds a voter of its id sets the directory.
"""

from __future__ import annotations

from collections.abc import Iterable

from kraftwire.log.batches.batch import Batch
from kraftwire.log.errors import CorruptBatch
from kraftwire.raft.metadata_log.batches import ControlRecord, controls_of
from kraftwire.raft.metadata_log.history import History, HistoryEntry
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.state.voters import NO_VOTERS, ReplicaKey, Voter, VoterSet, decode_voters
from kraftwire_messages import kafka, kip_856
from kraftwire_wire.registry import Registry


class ControlState:
    """The voter set and kraft.version at every offset of a log."""

    def __init__(self, static: VoterSet, registry: Registry = kafka.registry) -> None:
        """`static` has the configured voters; `registry` decodes the control records."""
        self._static = static
        self._registry = registry
        self.voters = History(static)
        self.kraft_version = History(0)
        self.first_data: int | None = None
        """An offset at which the state machine has a record; None if it has no records.

        A snapshot counts as having some if it names the voters (KIP-856).
        """

    def apply(self, batch: Batch) -> None:
        """Apply a batch at the end of the log.

        Raises `KraftwireError` if it cannot be read; then nothing of it is applied.
        """
        voters, kraft_versions = self._read(batch, self.voters.last)
        for change in voters:
            self.voters.add(*change)
        for version in kraft_versions:
            self.kraft_version.add(*version)
        if self.first_data is None and not batch.header.is_control:
            self.first_data = batch.header.base_offset

    def load(self, snapshot: OffsetAndEpoch, batches: Iterable[Batch]) -> None:
        """Replace the state by that of a snapshot; raise `KraftwireError` if it cannot be read."""
        voters, kraft_version = NO_VOTERS, 0
        for batch in batches:
            changed, kraft_versions = self._read(batch, voters)
            voters = changed[-1].value if changed else voters
            kraft_version = kraft_versions[-1].value if kraft_versions else kraft_version
        self.voters = History(voters if len(voters) else self._static, snapshot.offset - 1)
        self.kraft_version = History(kraft_version, snapshot.offset - 1)
        self.first_data = snapshot.offset - 1 if len(voters) else None

    def truncate(self, offset: int) -> None:
        self.voters.truncate(offset)
        self.kraft_version.truncate(offset)
        if self.first_data is not None and self.first_data >= offset:
            self.first_data = None

    def forget_before(self, offset: int) -> None:
        """Forget the values that were in force only before the new start of the log."""
        self.voters.forget_before(offset)
        self.kraft_version.forget_before(offset)

    def _read(
        self, batch: Batch, voters: VoterSet
    ) -> tuple[list[HistoryEntry[VoterSet]], list[HistoryEntry[int]]]:
        """Return the voter sets and kraft.versions in a batch; `voters` is the set before it."""
        changed: list[HistoryEntry[VoterSet]] = []
        kraft_versions: list[HistoryEntry[int]] = []
        try:
            for offset, control in controls_of(batch, self._registry):
                after = self._voters_after(voters, control)
                if after is not None:
                    voters = after
                    changed.append(HistoryEntry(offset, after))
                elif isinstance(control.message, kafka.KRaftVersionRecord):
                    kraft_versions.append(HistoryEntry(offset, control.message.kraft_version))
        except ValueError as error:  # a voter that occurs twice
            raise CorruptBatch(batch.file, batch.header.position, str(error)) from None
        return changed, kraft_versions

    def _voters_after(self, voters: VoterSet, control: ControlRecord) -> VoterSet | None:
        message = control.message
        if isinstance(message, kafka.VotersRecord):
            return decode_voters(message)
        if isinstance(message, kip_856.AddVoterRecord):
            key = ReplicaKey(message.voter_id, message.voter_uuid)
            listeners = [one.listeners for one in self._static.of_id(key.id)]
            added = Voter(key, listeners[0] if listeners else ())
            if key in voters.keys:
                return voters
            return voters.adding(added) if voters.find(key) is None else voters.updating(added)
        if isinstance(message, kip_856.RemoveVoterRecord):
            key = ReplicaKey(message.voter_id, message.voter_uuid)
            return voters.removing(key) if key in voters.keys else voters
        return None
