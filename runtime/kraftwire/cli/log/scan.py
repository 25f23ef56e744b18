"""The command `log scan`: counts what partitions contain, by the headers of batches only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kraftwire.cli.options.stored import paths_argument
from kraftwire.console.findings import Findings
from kraftwire.console.output import (
    output_option,
    pick_fields,
    print_json,
    print_note,
    print_table,
    wants_json,
)
from kraftwire.console.progress import progress
from kraftwire.console.times import format_time
from kraftwire.log.directories.partition import Partition, find_partitions
from kraftwire.log.queries.summary import MAX_LISTED, PartitionSummary, scan_partition
from kraftwire_wire.errors import count_of

# What fits into 80 characters; the JSON has everything.
_COLUMNS = ("partition", "segments", "bytes", "records", "offsets", "newest", "codecs", "gaps")
_FOLDED = ("partition", "codecs", "gaps")


@click.command()
@paths_argument
@output_option
def scan(paths: tuple[Path, ...], output: str | None) -> None:
    """Count what partitions contain: a row for each, and a total on standard error.

    Only the headers of batches are read, and they are not checked: `kraftwire log fsck` does
    that. Gaps are offsets that no batch has, as compaction leaves them.

    Exit codes: 0 done, 1 something was damaged or unknown, 2 could not do it.

    \b
    Examples:
      kraftwire log scan /var/kafka/data
      kraftwire log scan data -o json | jq 'select(.damages != [])'
    """
    findings = Findings()
    found = find_partitions(paths, report=findings.add)
    partitions = [partition for partition in found if partition.segments]
    total = sum(file.size for found in partitions for file in found.segments)
    as_json = wants_json(output)
    rows = []
    bytes_ = records = 0
    with progress(total, "scan") as done:
        for partition in partitions:
            summary = scan_partition(partition, done)
            for file, damage in summary.damages:
                findings.add(damage.error(file))
            bytes_ += summary.size
            records += summary.records
            if as_json:
                print_json(_json(partition, summary))
            else:
                rows.append(_row(partition, summary))
    if not as_json:
        count = len(_COLUMNS) - (not any(row[-1] for row in rows))
        print_table(_COLUMNS[:count], [row[:count] for row in rows], folded=_FOLDED)
    totals = count_of(len(partitions), "partition"), count_of(records, "record")
    print_note(", ".join((*totals, count_of(bytes_, "byte"))))
    findings.exit()


def _json(partition: Partition, summary: PartitionSummary) -> dict[str, Any]:
    name = partition.name
    return {
        "topic": name.topic if name else None,
        "partition": name.partition if name else None,
        "directory": str(partition.directory),
        "segments": summary.segments,
        "bytes": summary.size,
        "batches": summary.batches,
        "records": None if summary.unknown_counts else summary.records,
        **pick_fields(summary, "first_offset next_offset first_timestamp last_timestamp"),
        "codecs": dict(summary.codecs),
        "magics": {str(magic): count for magic, count in summary.magics.items()},
        "maxBatchBytes": summary.max_batch_size,
        **pick_fields(summary, "control_batches transactional_batches"),
        "leaderEpochs": {str(epoch): start for epoch, start in summary.leader_epochs.items()},
        "producerCount": len(summary.producers),
        "producers": sorted(summary.producers)[:MAX_LISTED],
        **pick_fields(summary, "gap_count missing_offsets"),
        "gaps": [list(gap) for gap in summary.gaps],
        "damages": [
            {"file": file, "start": damage.start, "end": damage.end}
            | {"kind": damage.kind.value, "reason": damage.reason}
            for file, damage in summary.damages
        ],
    }


def _row(partition: Partition, summary: PartitionSummary) -> tuple[object, ...]:
    offsets = None
    if summary.first_offset is not None and summary.next_offset is not None:
        offsets = f"{summary.first_offset}-{summary.next_offset - 1}"
    newest = summary.last_timestamp
    return (
        partition.label,
        summary.segments,
        summary.size,
        f"{summary.records}+" if summary.unknown_counts else summary.records,
        offsets,
        None if newest is None else format_time(newest).partition(".")[0],
        ", ".join(f"{codec} {count}" for codec, count in summary.codecs.most_common()),
        f"{summary.gap_count} ({summary.missing_offsets} offsets)" if summary.gap_count else None,
    )
