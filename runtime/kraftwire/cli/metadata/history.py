"""The command `metadata history`: what each record of the metadata log changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from kraftwire.cli.metadata.diff import change_json
from kraftwire.cli.metadata.options import (
    OFFSET,
    PATH,
    note,
    note_open_transaction,
    secrets_option,
)
from kraftwire.cli.options.stored import check_range
from kraftwire.console.failures import CouldNotDoIt
from kraftwire.console.findings import Findings
from kraftwire.console.output import PiecewiseTable, output_option, print_json, wants_json
from kraftwire.console.times import format_time
from kraftwire.metadata.describe import value_text
from kraftwire.metadata.diff import Change
from kraftwire.metadata.entities import Kind
from kraftwire.metadata.history import History, Step, about_broker, about_partition
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
_HIDDEN, _TOLD = "hidden", "told"
_PARTITION_COLUMNS = ("offset", "time", "partition", *_STATE.values(), "what")


@click.command()
@click.argument("path", type=PATH)
@click.option("--from-offset", type=OFFSET, metavar="N", help="The first offset wanted.")
@click.option("--to-offset", type=OFFSET, metavar="N", help="The first offset not wanted any more.")
@click.option("--topic", metavar="NAME", help="Only this topic: its partitions' leaders, ISR, ELR.")
@click.option(
    "--partition", type=click.IntRange(min=0), metavar="N", help="Only this one of --topic."
)
@click.option("--broker", type=int, metavar="ID", help="Only this broker's registrations, fencing.")
@click.option("--no-ops", is_flag=True, help="Print the records that do nothing, too.")
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
    """Tell what each metadata record changed: a table on a terminal, JSON Lines when piped.

    PATH is a data directory, a __cluster_metadata-0 directory or a segment (.log). Records of
    transactions are printed when the transaction has ended, those of aborted ones are not.
    The last records of a log may not be committed: which are is in no file.

    The JSON has, for each record, offset, timestamp, epoch, type, description, and changes as
    `kraftwire metadata diff` prints them; with --topic, the partitions of that topic that
    changed are there in full.

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
    told = History(path, from_offset, to_offset, secrets=secrets, report=findings.add)
    _note_start(told, from_offset)
    found: Counter[str] = Counter()
    steps = _wanted(told, topic, partition, broker, no_ops, found)
    if wants_json(output):
        for step in steps:
            print_json(_json(step, topic, partition))
    elif topic is not None:
        _print_partitions(steps, topic, partition)
    else:
        _print_steps(steps)
    end = told.image.provenance.offset
    if from_offset is not None and from_offset > end:
        raise CouldNotDoIt(f"{path}: offset {from_offset} is not there yet: the log ends at {end}")
    _note_end(told, found)
    findings.exit()


def _note_start(told: History, from_offset: int | None) -> None:
    if not told.knows_state:
        note(f"there is no state before offset {told.start}: names of topics may be unknown")
    elif told.start > (from_offset or 0):
        note(f"the history starts at offset {told.start}, the earliest state that can be rebuilt")


def _note_end(told: History, found: Counter[str]) -> None:
    note_open_transaction(told.image.provenance.transaction)
    if found[_HIDDEN]:
        note(f"not shown: {count_of(found[_HIDDEN], 'no-op record')} (--no-ops)")
    if not found[_TOLD]:
        note("no record that was asked for")


def _wanted(
    told: History,
    topic: str | None,
    partition: int | None,
    broker: int | None,
    no_ops: bool,
    found: Counter[str],
) -> Iterator[Step]:
    """The steps that were asked for; counts them and the no-ops that are left out."""
    for step in told:
        if topic is not None and not about_partition(step, topic, partition):
            continue
        if broker is not None and not about_broker(step, broker):
            continue
        if step.is_no_op and not no_ops:
            found[_HIDDEN] += 1
            continue
        found[_TOLD] += 1
        yield step


def _partitions(step: Step, topic: str, partition: int | None) -> Iterator[Change]:
    """The changes of a topic's partitions that are still there."""
    for change in step.changes:
        state = change.after
        if change.kind is not Kind.PARTITION or state is None or state["topic"] != topic:
            continue
        if partition is None or state["partition"] == partition:
            yield change


def _json(step: Step, topic: str | None, partition: int | None) -> dict[str, Any]:
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


def _print_steps(steps: Iterator[Step]) -> None:
    table = PiecewiseTable(_COLUMNS, folded=("type", "what"))
    for step in steps:
        table.add((step.offset, format_time(step.timestamp), step.type, step.description))
    table.flush()


def _print_partitions(steps: Iterator[Step], topic: str, partition: int | None) -> None:
    """A row for each partition that changed, as it was then; and for what else there was."""
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
