"""`capture proxy`: records the traffic between clients and a cluster until it is interrupted.

The first line on standard output is the address for clients, unless the cassette itself goes there.
Problems go to standard error when they occur, each text once.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import click

from kraftwire.address import Address
from kraftwire.capture.cassette import CassetteHeader
from kraftwire.capture.cassette_file import CassetteFile
from kraftwire.capture.frame import Frame
from kraftwire.capture.proxy.pending import ProxyLimits
from kraftwire.capture.proxy.proxy import Proxy
from kraftwire.cli.options.connection import client_config_option, read_security
from kraftwire.cli.options.listen import listen_option, naming_host, parse_upstream, print_bootstrap
from kraftwire.cli.options.signals import stop_event
from kraftwire.console.failures import CouldNotDoIt, exit_with_findings
from kraftwire.console.output import output_option, print_note, wants_json
from kraftwire.node.settings.property_reader import parse_number
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import count_of

_STDOUT = Path("-")
_MAX_PORT = 65535
_LIMITS = ProxyLimits()


def _parse_ports(_: click.Context, __: click.Parameter, value: str | None) -> range | None:
    if value is None:
        return None
    first, dash, last = value.partition("-")
    try:
        low = parse_number(first, 1, _MAX_PORT)
        high = parse_number(last, low, _MAX_PORT) if dash else low
    except ValueError as error:
        raise click.BadParameter(f"{error}; write FROM-TO, such as 9100-9120") from None
    return range(low, high + 1)


@click.command("proxy")
@listen_option("Where clients bootstrap; port 0 picks a free one.")
@click.option(
    "--upstream",
    required=True,
    metavar="HOST:PORT",
    callback=parse_upstream,
    help="A broker of the cluster.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="CASSETTE",
    help="Where frames go; - is standard output.",
)
@click.option("--append", is_flag=True, help="Add to a cassette that exists.")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option(
    "--ports",
    metavar="FROM-TO",
    callback=_parse_ports,
    help="Ports of the other brokers' listeners; the default is any free port.",
)
@client_config_option("--upstream-config")
@click.option(
    "--max-connections",
    type=click.IntRange(min=1),
    default=_LIMITS.connections,
    show_default=True,
    metavar="COUNT",
    help="How many clients to accept; more are refused.",
)
@click.option(
    "--max-pending-bytes",
    type=click.IntRange(min=1),
    default=_LIMITS.pending_bytes,
    show_default=True,
    metavar="BYTES",
    help="How much to buffer for all connections; above it, the largest is closed.",
)
@click.option("--no-redact", is_flag=True, help="Record secrets too: passwords, tokens.")
@output_option
def proxy(
    listen: Address,
    upstream: Address,
    out: Path,
    *,
    append: bool,
    force: bool,
    ports: range | None,
    upstream_config: Path | None,
    max_connections: int,
    max_pending_bytes: int,
    no_redact: bool,
    output: str | None,
) -> None:
    """Record the traffic between clients and brokers to a cassette.

    Clients bootstrap at the proxy, in plaintext. Every broker in a response gets its own
    listener, and its address is rewritten, so that clients stay on the proxy. With
    --upstream-config the proxy uses TLS and SASL as that file says; without it, logins of
    clients pass through.

    Secrets are redacted by schema: SASL, SCRAM, delegation tokens, sensitive settings. Records
    of topics are not: anybody who has the cassette can read them.

    Ctrl-C or SIGTERM ends the recording, with every frame in the file. The exit code is 1 if
    something could not be decoded or passed on, and 2 if the recording had to stop.

    \b
    Examples:
      kraftwire capture proxy --upstream broker:9092 --out session.jsonl
      kraftwire capture proxy --listen 127.0.0.1:9092 --upstream broker:9093 \\
          --upstream-config client.properties --out session.jsonl
      kraftwire capture proxy --upstream broker:9092 --out - | kraftwire capture decode -
    """
    if append and force:
        raise click.UsageError("--append and --force exclude each other")
    if append and out == _STDOUT:
        raise click.UsageError("--append needs a file")
    security = read_security(upstream_config)
    _ = security.context  # raises for invalid files before a cassette is created
    _warn(listen, no_redact)
    recorder = _Recorder(out, lambda: _open(out, append, force))
    server = Proxy(
        upstream,
        listen=listen,
        security=security,
        record=recorder.record,
        redact=not no_redact,
        ports=ports,
        on_problem=print_note,
        limits=ProxyLimits(connections=max_connections, pending_bytes=max_pending_bytes),
    )
    with naming_host(listen):
        asyncio.run(recorder.run(server, upstream, wants_json(output)))
    recorder.summarize(server)


class _Recorder:
    """Runs a proxy and writes its frames; stops it if a write fails."""

    def __init__(self, out: Path, open_cassette: Callable[[], CassetteFile]) -> None:
        self._out = out
        self._open_cassette = open_cassette
        self._cassette: CassetteFile | None = None
        self._error: OSError | None = None
        self._stopped = asyncio.Event()

    def record(self, frame: Frame) -> None:
        if self._error is None and self._cassette is not None:
            try:
                self._cassette.write(frame)
            except OSError as error:
                self._error = error
                self._stopped.set()

    async def run(self, proxy: Proxy, upstream: Address, as_json: bool) -> None:
        """Listen until SIGINT or SIGTERM, or until a write fails; a second signal exits."""
        self._stopped = stop_event(force_on_second=True)
        bootstrap = await proxy.start()
        try:
            # Listening comes first: if it fails, no file is created or replaced.
            with self._open_cassette() as self._cassette:
                if self._out != _STDOUT:
                    print_bootstrap(bootstrap, {"upstream": str(upstream)}, as_json=as_json)
                print_note(f"{bootstrap} forwards to {upstream}; Ctrl-C ends it")
                await self._stopped.wait()
                await proxy.close()
        finally:
            await proxy.close()

    def summarize(self, proxy: Proxy) -> None:
        """Print what was recorded on standard error, and set the exit code."""
        where = "<stdout>" if self._out == _STDOUT else self._out
        assert self._cassette is not None
        counts = f"{count_of(self._cassette.count, 'frame')} of "
        print_note(f"{where}: {counts}{count_of(proxy.connections, 'connection')}")
        if isinstance(self._error, BrokenPipeError):
            raise self._error
        if self._error is not None:
            reason = self._error.strerror or str(self._error)
            raise CouldNotDoIt(f"{where}: {reason}; the recording ended there")
        exit_with_findings(proxy.problems)


def _open(out: Path, append: bool, force: bool) -> CassetteFile:
    header = CassetteHeader("kraftwire capture proxy", registry.release)
    if out == _STDOUT:
        return CassetteFile.to_pipe(sys.stdout.fileno(), header)
    if append and out.exists():
        return CassetteFile.append(out)
    return CassetteFile.create(out, header, force=force)


def _warn(listen: Address, no_redact: bool) -> None:
    if no_redact:
        print_note("warning: secrets are recorded (--no-redact)")
    if not listen.is_loopback:
        reach = "anyone who can connect to it can reach the cluster, in plaintext"
        print_note(f"warning: {listen.host} is not loopback: {reach}")
