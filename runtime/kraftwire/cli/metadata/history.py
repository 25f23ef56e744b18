"""The command `metadata history`: prints what each record of the metadata log changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from kraftwire.cli.metadata.diff import change_json
from kraftwire.cli.metadata.options import OFFSET, PATH, note_open_transaction, secrets_option
from kraftwire.cli.options.stored import check_range
from kraftwire.console.failures import CouldNotDoIt
from kraftwire.console.findings import Findings
from kraftwire.console.output import (
    PiecewiseTable,
    output_option,
    print_json,
    print_note,
    wants_json,
)
from kraftwire.console.times import format_time
from kraftwire.metadata.entities.description import value_text
from kraftwire.metadata.entities.diff import EntityChange
from kraftwire.metadata.entities.entity import EntityKind
from kraftwire.metadata.history import History, HistoryStep, about_broker, about_partition
from kraftwire_wire.errors import count_of

_COLUMNS = ("offset", "time", "record", "what")
_STATE = {
    "leader": "leader",
    "leaderEpoch": "epoch",
    "replicas": "replicas",
    "isr": "ISR",
    "eligibleLeaderReplicas": "ELR",
    "lastKnownElr": "last ELR",
}
_PARTITION_COLUMNS = ("offset", "time", "partition", *_STATE.values(), "what")


@click.command()
@click.argument("path", type=PATH)
@click.option("--from-offset", type=OFFSET, metavar="N", help="The first offset to print.")
@click.option("--to-offset", type=OFFSET, metavar="N", help="Stop before this offset.")
@click.option("--topic", metavar="NAME", help="Only this topic: its partitions' leaders, ISR, ELR.")
@click.option(
    "--partition", type=click.IntRange(min=0), metavar="N", help="Only this partition of --topic."
)
@click.option("--broker", type=int, metavar="ID", help="Only this broker's registrations, fencing.")
@click.option("--no-ops", is_flag=True, help="Print no-op records, too.")
@secrets_option
@output_option
def history(
    path: Path,
    from_offset: int | None,
    to_offset: int | None,
    topic: str | None,
    partition: int | None,
    broker: int | None,
    no_ops: bool,
    secrets: bool,
    output: str | None,
) -> None:
    """Print what each metadata record changed: a table on a terminal, JSON Lines when piped.

    PATH is a data directory, a __cluster_metadata-0 directory or a segment (.log). Records of a
    transaction are printed when it ends, and not if it is aborted. The last records of a log
    may be uncommitted; no file shows that.

    The JSON has, for each record, offset, timestamp, epoch, type, description, and changes as
    `kraftwire metadata diff` prints them; with --topic, also the changed partitions in full.

    Exit codes: 0 done, 1 something was damaged or unknown, 2 could not do it.

    \b
    Examples:
      kraftwire metadata history /var/kafka/data
      kraftwire metadata history data --topic orders --partition 3
      kraftwire metadata history data --broker 2 --from-offset 1200
    """
    if partition is not None and topic is None:
        raise CouldNotDoIt("--partition needs --topic")
    check_range(from_offset, to_offset)
    findings = Findings()
    log = History(path, from_offset, to_offset, secrets=secrets, report=findings.add)
    _note_start(log, from_offset)
    counts = _Counts()
    steps = _select(log, topic, partition, broker, no_ops, counts)
    if wants_json(output):
        for step in steps:
            print_json(_json(step, topic, partition))
    elif topic is not None:
        _print_partitions(steps, topic, partition)
    else:
        _print_steps(steps)
    end = log.image.provenance.offset
    if from_offset is not None and from_offset > end:
        raise CouldNotDoIt(f"{path}: the log ends at {end}, before offset {from_offset}")
    note_open_transaction(log.image.provenance.transaction)
    if counts.hidden:
        print_note(f"not shown: {count_of(counts.hidden, 'no-op record')} (--no-ops)")
    if not counts.shown:
        print_note("no record matches")
    findings.exit()


@dataclass
class _Counts:
    shown: int = 0
    hidden: int = 0


def _note_start(log: History, from_offset: int | None) -> None:
    if not log.knows_state:
        print_note(f"the state before offset {log.start} is missing: topics may have no names")
    elif log.start > (from_offset or 0):
        print_note(f"the history starts at offset {log.start}: no older state can be rebuilt")


def _select(
    log: History,
    topic: str | None,
    partition: int | None,
    broker: int | None,
    no_ops: bool,
    counts: _Counts,
) -> Iterator[HistoryStep]:
    """Yield the selected steps; count them, and the no-ops that are left out."""
    for step in log:
        if topic is not None and not about_partition(step, topic, partition):
            continue
        if broker is not None and not about_broker(step, broker):
            continue
        if step.is_no_op and not no_ops:
            counts.hidden += 1
            continue
        counts.shown += 1
        yield step


def _partitions(step: HistoryStep, topic: str, partition: int | None) -> Iterator[EntityChange]:
    """Yield the changes of a topic's partitions, except removals."""
    for change in step.changes:
        state = change.after
        if change.kind is not EntityKind.PARTITION or state is None or state["topic"] != topic:
            continue
        if partition is None or state["partition"] == partition:
            yield change


def _json(step: HistoryStep, topic: str | None, partition: int | None) -> dict[str, Any]:
    obj: dict[str, Any] = {
        "offset": step.offset,
        "timestamp": step.timestamp,
        "epoch": step.epoch,
        "type": step.type,
        "description": step.description,
        "changes": [change_json(change) for change in step.changes],
    }
    if topic is not None:
        obj["partitions"] = [change.after for change in _partitions(step, topic, partition)]
    return obj


def _print_steps(steps: Iterator[HistoryStep]) -> None:
    table = PiecewiseTable(_COLUMNS, folded=("what",))
    for step in steps:
        table.add((step.offset, format_time(step.timestamp), step.type, step.description))
    table.flush()


def _print_partitions(steps: Iterator[HistoryStep], topic: str, partition: int | None) -> None:
    """Print a row for each changed partition, with its new state, and for other records."""
    table = PiecewiseTable(_PARTITION_COLUMNS, folded=("what",))
    for step in steps:
        place = step.offset, format_time(step.timestamp)
        changed = list(_partitions(step, topic, partition))
        for change in changed:
            state = change.after or {}
            cells = (value_text(state[name]) for name in _STATE)
            what = ", ".join(change.changed) or "added"
            table.add((*place, state["partition"], *cells, what))
        if not changed:
            table.add((*place, None, *(None for _ in _STATE), step.description))
    table.flush()
