"""The command `metadata diff`: prints the differences between two states of a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from kraftwire.cli.metadata.options import (
    OFFSET,
    PATH,
    check_topics,
    kinds_of,
    load,
    only_option,
    secrets_option,
    topic_option,
)
from kraftwire.console.failures import CouldNotDoIt, exit_with_findings
from kraftwire.console.findings import Findings
from kraftwire.console.output import output_option, print_json, print_note, print_table, wants_json
from kraftwire.metadata.entities.description import added_text, value_text
from kraftwire.metadata.entities.diff import EntityChange, diff_images
from kraftwire.metadata.state.image import MetadataImage

_COLUMNS = ("change", "kind", "entity", "field", "before", "after")


@click.command()
@click.argument("first", metavar="A", type=PATH)
@click.argument("second", metavar="[B]", type=PATH, required=False)
@click.option(
    "--from-offset",
    type=OFFSET,
    metavar="N",
    help="The state of A; the default is the end of its log.",
)
@click.option(
    "--to-offset",
    type=OFFSET,
    metavar="N",
    help="The state of B, or of A without B; the default is the end of its log.",
)
@only_option
@topic_option
@secrets_option
@output_option
def diff(
    first: Path,
    second: Path | None,
    from_offset: int | None,
    to_offset: int | None,
    only: tuple[str, ...],
    topics: tuple[str, ...],
    secrets: bool,
    output: str | None,
) -> None:
    """Compare the metadata at two offsets, of two nodes, or in two snapshots.

    A and B are paths as for `kraftwire metadata show`. Without B, two offsets of A are
    compared. The JSON has one line for each entity that was added, removed or changed: change,
    kind, entity, before, after. If it changed, before and after have the fields that differ. A
    topic that was deleted and created again counts as one removed and one added.

    Exit codes: 0 equal, 1 something differs or is damaged, 2 could not do it.

    \b
    Examples:
      kraftwire metadata diff /var/kafka/data --from-offset 1200
      kraftwire metadata diff controller-1/data controller-2/data
      kraftwire metadata diff data --from-offset 90 --to-offset 120 --only partitions
    """
    if second is None and from_offset is None:
        raise CouldNotDoIt("give B, or --from-offset to compare two offsets of A")
    findings = Findings()
    before = load(first, from_offset, findings)
    after = load(second or first, to_offset, findings)
    check_topics(topics, before, after)
    _note_clusters(before, after)
    found = diff_images(before, after, kinds_of(only), topics=topics, secrets=secrets)
    counts: Counter[str] = Counter()
    counted = _count(found, counts)
    if wants_json(output):
        for change in counted:
            print_json(change_json(change))
    elif rows := [row for change in counted for row in _rows(change)]:
        print_table(_COLUMNS, rows, folded=("entity", "before", "after"))
    print_note(_summary(before, after, counts))
    exit_with_findings(counts or findings.count)


def change_json(change: EntityChange) -> dict[str, Any]:
    """Return a change as `diff` and `history` print it."""
    before, after = change.before, change.after
    if before is not None and after is not None:
        before = {name: before[name] for name in change.changed}
        after = {name: after[name] for name in change.changed}
    return {
        "change": change.verb,
        "kind": change.kind.value,
        "entity": change.label,
        "before": before,
        "after": after,
    }


def _rows(change: EntityChange) -> Iterator[tuple[object, ...]]:
    """Yield a row for each field that differs, or one for an added or removed entity."""
    place = change.verb, change.kind.value, change.label
    if change.before is None or change.after is None:
        before = None if change.before is None else added_text(change.kind, change.before)
        after = None if change.after is None else added_text(change.kind, change.after)
        yield *place, None, before, after
        return
    for name in change.changed:
        before, after = value_text(change.before[name]), value_text(change.after[name])
        yield *place, name, before, after


def _count(changes: Iterator[EntityChange], counts: Counter[str]) -> Iterator[EntityChange]:
    for change in changes:
        counts[change.verb] += 1
        yield change


def _note_clusters(before: MetadataImage, after: MetadataImage) -> None:
    first, second = before.provenance.cluster_id, after.provenance.cluster_id
    if first is not None and second is not None and first != second:
        print_note(f"A and B are different clusters: {first} and {second}")


def _summary(before: MetadataImage, after: MetadataImage, counts: Counter[str]) -> str:
    offsets = f"offsets {before.provenance.offset} and {after.provenance.offset}"
    if not counts:
        return f"{offsets}: equal"
    verbs = ("added", "removed", "changed")
    return f"{offsets}: {', '.join(f'{counts[verb]} {verb}' for verb in verbs)}"
