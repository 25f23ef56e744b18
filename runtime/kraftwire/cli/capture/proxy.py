"""`capture proxy`: traffic between clients and a cluster, recorded until it is interrupted.

The first thing on standard output is where clients bootstrap, unless the cassette itself goes
there. Problems are told on standard error when they are met, each wording once.
"""

from __future__ import annotations

import asyncio
import signal
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
from kraftwire.cli.options.connection import security_of
from kraftwire.cli.options.listen import listen_option, naming_host, to_upstream
from kraftwire.console.failures import EXIT_FINDINGS, EXIT_INTERRUPTED, CouldNotDoIt
from kraftwire.console.output import output_option, print_json, print_note, wants_json
from kraftwire.node.settings.property_reader import parse_number
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import count_of

_STDOUT = Path("-")
_MAX_PORT = 65535
_LIMITS = ProxyLimits()


def _to_ports(_: click.Context, __: click.Parameter, value: str | None) -> range | None:
    if value is None:
        return None
    first, dash, last = value.partition("-")
    try:
        low = parse_number(first, 1, _MAX_PORT)
        high = parse_number(last, low, _MAX_PORT) if dash else low
    except ValueError as error:
        raise click.BadParameter(f"{error}; FROM-TO is wanted, such as 9100-9120") from None
    return range(low, high + 1)


@click.command("proxy")
@listen_option
@click.option(
    "--upstream",
    required=True,
    metavar="HOST:PORT",
    callback=to_upstream,
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
    callback=_to_ports,
    help="Ports for the other brokers' listeners; else any free.",
)
@click.option(
    "--upstream-config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Settings of a client: security.protocol, ssl.*, sasl.*.",
)
@click.option(
    "--max-connections",
    type=click.IntRange(min=1),
    default=_LIMITS.connections,
    show_default=True,
    metavar="COUNT",
    help="How many clients there may be; more are refused.",
)
@click.option(
    "--max-pending-bytes",
    type=click.IntRange(min=1),
    default=_LIMITS.pending_bytes,
    show_default=True,
    metavar="BYTES",
    help="How much all connections may hold that is not passed on; the largest is closed.",
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
    """Record what clients and brokers say to one another, into a cassette.

    Clients bootstrap at the proxy and speak plaintext to it. Every broker that a response
    names gets a listener of its own, and its address is rewritten, so that clients stay on the
    proxy. With --upstream-config the proxy speaks TLS to the brokers, and logs in there;
    without, logins of clients pass through.

    Secrets are redacted by schema: SASL, SCRAM, delegation tokens, sensitive settings. Records
    of topics are not: whoever has the cassette can read them.

    Ctrl-C or SIGTERM ends the recording; every frame is in the file by then. The exit code is 1
    where something could not be read or passed on, and 2 where the recording could not go on.

    \b
    Examples:
      kraftwire capture proxy --upstream broker:9092 --out session.jsonl
      kraftwire capture proxy --listen 127.0.0.1:9092 --upstream broker:9093 \\
          --upstream-config client.properties --out session.jsonl
      kraftwire capture proxy --upstream broker:9092 --out - | kraftwire capture decode -
    """
    if append and force:
        raise click.UsageError("--append and --force: one of them")
    if append and out == _STDOUT:
        raise click.UsageError("--append needs a file")
    security = security_of(upstream_config)
    _ = security.context  # what is wrong with its files is said before a cassette is made
    _warn(listen, no_redact)
    recording = _Recording(out, lambda: _open(out, append, force))
    one = Proxy(
        upstream,
        listen=listen,
        security=security,
        record=recording.record,
        redact=not no_redact,
        ports=ports,
        on_problem=lambda problem: print_note(problem),
        limits=ProxyLimits(connections=max_connections, pending_bytes=max_pending_bytes),
    )
    with naming_host(listen):
        asyncio.run(recording.run(one, upstream, wants_json(output)))
    recording.summarize(one)


class _Recording:
    """Writes frames, and ends the command where that fails."""

    def __init__(self, out: Path, open_cassette: Callable[[], CassetteFile]) -> None:
        self._out = out
        self._open_cassette = open_cassette
        self._cassette: CassetteFile | None = None
        self._error: OSError | None = None
        self._asked = asyncio.Event()

    def record(self, frame: Frame) -> None:
        """Write a frame."""
        if self._error is None and self._cassette is not None:
            try:
                self._cassette.write(frame)
            except OSError as error:
                self._error = error
                self._asked.set()

    async def run(self, proxy: Proxy, upstream: Address, as_json: bool) -> None:
        """Listen until SIGINT or SIGTERM, or until a write fails; a second signal ends it."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        bootstrap = await proxy.start()
        try:
            # No file is made, or replaced, where nobody can listen; no client was served yet.
            with self._open_cassette() as self._cassette:
                self._tell_address(bootstrap, upstream, as_json)
                await self._asked.wait()
                await proxy.close()
        finally:
            await proxy.close()

    def _tell_address(self, bootstrap: Address, upstream: Address, as_json: bool) -> None:
        if self._out != _STDOUT:
            if as_json:
                print_json({"bootstrap": str(bootstrap), "upstream": str(upstream)})
            else:
                click.echo(f"bootstrap.servers={bootstrap}")
            if sys.stdout is not None:
                sys.stdout.flush()
        click.echo(f"{bootstrap} passes on to {upstream}; Ctrl-C ends it", err=True)

    def _stop(self) -> None:
        if self._asked.is_set():
            raise SystemExit(EXIT_INTERRUPTED)
        self._asked.set()

    def summarize(self, proxy: Proxy) -> None:
        """What was recorded, on standard error; what went wrong as the exit code."""
        where = "<stdout>" if self._out == _STDOUT else self._out
        assert self._cassette is not None
        counts = f"{count_of(self._cassette.count, 'frame')} of "
        counts += count_of(proxy.connections, "connection")
        print_note(f"{where}: {counts}")
        if isinstance(self._error, BrokenPipeError):
            raise self._error
        if self._error is not None:
            reason = self._error.strerror or str(self._error)
            raise CouldNotDoIt(f"{where}: {reason}; the recording ended there")
        if proxy.problems:
            raise click.exceptions.Exit(EXIT_FINDINGS)


def _open(out: Path, append: bool, force: bool) -> CassetteFile:
    header = CassetteHeader("kraftwire capture proxy", registry.release)
    if out == _STDOUT:
        return CassetteFile.to_pipe(sys.stdout.fileno(), header)
    if append and out.exists():
        return CassetteFile.append(out)
    return CassetteFile.create(out, header, force=force)


def _warn(listen: Address, no_redact: bool) -> None:
    if no_redact:
        click.echo("warning: secrets are recorded (--no-redact)", err=True)
    if not listen.is_loopback:
        text = f"{listen.host} is not loopback: whoever reaches it reaches the cluster"
        click.echo(f"warning: {text}, in plaintext", err=True)
