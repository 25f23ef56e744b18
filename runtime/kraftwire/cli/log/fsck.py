"""The command `log fsck`: checks every file of Kafka's, and compares it with the others."""

from __future__ import annotations

from pathlib import Path

import click

from kraftwire.cli.options.stored import limit_option, paths_argument
from kraftwire.console.failures import exit_with_findings
from kraftwire.console.output import output_option, pick_fields, print_json, print_table, wants_json
from kraftwire.console.progress import progress
from kraftwire.log.directories.partition import find_partitions
from kraftwire.log.fsck import DirectoryIdentity, Finding, Fsck, Severity, unreadable

_COLUMNS = ("severity", "check", "file", "byte", "finding")
_ID_COLUMNS = ("id of", "id", "found in")
_ID_FIELDS = "directory cluster_id node_id directory_id topic topic_id"


@click.command()
@paths_argument
@limit_option
@output_option
def fsck(paths: tuple[Path, ...], limit: int, output: str | None) -> None:
    """Check Kafka's files: findings as a table on a terminal, JSON Lines when piped.

    Reads every batch: CRC, records, offsets and leader epochs that go up. Compares each index
    with its segment, producer snapshots and checkpoints with the batches, and the ids of
    clusters, directories and topics with one another; the ids are printed first. Nothing is
    written. Run it on a stopped broker: a live one is always a little ahead of its files.

    An error is lost data, or something that Kafka refuses or answers wrongly. A warning is
    something that Kafka repairs or lives with. An info is worth knowing although nothing is
    wrong, such as an index that Kafka rebuilds. Missing offsets are an error in
    __cluster_metadata alone: other logs may be compacted, or may have been before.

    Exit codes: 0 clean or nothing but infos, 1 errors or warnings, 2 could not read.

    \b
    Examples:
      kraftwire log fsck /var/kafka/data
      kraftwire log fsck /disk1/kafka /disk2/kafka -o json | jq 'select(.severity == "error")'
    """
    unread: list[Finding] = []
    partitions = find_partitions(paths, report=lambda problem: unread.append(unreadable(problem)))
    total = sum(file.size for partition in partitions for file in partition.segments)
    check = Fsck(limit)
    with progress(total, "fsck") as done:
        findings = unread + list(check.run(partitions, done))
    if wants_json(output):
        _print_json(check.identities, findings)
    else:
        _print_tables(check.identities, findings)
    segments = sum(len(partition.segments) for partition in partitions)
    click.echo(
        f"{segments} segments in {len(partitions)} directories, {len(findings)} findings", err=True
    )
    exit_with_findings(any(finding.severity is not Severity.INFO for finding in findings))


def _print_json(identities: list[DirectoryIdentity], findings: list[Finding]) -> None:
    for identity in identities:
        print_json({"type": "identity", **pick_fields(identity, _ID_FIELDS)})
    for finding in findings:
        obj = {"type": "finding", "severity": finding.severity.value}
        print_json(obj | pick_fields(finding, "check file position reason"))


def _print_tables(identities: list[DirectoryIdentity], findings: list[Finding]) -> None:
    if identities:
        print_table(_ID_COLUMNS, _id_rows(identities), folded=("id of", "found in"))
    if findings:
        click.echo()
        cells = [
            (found.severity.value, found.check, found.file, found.position, found.reason)
            for found in findings
        ]
        print_table(_COLUMNS, cells, folded=("file", "finding"))


def _id_rows(identities: list[DirectoryIdentity]) -> list[tuple[str, str, str]]:
    """Return every id and where it was found: of clusters, then directories, then topics."""
    ids = [("cluster", row.cluster_id, row.directory) for row in identities]
    ids += [
        (f"directory of node {row.node_id}", row.directory_id, row.directory) for row in identities
    ]
    ids += [(f"topic {row.topic}", row.topic_id, row.directory) for row in identities]
    places: dict[tuple[str, str], list[str]] = {}
    for owner, text, directory in ids:
        if text is not None:
            places.setdefault((owner, text), []).append(directory)
    return [
        (owner, text, found[0] if len(found) == 1 else f"{len(found)} directories")
        for (owner, text), found in places.items()
    ]
