"""The command `observe`: replicates the metadata log of a running quorum to a directory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import click

from kraftwire.cli.metadata.show import image_lines
from kraftwire.cli.options.connection import QuorumTarget, quorum_options
from kraftwire.cli.options.signals import stop_event
from kraftwire.console.findings import Findings
from kraftwire.console.output import flush_output, print_json
from kraftwire.log.queries.typed_records import record_type_name
from kraftwire.metadata.records.replay import MetadataRecord
from kraftwire.node.disk.files import replace_file
from kraftwire.node.disk.replica_disk import DiskStore
from kraftwire.node.node import Node, NodeSettings
from kraftwire.node.observer import MetadataObserver
from kraftwire.node.storage.formatting import LOG_NAME
from kraftwire.raft.state.config import Config
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire.redaction import redact as without_secrets

_NOBODY = -1
_IMAGE_EVERY_S = 1.0
_LOOK_EVERY_S = 0.05


@click.command("observe")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--follow", is_flag=True, help="Continue, and print committed records as JSON Lines.")
@click.option("--redact", is_flag=True, help="Leave out secrets: SCRAM, tokens, passwords.")
@click.option(
    "--image",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Keep the current metadata in this file, as `metadata show -o json` prints it.",
)
@click.option(
    "--node-id",
    default=_NOBODY,
    type=click.IntRange(_NOBODY),
    metavar="N",
    help="The id of this observer in the quorum, which no other node may have.",
)
@quorum_options
def observe(
    directory: Path,
    *,
    follow: bool,
    redact: bool,
    image: Path | None,
    node_id: int,
    target: QuorumTarget,
) -> None:
    """Replicate the metadata log of a running quorum to DIRECTORY, as one of its observers.

    It ends when DIRECTORY has all records that were committed at the start. With --follow it
    continues until Ctrl-C and prints committed records, beginning after those in DIRECTORY.
    `kraftwire metadata`, `kraftwire log` and nodes of Kafka can read DIRECTORY.

    Exit codes: 0 done, 1 some records could not be decoded, 2 could not do it.

    \b
    Examples:
      kraftwire observe copy --bootstrap-controller localhost:9093
      kraftwire observe copy --bootstrap-controller localhost:9093 --follow | jq .type
    """
    if target.are_brokers:
        raise click.UsageError("brokers do not serve the metadata log; use --bootstrap-controller")
    findings = Findings()
    machine = MetadataObserver(findings.add, _printer(redact) if follow else lambda _: None)

    async def run() -> None:
        quorum = await target.describe()
        config = Config(
            key=ReplicaKey(node_id, uuid4()),
            can_vote=False,
            cluster_id=quorum.cluster_id,
            bootstrap=target.servers,
        )
        with closing(DiskStore(directory / LOG_NAME)) as store:
            settings = NodeSettings(security=target.security, passes_controls=True)
            node = Node(lambda _: config, store, machine, settings)
            await node.start()
            try:
                goal = None if follow else quorum.high_watermark or 0
                await _replicate(node, machine, goal, image, quorum.cluster_id)
            finally:
                await node.close()

    asyncio.run(run())
    findings.exit()


async def _replicate(
    node: Node,
    machine: MetadataObserver,
    goal: int | None,
    image: Path | None,
    cluster_id: str | None,
) -> None:
    """Run until an offset or a signal, and keep the image up to date meanwhile."""
    stopped, loop = stop_event(), asyncio.get_running_loop()
    written, at = -1, 0.0
    while not stopped.is_set() and not node.ended.done():
        if goal is not None and node.applied_to >= goal:
            break
        await asyncio.sleep(_LOOK_EVERY_S)
        flush_output()
        if image is not None and node.applied_to > written and loop.time() >= at:
            written = _write_image(machine, image, node, cluster_id)
            at = loop.time() + _IMAGE_EVERY_S
    if node.ended.done():
        await node.ended
    if image is not None:
        _write_image(machine, image, node, cluster_id)


def _write_image(machine: MetadataObserver, file: Path, node: Node, cluster_id: str | None) -> int:
    """Write the image, and return its offset."""
    origin = machine.image.provenance
    origin.offset, origin.cluster_id = node.applied_to, cluster_id
    lines = [json.dumps(line, default=str) for line in image_lines(machine.image)]
    replace_file(file, "".join(f"{line}\n" for line in lines).encode())
    return origin.offset


def _printer(is_redacted: bool) -> Callable[[MetadataRecord], None]:
    def show(entry: MetadataRecord) -> None:
        message, version = entry.message, entry.version
        name = type(message).__name__
        data = message.to_json(version)
        print_json(
            {
                "offset": entry.offset,
                "timestamp": entry.timestamp,
                "leaderEpoch": entry.epoch,
                "type": record_type_name(name),
                "version": version,
                "data": without_secrets(name, data) if is_redacted else data,
            }
        )

    return show
