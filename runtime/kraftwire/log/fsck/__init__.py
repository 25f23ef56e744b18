"""Checking what Kafka stored: every file against itself and against its neighbours.

`Fsck.run` yields findings and fills the table of ids; `partition` has the checks of one
partition, `batches`, `indexes` and `producers` those of its files.
"""

from __future__ import annotations

from kraftwire.log.fsck.directory import DirectoryIdentity, Fsck
from kraftwire.log.fsck.finding import Finding, Severity, not_read

__all__ = ["Fsck", "Finding", "DirectoryIdentity", "Severity", "not_read"]
