"""What Kafka stores on disk: record batches, segments, indexes, checkpoints, directories.

From the bytes up, each importing only what is above it:

    source, window, varint, compression     bytes and where they come from
    header, record, legacy, batch           one record batch, of any magic
    resync, segment, order                  a file of batches, damage included
    checked, positions                      what a log on disk is opened with: headers, places
    indexes, producer_snapshot, checkpoints, java_properties, properties, quorum_state
                                            the files beside them, one module each
    storage, file_names, search, directory  which files are where
    typed, isolation, selection             what records mean, and which of them are wanted
    encode, segment_writer, snapshot_writer the other way: batches, segments, snapshots
    scan, fsck, salvage                     counting, checking, repairing whole logs

Reading raises `CorruptBatch`, with file and position, or an `OSError`; nothing else leaves
these modules, whatever the bytes.
"""

from __future__ import annotations

from kraftwire.log.batch import Batch, parse_batch
from kraftwire.log.directory import LogFile, Partition, find_files, find_partitions
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.header import BatchHeader
from kraftwire.log.record import Record
from kraftwire.log.segment import Damage, read_batches, scan_batches, scan_headers
from kraftwire.log.source import BytesSource, FileSource

__all__ = [
    "Batch",
    "BatchHeader",
    "BytesSource",
    "CorruptBatch",
    "Damage",
    "FileSource",
    "LogFile",
    "Partition",
    "Record",
    "find_files",
    "find_partitions",
    "parse_batch",
    "read_batches",
    "scan_batches",
    "scan_headers",
]
