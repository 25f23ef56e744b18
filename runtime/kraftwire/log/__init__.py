"""What Kafka stores on disk: record batches, segments, indexes, checkpoints, directories.

The subpackages, from the bytes up. Each imports only those above it (import-linter checks that):

    errors                    `CorruptBatch`, and how readers report problems and go on
    sources | batches         bytes and where they come from; one record batch of any magic
    segments                  a file of batches, damage included
    small_files | directories the files beside segments; which files are where
    queries                   what records mean, and which of them a reader asks for
    writers                   segments with their indexes, snapshots of metadata
    fsck | salvage            check whole logs, copy what can be read of damaged ones

Reading raises `CorruptBatch`, with file and position, or an `OSError`; nothing else leaves
these modules, whatever the bytes.
"""

from __future__ import annotations

from kraftwire.log.batches.batch import Batch, decode_batch
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.batches.header import BatchHeader
from kraftwire.log.batches.record import Record
from kraftwire.log.directories.partition import LogFile, Partition, find_files, find_partitions
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.segments.segment import Damage, read_batches, scan_batches, scan_headers
from kraftwire.log.sources.source import BytesSource, FileSource

__all__ = [
    "Batch",
    "BatchHeader",
    "BatchSettings",
    "BytesSource",
    "CorruptBatch",
    "Damage",
    "FileSource",
    "LogFile",
    "Partition",
    "Record",
    "encode_batch",
    "find_files",
    "find_partitions",
    "decode_batch",
    "read_batches",
    "scan_batches",
    "scan_headers",
]
