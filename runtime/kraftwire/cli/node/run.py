"""The command `node run`: runs a node until SIGTERM or Ctrl-C, when it resigns and stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import click

from kraftwire.address import Address
from kraftwire.cli.options.config import config_option, reporting_problems
from kraftwire.cli.options.listen import listen_option
from kraftwire.cli.options.signals import stop_event
from kraftwire.console.failures import CouldNotDoIt
from kraftwire.node.assembly import Assembly
from kraftwire.node.key_value import KeyValues, KeyValueServer
from kraftwire.node.logging_setup import set_up
from kraftwire.node.node import Node
from kraftwire.node.prometheus import PrometheusServer
from kraftwire.node.settings.properties import NodeProperties, read_properties
from kraftwire.node.state_machine import NoRecords
from kraftwire_wire.errors import KraftwireError

_log = logging.getLogger("kraftwire.node")


@click.command("run")
@config_option
@click.option(
    "--example",
    type=click.Choice(["kv"]),
    help="Run an example of a state machine: a key-value store.",
)
@listen_option(
    "Where the example listens; clients silent for connections.max.idle.ms are disconnected."
)
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text")
@click.option("--debug", is_flag=True, help="Log more.")
def run(
    config: Path, example: str | None, listen: Address, log_format: str, *, debug: bool
) -> None:
    """Run a node of a quorum: a voter, or an observer that may become one.

    The directories must be formatted (`kraftwire storage format`). Events go to standard error.
    At SIGTERM or Ctrl-C the node resigns as leader and stops; a second one ends it immediately.

    Besides Kafka's max.connections (500), max.connections.per.ip (100) and
    connections.max.idle.ms, there are two settings: kraftwire.reserved.connections is the part
    of max.connections for clients authenticated by TLS, and for hosts of voters and bootstrap
    servers (a tenth); kraftwire.peer.connections limits connections to other nodes (8 to 32).
    Of the files that the process may open (ulimit -n, at least 128), 64 are kept for the node.

    Exit codes: 0 stopped by a signal, 2 could not start, or had to stop.

    \b
    Example:
      kraftwire storage format -t "$(kraftwire storage random-uuid)" -c server.properties -s
      kraftwire node run -c server.properties --example kv --listen 127.0.0.1:7000
    """
    with reporting_problems():
        properties = read_properties(config)
    level = logging.DEBUG if debug else logging.INFO
    set_up(properties.node_id, as_json=log_format == "json", level=level)
    for warning in properties.warnings:
        _log.warning(warning)
    with reporting_problems():
        assembly = Assembly(properties)
    with assembly.open_disk() as store:
        machine = KeyValues() if example else NoRecords()
        asyncio.run(_run(assembly.node(store, machine), machine, listen, properties))


async def _run(
    node: Node, machine: KeyValues | NoRecords, listen: Address, properties: NodeProperties
) -> None:
    stopped = stop_event(force_on_second=True)
    await node.start()
    async with _serving(node, machine, listen, properties):
        _log.info("runs", extra={"directory_id": str(node.config.key.directory_id)})
        node.ended.add_done_callback(lambda _: stopped.set())
        await stopped.wait()
        await node.close()
    try:
        await node.ended
    except (KraftwireError, OSError):
        raise
    except Exception as error:  # a bug in the state machine, or in the node
        raise CouldNotDoIt(f"{type(error).__name__}: {error}") from error
    _log.info("stopped")


@asynccontextmanager
async def _serving(
    node: Node, machine: KeyValues | NoRecords, listen: Address, properties: NodeProperties
) -> AsyncIterator[None]:
    """Serve the example's clients and Prometheus if they are configured."""
    limits, prometheus = properties.limits, properties.prometheus
    keys = KeyValueServer(node, machine, limits) if isinstance(machine, KeyValues) else None
    metrics = None if prometheus is None else PrometheusServer(node, prometheus)
    if keys is not None:
        await keys.start(*listen)
    try:
        yield
    finally:
        if keys is not None:
            await keys.close()
        if metrics is not None:
            metrics.close()
