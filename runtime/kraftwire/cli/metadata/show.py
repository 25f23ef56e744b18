"""The command `metadata show`: prints the metadata of a cluster at an offset."""

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
from kraftwire.cli.metadata.tree import TreeNode, print_tree
from kraftwire.console.findings import Findings
from kraftwire.console.output import (
    on_terminal,
    output_choice,
    print_json,
    print_table,
    without_empty,
)
from kraftwire.console.times import format_time
from kraftwire.metadata.entities.description import value_text
from kraftwire.metadata.entities.entity import Entity, EntityKind, entities
from kraftwire.metadata.state.image import MetadataImage

_COLUMNS: dict[EntityKind, tuple[str, ...]] = {
    EntityKind.FEATURE: ("name", "level"),
    EntityKind.VOTER: ("id", "directoryId", "endpoints", "kraftVersion"),
    EntityKind.CONTROLLER: ("id", "incarnationId", "endpoints", "features"),
    EntityKind.BROKER: (
        "id",
        "epoch",
        "fenced",
        "inControlledShutdown",
        "rack",
        "endpoints",
        "logDirs",
    ),
    EntityKind.TOPIC: ("name", "topicId", "partitions"),
    EntityKind.PARTITION: (
        "topic",
        "partition",
        "leader",
        "leaderEpoch",
        "replicas",
        "isr",
        "eligibleLeaderReplicas",
        "lastKnownElr",
    ),
    EntityKind.CONFIG: ("resourceType", "resourceName", "name", "value"),
    EntityKind.QUOTA: ("entity", "key", "value"),
    EntityKind.ACL: (
        "permissionType",
        "principal",
        "operation",
        "resourceType",
        "resourceName",
        "patternType",
        "host",
    ),
    EntityKind.SCRAM: ("name", "mechanism", "iterations"),
    EntityKind.TOKEN: ("tokenId", "owner", "requester", "renewers", "expirationTimestamp"),
    EntityKind.PRODUCER_IDS: ("nextProducerId",),
}
"""The fields that fit into a table; the JSON has them all."""

_SECRET_COLUMNS = {EntityKind.SCRAM: ("salt", "storedKey", "serverKey")}

_HEADS = {
    "inControlledShutdown": "stopping",
    "eligibleLeaderReplicas": "ELR",
    "lastKnownElr": "last ELR",
    "isr": "ISR",
    "expirationTimestamp": "expires",
}
_OPTIONAL = frozenset({"rack", "renewers", "eligibleLeaderReplicas", "lastKnownElr"})
"""Columns that are left out if they are empty."""

_TIMES = frozenset({"issueTimestamp", "maxTimestamp", "expirationTimestamp"})
_FOLDED = frozenset({"name", "value", "endpoints", "features", "logDirs", "resourceName", "entity"})


@click.command()
@click.argument("path", type=PATH)
@click.option(
    "--offset",
    type=OFFSET,
    metavar="N",
    help="The state before the record with this offset; the default is the end of the log.",
)
@only_option
@topic_option
@secrets_option
@output_choice("table", "tree", "json")
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
    segment (.log). The state is rebuilt from the newest snapshot that ends at or before the
    offset, and the log after it. The last records of a log may be uncommitted; no file shows that.

    The JSON has one object per line, with its "kind": first "image" (offset, epoch, cluster
    id, leader), then every feature, voter, controller, broker, topic, partition, config,
    quota, acl, scram, token, producer-ids.

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
    """Yield an image as objects: the entities in `shown`, by default all, without secrets."""
    yield {"kind": "image", **_facts(image)}
    for entity in entities(image, tuple(EntityKind)) if shown is None else shown:
        yield {"kind": entity.kind.value, **entity.fields}


def _facts(image: MetadataImage) -> dict[str, Any]:
    """Return the origin of the image, and the leader."""
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
    """Print a table for each kind that has entities, or that `--only` names."""
    print_table((_headline(image),), ())
    found = {kind: list(group) for kind, group in groupby(shown, lambda entity: entity.kind)}
    for kind in EntityKind:
        rows = found.get(kind, [])
        if rows or kind.section in only:
            click.echo()
            _print_section(kind, rows, secrets)


def _print_section(kind: EntityKind, shown: Sequence[Entity], secrets: bool) -> None:
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


def _tree(image: MetadataImage, shown: Iterable[Entity]) -> TreeNode:
    """Return a tree of sections, entities and fields, with partitions below their topics."""
    root = TreeNode(_headline(image))
    topics: dict[object, TreeNode] = {}
    for kind, group in groupby(shown, key=lambda entity: entity.kind):
        section = TreeNode(kind.section)
        for entity in group:
            node = TreeNode(entity.label, list(_leaves(entity)))
            parent = (
                topics.get(entity.fields.get("topic")) if kind is EntityKind.PARTITION else None
            )
            (parent or section).children.append(node)
            if kind is EntityKind.TOPIC:
                topics[entity.fields["name"]] = node
        if section.children:
            root.children.append(section)
    return root


def _leaves(entity: Entity) -> Iterator[TreeNode]:
    for name, value in entity.fields.items():
        if cell := _cell(name, value):
            yield TreeNode(f"{name}: {cell}")
