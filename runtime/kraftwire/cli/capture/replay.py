"""`capture replay`: serves a recording as a broker would, until it is interrupted.

The first line on standard output is the address for clients. Every request that was not recorded is
a finding, printed when it arrives. At the end, standard error gets the number of answers, and the
recorded requests that did not come. The exit code is 1 if there were findings.
"""

from __future__ import annotations

import asyncio
from typing import Any

import click

from kraftwire.address import Address
from kraftwire.capture.replay.miss import Miss
from kraftwire.capture.replay.replay import Replay
from kraftwire.capture.replay.server import ReplayServer
from kraftwire.capture.replay.tape import describe_unused
from kraftwire.cli.capture.recording import open_recording
from kraftwire.cli.messages.message_lookup import load_registry, messages_option
from kraftwire.cli.options.listen import listen_option, naming_host, print_bootstrap
from kraftwire.cli.options.signals import stop_event
from kraftwire.console.failures import CouldNotDoIt, exit_with_findings
from kraftwire.console.output import flush_output, output_option, print_json, print_note, wants_json
from kraftwire.difference import split_pattern
from kraftwire.printing import printable
from kraftwire_wire.errors import count_of

_MAX_PROBLEMS = 10


def _check_patterns(
    _: click.Context, __: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    try:
        for text in value:
            split_pattern(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


@click.command("replay")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@listen_option("Where clients bootstrap; port 0 picks a free one.")
@click.option(
    "--ignore",
    multiple=True,
    metavar="MESSAGE.PATH",
    callback=_check_patterns,
    help="A field that may differ; repeatable, * matches any text.",
)
@click.option(
    "--on-miss",
    type=click.Choice(["close", "error"]),
    default="close",
    show_default=True,
    help="The answer to a request that was not recorded.",
)
@click.option(
    "--timing",
    type=click.Choice(["fast", "recorded"]),
    default="fast",
    show_default=True,
    help="Answer immediately, or after the delay of the broker.",
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
    recorded ones by their decoded fields. Fields that depend on the client or the clock may
    differ (timestamps, member ids, epochs, timeouts); --ignore adds more. Records are matched
    one by one, however a producer batches them, and are fetched no earlier than they are
    produced. Each recorded broker has a listener, and addresses in responses are rewritten to
    it. Runs until it is interrupted; the exit code is 1 if a request was not recorded.

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
        print_note(f"not replayed: {more} more; capture decode shows them")
    if not core.tape.responses:
        raise CouldNotDoIt(f"{recording.name} has no response that can be replayed")
    misses = _MissPrinter(as_json)
    core.on_miss = misses.print
    with naming_host(listen):
        asyncio.run(_serve(core, listen, timing == "recorded", as_json))
    _summarize(core)
    misses.close()
    exit_with_findings(core.missed)


async def _serve(core: Replay, listen: Address, with_delays: bool, as_json: bool) -> None:
    """Listen until SIGINT or SIGTERM."""
    server = ReplayServer(core, with_delays=with_delays)
    stopped = stop_event()
    bootstrap = await server.start(listen)
    try:
        print_bootstrap(bootstrap, {"brokers": len(core.addresses())}, as_json=as_json)
        await stopped.wait()
    finally:
        await server.close()


class _MissPrinter:
    """Prints misses until the reader goes away; the replay goes on for its clients."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._error: BrokenPipeError | None = None

    def print(self, miss: Miss) -> None:
        if self._error is None:
            try:
                _print_miss(miss, self._as_json)
            except BrokenPipeError as error:
                self._error = error

    def close(self) -> None:
        """Raise the `BrokenPipeError` if there was one."""
        if self._error is not None:
            raise self._error


def _print_miss(miss: Miss, as_json: bool) -> None:
    if as_json:
        print_json({"miss": _miss_json(miss)})
    else:
        for line in f"not recorded: {miss}".splitlines():
            click.echo(printable(line))
    flush_output()


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
    print_note(f"{count_of(core.answered, 'request')} answered, {core.missed} not recorded")
    unused = describe_unused(core.tape.unused())
    if unused:
        print_note(f"recorded but not requested: {unused}")
