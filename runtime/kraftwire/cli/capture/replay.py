"""`capture replay`: a recording served as a broker, until it is interrupted.

The first thing on standard output is where clients bootstrap. Every request that was not
recorded is a finding, printed when it comes; at the end, standard error says how much was
answered and what nobody asked for. The exit code is 1 where there were findings.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

import click

from kraftwire.address import Address
from kraftwire.capture.replay.miss import Miss
from kraftwire.capture.replay.replay import Replay
from kraftwire.capture.replay.server import ReplayServer
from kraftwire.capture.replay.tape import describe_unused
from kraftwire.cli.capture.input import open_recording
from kraftwire.cli.messages.spec_sets import load_registry, messages_option
from kraftwire.cli.options.listen import listen_option, naming_host
from kraftwire.console.failures import EXIT_FINDINGS, CouldNotDoIt
from kraftwire.console.output import output_option, print_json, print_note, wants_json
from kraftwire.difference import split_pattern
from kraftwire.printing import printable
from kraftwire_wire.errors import count_of

_MAX_PROBLEMS = 10


def _to_patterns(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    try:
        for text in value:
            split_pattern(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


@click.command("replay")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@listen_option
@click.option(
    "--ignore",
    multiple=True,
    metavar="MESSAGE.PATH",
    callback=_to_patterns,
    help="A field that may differ; repeatable, * for any text.",
)
@click.option(
    "--on-miss",
    type=click.Choice(["close", "error"]),
    default="close",
    show_default=True,
    help="What a client gets for what was not recorded.",
)
@click.option(
    "--timing",
    type=click.Choice(["fast", "recorded"]),
    default="fast",
    show_default=True,
    help="Answer at once, or as late as the broker did.",
)
@messages_option
@output_option
def replay(
    file: str,
    listen: Address,
    ignore: tuple[str, ...],
    on_miss: str,
    timing: str,
    messages: str,
    output: str | None,
) -> None:
    """Serve recorded traffic as a broker would, with no broker.

    FILE is a cassette, a packet capture, or - for standard input. Requests are matched to
    recorded ones by their decoded fields; what a client or the clock makes up (timestamps,
    member ids, epochs, timeouts) may differ, and --ignore names more of that. Records are
    matched one by one, however a producer batches them, and are fetched no earlier than they
    are produced. There is a listener for each recorded broker, and addresses in answers are
    rewritten to them. Runs until it is interrupted; exit code 1 where something was asked
    that was not recorded.

    \b
    Examples:
      kraftwire capture replay session.jsonl
      kraftwire capture replay session.jsonl --listen 127.0.0.1:9092
      kraftwire capture replay session.jsonl --ignore 'JoinGroupRequest.protocols.metadata'
    """
    registry = load_registry(messages)
    as_json = wants_json(output)
    with open_recording(file, registry) as recording:
        core = Replay(recording, registry, ignore=ignore, answer_misses=on_miss == "error")
    for problem in core.tape.problems[:_MAX_PROBLEMS]:
        print_note(f"not replayed: {problem}")
    if len(core.tape.problems) > _MAX_PROBLEMS:
        more = len(core.tape.problems) - _MAX_PROBLEMS
        click.echo(f"not replayed: {more} more; capture decode shows them", err=True)
    if not core.tape.responses:
        raise CouldNotDoIt(f"{recording.name}: no response in it that can be replayed")
    findings = _Findings(as_json)
    core.on_miss = findings.tell
    with naming_host(listen):
        asyncio.run(_serve(core, listen, timing == "recorded", as_json))
    _summarize(core)
    findings.close()
    if core.missed:
        raise click.exceptions.Exit(EXIT_FINDINGS)


async def _serve(core: Replay, listen: Address, with_delays: bool, as_json: bool) -> None:
    """Listen until SIGINT or SIGTERM."""
    server = ReplayServer(core, with_delays=with_delays)
    interrupted = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupted.set)
    bootstrap = str(await server.start(listen))
    try:
        if as_json:
            print_json({"bootstrap": bootstrap, "brokers": len(core.addresses())})
        else:
            click.echo(f"bootstrap.servers={bootstrap}")
        _flush()
        await interrupted.wait()
    finally:
        await server.close()


def _flush() -> None:
    """Let whoever reads through a pipe see it now."""
    if sys.stdout is not None:
        sys.stdout.flush()


class _Findings:
    """Prints misses while somebody reads them; the replay goes on for its clients."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._error: BrokenPipeError | None = None

    def tell(self, miss: Miss) -> None:
        """Print one."""
        if self._error is None:
            try:
                _print_miss(miss, self._as_json)
            except BrokenPipeError as error:
                self._error = error

    def close(self) -> None:
        """Raise the `BrokenPipeError` that there was."""
        if self._error is not None:
            raise self._error


def _print_miss(miss: Miss, as_json: bool) -> None:
    if as_json:
        print_json({"miss": _miss_json(miss)})
    else:
        for line in f"not recorded: {miss}".splitlines():
            click.echo(printable(line))
    _flush()


def _miss_json(miss: Miss) -> dict[str, Any]:
    return {
        "api": miss.api or None,
        "version": miss.version if miss.api else None,
        "reason": miss.reason,
        "nearest": miss.nearest,
        "differences": [
            {"path": each.path, "actual": repr(each.actual), "expected": repr(each.expected)}
            for each in miss.differences
        ],
    }


def _summarize(core: Replay) -> None:
    click.echo(
        f"{count_of(core.answered, 'request')} answered, {core.missed} not recorded", err=True
    )
    unused = describe_unused(core.tape.unused())
    if unused:
        click.echo(f"nobody asked for: {unused}", err=True)
