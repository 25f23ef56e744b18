"""Checking what Kafka stored: each file by itself and against its neighbours.

`Fsck.run` yields the findings and collects the ids of the directories. `partition` has the checks
of one partition; `batches`, `indexes` and `producers` have those of its files.
"""

from __future__ import annotations

from kraftwire.log.fsck.directory import DirectoryIdentity, Fsck
from kraftwire.log.fsck.finding import Finding, Severity, unreadable

__all__ = ["Fsck", "Finding", "DirectoryIdentity", "Severity", "unreadable"]
