"""The metadata image at any offset, from a snapshot and the log after it.

The image at offset N has the effects of all records below N, like a snapshot with that end
offset. It is built on the newest snapshot that ends at N or before; if that one is damaged, on
the one before it. The log must reach back to the snapshot's end. Formatting writes a snapshot that
ends at 0. Only its voters and kraft.version count: its metadata records are not committed before
the first active controller repeats them in the log.

No file contains the high watermark: the last records of a log may not be committed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kraftwire.log.directories.partition import LogFile
from kraftwire.log.errors import CorruptBatch
from kraftwire.metadata.errors import (
    BadRecord,
    CannotApply,
    ProblemHandler,
    Unreachable,
    raise_problem,
)
from kraftwire.metadata.records.replay import LogReplay, MetadataRecord, find_leader, read_snapshot
from kraftwire.metadata.records.source import MetadataSource, find_metadata
from kraftwire.metadata.records.transactions import MetadataTransactions
from kraftwire.metadata.state.image import MetadataImage
from kraftwire_messages.kafka import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from kraftwire_wire.errors import KraftwireError


def image_at(
    path: Path,
    offset: int | None = None,
    *,
    use_snapshots: bool = True,
    report: ProblemHandler = raise_problem,
) -> MetadataImage:
    """Return the image at an offset, by default at the end of the log.

    `path` is a data directory, a metadata directory, a snapshot or a segment. Without
    `use_snapshots` only the log is read, which must start at offset 0. Raise `Unreachable` if the
    files do not contain all required records.
    """
    return load_image(
        find_metadata(path, report), offset, use_snapshots=use_snapshots, report=report
    )


def load_image(
    source: MetadataSource,
    offset: int | None = None,
    *,
    use_snapshots: bool = True,
    report: ProblemHandler = raise_problem,
    done: Callable[[int], None] = lambda _: None,
) -> MetadataImage:
    """Do the same as `image_at` for files already found; call `done` with the bytes read."""
    image = base_image(source, offset, use_snapshots=use_snapshots, report=report)
    origin = image.provenance
    if offset is None or offset > origin.offset:
        log = LogReplay(source.partition, origin.offset, offset, report, done)
        _replay(image, log, report)
    if offset is not None and origin.offset < offset:
        reason = f"offset {offset} does not exist yet: the log ends at {origin.offset}"
        raise Unreachable(f"{source.path}: {reason}")
    if image.leader is None:
        image.leader = find_leader(source.partition, origin.offset)
    return image


def base_image(
    source: MetadataSource,
    offset: int | None,
    *,
    use_snapshots: bool = True,
    report: ProblemHandler = raise_problem,
) -> MetadataImage:
    """Return the image to replay the log from: a snapshot's, or an empty one at offset 0.

    Raise `Unreachable` if no snapshot is old enough, or the log starts after its end.
    """
    fitting = [
        snapshot
        for snapshot in reversed(source.snapshots if use_snapshots else [])
        if offset is None or snapshot.base_offset <= offset
    ]
    image: MetadataImage | None = None
    for snapshot in fitting:
        if image is not None and _gap(source, snapshot.base_offset, offset):
            break
        formatted = snapshot.base_offset == 0 and snapshot.path != source.path
        loaded, is_whole = load_snapshot(snapshot, report, only_quorum=formatted)
        if image is None or is_whole:
            image = loaded
        if is_whole:
            break
    else:
        if not _gap(source, 0, offset):
            image = MetadataImage()
    _check_base(source, image, offset)
    assert image is not None, "checked by _check_base"
    if source.properties is not None:
        image.provenance.cluster_id = source.properties.cluster_id
        image.provenance.node_id = source.properties.node_id
    return image


def load_snapshot(
    file: LogFile, report: ProblemHandler = raise_problem, *, only_quorum: bool = False
) -> tuple[MetadataImage, bool]:
    """Return the image in a snapshot, and whether all of it could be read.

    With `only_quorum`, apply only its voters and kraft.version.
    """
    image = MetadataImage()
    origin = image.provenance
    origin.offset = origin.snapshot = file.base_offset
    origin.epoch = file.name.epoch
    whole, ended = True, False

    def note(problem: KraftwireError) -> None:
        nonlocal whole
        whole = whole and not isinstance(problem, CorruptBatch)
        report(problem)

    for entry in read_snapshot(file, note):
        message = entry.message
        if isinstance(message, SnapshotHeaderRecord):
            origin.timestamp = message.last_contained_log_timestamp
        ended = isinstance(message, SnapshotFooterRecord)
        if not only_quorum or isinstance(message, VotersRecord | KRaftVersionRecord):
            apply_entry(image, entry, note)
    if not ended:
        note(CorruptBatch(str(file.path), file.size, "the footer is missing"))
    return image, whole


def apply_entry(image: MetadataImage, entry: MetadataRecord, report: ProblemHandler) -> bool:
    """Apply a record; if it does not fit, report it and return False."""
    try:
        image.apply(entry.message)
    except CannotApply as error:
        report(BadRecord(entry.file, entry.offset, str(error)))
        return False
    return True


def _replay(image: MetadataImage, log: LogReplay, report: ProblemHandler) -> None:
    origin = image.provenance
    transactions = MetadataTransactions(report)
    for entry in log:
        for ready in transactions.feed(entry):
            apply_entry(image, ready, report)
    origin.offset = log.next_offset
    origin.transaction = transactions.open
    if log.epoch is not None:
        origin.epoch, origin.timestamp = log.epoch, log.timestamp


def _gap(source: MetadataSource, start: int, offset: int | None) -> bool:
    """Whether the log lacks records between a snapshot's end and the requested offset."""
    segments = source.segments
    if offset is not None and offset <= start:
        return False
    if not segments:
        return start == 0
    return segments[0].base_offset > start


def _check_base(source: MetadataSource, image: MetadataImage | None, offset: int | None) -> None:
    segments = source.segments
    if image is not None:
        end = image.provenance.offset
        if not segments or not _gap(source, end, offset):
            return
        first = segments[0].base_offset
        reason = f"the snapshot ends at offset {end}, and the log starts only at {first}"
        raise Unreachable(f"{source.path}: {reason}")
    at = "" if offset is None else f" at or before offset {offset}"
    if segments:
        reason = f"the log starts at offset {segments[0].base_offset}"
    else:
        reason = "there is no log"
    raise Unreachable(f"{source.path}: {reason}, and there is no snapshot{at} to start from")
