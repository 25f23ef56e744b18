"""The command `node run`: a node until SIGTERM or Ctrl-C, which hands over and stops in order."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import click

from kraftwire.address import Address
from kraftwire.cli.options.config import config_option, telling_all
from kraftwire.console.failures import EXIT_INTERRUPTED, CouldNotDoIt
from kraftwire.node.assembly import Assembly
from kraftwire.node.key_value import KeyValues, KeyValueServer
from kraftwire.node.logging_setup import set_up
from kraftwire.node.node import Node
from kraftwire.node.prometheus import PrometheusServer
from kraftwire.node.settings.properties import NodeProperties, read_properties
from kraftwire.node.state_machine import NoRecords
from kraftwire_wire.errors import KraftwireError

_log = logging.getLogger("kraftwire.node")
_KV_HOST = "127.0.0.1"
_MAX_PORT = 65535


@click.command("run")
@config_option
@click.option(
    "--example", type=click.Choice(["kv"]), help="A state machine: keys and values, by lines."
)
@click.option(
    "--listen",
    default=f"{_KV_HOST}:0",
    show_default=True,
    help="Where the example listens; clients silent for connections.max.idle.ms are closed.",
)
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text")
@click.option("--debug", is_flag=True, help="Log more.")
def run(config: Path, example: str | None, listen: str, log_format: str, *, debug: bool) -> None:
    """Run a node of a quorum: a voter, or an observer that may become one.

    The directories must be formatted (`kraftwire storage format`). Events go to standard error.
    SIGTERM and Ctrl-C have it hand over the leadership and stop; a second one stops it at once.

    Beside Kafka's max.connections (500), max.connections.per.ip (100) and connections.max.idle.ms,
    the settings have kraftwire.reserved.connections: places of max.connections for clients that
    TLS has authenticated and for hosts of voters and bootstrap servers (a tenth); and
    kraftwire.peer.connections: connections to other nodes (8 to 32). 64 of the open files that the
    system allows (ulimit -n, at least 128) are kept free of clients.

    Exit codes: 0 stopped as asked, 2 could not start, or had to stop.

    \b
    Example:
      kraftwire storage format -t "$(kraftwire storage random-uuid)" -c server.properties -s
      kraftwire node run -c server.properties --example kv --listen 127.0.0.1:7000
    """
    with telling_all():
        properties = read_properties(config)
    level = logging.DEBUG if debug else logging.INFO
    set_up(properties.node_id, as_json=log_format == "json", level=level)
    for warning in properties.warnings:
        _log.warning(warning)
    where = _parse_listen(listen)
    with telling_all():
        assembly = Assembly(properties)
    with assembly.open_disk() as store:
        machine = KeyValues() if example else NoRecords()
        one = assembly.node(store, machine)
        asyncio.run(_run(one, machine, where, properties))


async def _run(
    node: Node, machine: KeyValues | NoRecords, listen: Address, properties: NodeProperties
) -> None:
    loop = asyncio.get_running_loop()
    asked = asyncio.Event()

    def stop() -> None:
        if asked.is_set():
            raise SystemExit(EXIT_INTERRUPTED)
        asked.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    await node.start()
    async with _served(node, machine, listen, properties):
        _log.info("runs", extra={"directory_id": str(node.config.key.directory_id)})
        node.ended.add_done_callback(lambda _: asked.set())
        await asked.wait()
        await node.close()
    try:
        await node.ended
    except (KraftwireError, OSError):
        raise
    except Exception as error:  # a bug of the state machine, or of ours
        raise CouldNotDoIt(f"{type(error).__name__}: {error}") from error
    _log.info("stopped")


@asynccontextmanager
async def _served(
    node: Node, machine: KeyValues | NoRecords, listen: Address, properties: NodeProperties
) -> AsyncIterator[None]:
    """Serve the example's clients and Prometheus, if there is an example or a listener for it."""
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


def _parse_listen(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > _MAX_PORT:
        raise click.BadParameter(f"{text!r} is not HOST:PORT", param_hint="--listen")
    return Address(host or _KV_HOST, int(port))
