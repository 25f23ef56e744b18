"""The command `metadata show`: the metadata of a cluster at one offset."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
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
from kraftwire.cli.metadata.tree import Node, print_tree
from kraftwire.console.findings import Findings
from kraftwire.console.output import on_terminal, print_json, print_table, without_empty
from kraftwire.console.times import format_time
from kraftwire.metadata.describe import value_text
from kraftwire.metadata.entities import Entity, Kind, entities
from kraftwire.metadata.image import MetadataImage

_COLUMNS: dict[Kind, tuple[str, ...]] = {
    Kind.FEATURE: ("name", "level"),
    Kind.VOTER: ("id", "directoryId", "endpoints", "kraftVersion"),
    Kind.CONTROLLER: ("id", "incarnationId", "endpoints", "features"),
    Kind.BROKER: ("id", "epoch", "fenced", "inControlledShutdown", "rack", "endpoints", "logDirs"),
    Kind.TOPIC: ("name", "topicId", "partitions"),
    Kind.PARTITION: (
        "topic",
        "partition",
        "leader",
        "leaderEpoch",
        "replicas",
        "isr",
        "eligibleLeaderReplicas",
        "lastKnownElr",
    ),
    Kind.CONFIG: ("resourceType", "resourceName", "name", "value"),
    Kind.QUOTA: ("entity", "key", "value"),
    Kind.ACL: (
        "permissionType",
        "principal",
        "operation",
        "resourceType",
        "resourceName",
        "patternType",
        "host",
    ),
    Kind.SCRAM: ("name", "mechanism", "iterations"),
    Kind.TOKEN: ("tokenId", "owner", "requester", "renewers", "expirationTimestamp"),
    Kind.PRODUCER_IDS: ("nextProducerId",),
}
"""The fields that fit into a table; the JSON has all."""

_SECRET_COLUMNS = {Kind.SCRAM: ("salt", "storedKey", "serverKey")}

_HEADS = {
    "inControlledShutdown": "stopping",
    "eligibleLeaderReplicas": "ELR",
    "lastKnownElr": "last ELR",
    "isr": "ISR",
    "expirationTimestamp": "expires",
}
_OPTIONAL = frozenset({"rack", "renewers", "eligibleLeaderReplicas", "lastKnownElr"})
"""Columns that are left out where no row has anything there."""

_TIMES = frozenset({"issueTimestamp", "maxTimestamp", "expirationTimestamp"})
_FOLDED = frozenset({"name", "value", "endpoints", "features", "logDirs", "resourceName", "entity"})


@click.command()
@click.argument("path", type=PATH)
@click.option(
    "--offset",
    type=OFFSET,
    metavar="N",
    help="The state before the record with this offset; the end of the log unless given.",
)
@only_option
@topic_option
@secrets_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "tree", "json"]),
    help="How to print; a table on a terminal and JSON Lines elsewhere unless given.",
)
def show(
    path: Path,
    offset: int | None,
    only: tuple[str, ...],
    topics: tuple[str, ...],
    secrets: bool,
    output: str | None,
) -> None:
    """Print the metadata of a cluster: tables on a terminal, JSON Lines when piped.

    PATH is a data directory, a __cluster_metadata-0 directory, a snapshot (.checkpoint) or a
    segment (.log). The state is rebuilt from the newest snapshot that ends at the offset or
    before, and the log after it. The last records of a log may not be committed: which are
    is in no file.

    The JSON is one object a line, which "kind" tells apart: first a line of kind "image"
    (offset, epoch, cluster id, leader), then a line for every feature, voter, controller,
    broker, topic, partition, config, quota, acl, scram, token, producer-ids.

    Exit codes: 0 done, 1 something was damaged or unknown, 2 could not do it.

    \b
    Examples:
      kraftwire metadata show /var/kafka/data
      kraftwire metadata show data --offset 1200 --only topics --only partitions
      kraftwire metadata show data --topic orders -o tree
      kraftwire metadata show data | jq 'select(.kind == "partition" and .leader == -1)'
    """
    findings = Findings()
    image = load(path, offset, findings)
    check_topics(topics, image)
    kinds = kinds_of(only)
    shown = entities(image, kinds, topics=topics, secrets=secrets)
    form = output or ("table" if on_terminal() else "json")
    if form == "json":
        for line in image_lines(image, shown):
            print_json(line)
    elif form == "tree":
        print_tree(_tree(image, shown))
    else:
        _print_tables(image, shown, secrets, only)
    findings.exit()


def image_lines(
    image: MetadataImage, shown: Iterable[Entity] | None = None
) -> Iterator[dict[str, Any]]:
    """An image as lines of JSON; all of it but for secrets, unless given what is shown."""
    yield {"kind": "image", **_facts(image)}
    for entity in entities(image, tuple(Kind)) if shown is None else shown:
        yield {"kind": entity.kind.value, **entity.fields}


def _facts(image: MetadataImage) -> dict[str, Any]:
    """What an image says of itself."""
    origin = image.provenance
    return {
        "clusterId": origin.cluster_id,
        "nodeId": origin.node_id,
        "offset": origin.offset,
        "epoch": origin.epoch,
        "timestamp": origin.timestamp,
        "leader": image.leader,
        "snapshot": origin.snapshot,
    }


def _headline(image: MetadataImage) -> str:
    facts = _facts(image)
    time = facts["timestamp"]
    parts = (
        ("cluster", facts["clusterId"]),
        ("node", facts["nodeId"]),
        ("offset", facts["offset"]),
        ("epoch", facts["epoch"]),
        ("leader", facts["leader"]),
        ("time", None if time is None else format_time(time)),
    )
    return ", ".join(f"{name} {value}" for name, value in parts if value is not None)


def _print_tables(
    image: MetadataImage, shown: Iterable[Entity], secrets: bool, only: Collection[str]
) -> None:
    """A table for each kind that there is any of, or that was asked for by name."""
    print_table((_headline(image),), ())
    found = {kind: list(group) for kind, group in groupby(shown, lambda entity: entity.kind)}
    for kind in Kind:
        rows = found.get(kind, [])
        if rows or kind.section in only:
            click.echo()
            _print_section(kind, rows, secrets)


def _print_section(kind: Kind, shown: Sequence[Entity], secrets: bool) -> None:
    columns = _COLUMNS[kind] + (_SECRET_COLUMNS.get(kind, ()) if secrets else ())
    rows = [[_cell(name, entity.fields[name]) for name in columns] for entity in shown]
    used, cells = without_empty(columns, rows, _OPTIONAL)
    heads = [_HEADS.get(name, name) for name in used]
    print_table(heads, cells, f"{kind.section} ({len(rows)})", folded=_FOLDED)


def _cell(name: str, value: Any) -> str:
    if value is None or value == []:
        return ""
    if name == "resourceName" and not value:
        return "(default)"
    if name in _TIMES:
        return format_time(value)
    if isinstance(value, list):
        return ", ".join(map(value_text, value))
    return value_text(value)


def _tree(image: MetadataImage, shown: Iterable[Entity]) -> Node:
    """Sections, their entities, fields; partitions stand below their topics."""
    root = Node(_headline(image))
    topics: dict[object, Node] = {}
    for kind, group in groupby(shown, key=lambda entity: entity.kind):
        section = Node(kind.section)
        for entity in group:
            node = Node(entity.label, list(_leaves(entity)))
            parent = topics.get(entity.fields.get("topic")) if kind is Kind.PARTITION else None
            (parent or section).children.append(node)
            if kind is Kind.TOPIC:
                topics[entity.fields["name"]] = node
        if section.children:
            root.children.append(section)
    return root


def _leaves(entity: Entity) -> Iterator[Node]:
    for name, value in entity.fields.items():
        if cell := _cell(name, value):
            yield Node(f"{name}: {cell}")
