"""The command `simulate`: runs clusters of replicas with faults, and reports broken rules."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import click

from kraftwire.console.failures import CouldNotDoIt, exit_with_findings
from kraftwire.console.output import output_option, print_json, print_table, wants_json
from kraftwire.simulation.replay import shrink
from kraftwire.simulation.run import EVENTS, Run
from kraftwire.simulation.run import simulate as simulate_seed
from kraftwire.simulation.timeline import draw_timeline
from kraftwire.simulation.transcript import HOLDS, format_transcript, parse_transcript
from kraftwire_wire.errors import count_of

_COLUMNS = ("seed", "voters", "observers", "events", "rule", "seen", "steps", "transcript")
_REPORT_EVERY_S = 10.0


class _RunResult(NamedTuple):
    """A summary of a run; another process sends it."""

    seed: int
    voters: int
    observers: int
    events: int
    rule: str | None = None
    seen: str | None = None
    steps: int | None = None
    transcript: str | None = None


@click.command("simulate")
@click.argument("replayed", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--seeds", default=100, show_default=True, type=click.IntRange(1), metavar="N")
@click.option("--start", default=0, show_default=True, type=click.IntRange(0), metavar="S")
@click.option("--events", default=EVENTS, show_default=True, type=click.IntRange(1), metavar="N")
@click.option("--hours", type=float, metavar="H", help="Run new seeds for this long.")
@click.option("--codecs/--no-codecs", default=True, help="Encode and decode every message.")
@click.option("--stranger", is_flag=True, help="Let a stranger send requests of any kind.")
@click.option("--jobs", default=os.cpu_count() or 1, type=click.IntRange(1), metavar="N")
@click.option(
    "--transcripts",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the shortest steps that break the rule of a seed here.",
)
@click.option(
    "--svg", type=click.Path(path_type=Path, dir_okay=False), help="Draw the run of one seed."
)
@output_option
def simulate(
    replayed: Path | None,
    seeds: int,
    start: int,
    events: int,
    hours: float | None,
    codecs: bool,
    stranger: bool,
    jobs: int,
    transcripts: Path | None,
    svg: Path | None,
    output: str | None,
) -> None:
    """Run clusters of replicas while messages are lost, repeated, reordered, and nodes crash.

    A seed determines a cluster, its clients and its faults, so each run of it is the same. The
    rules of Raft and KRaft are checked after every event, and once the faults end the cluster
    must recover. Each seed that breaks a rule gets a row; totals go to standard error.
    Instead of seeds, REPLAYED is a transcript to replay and print.

    Exit codes: 0 every rule held, 1 a rule was broken, 2 could not do it.

    \b
    Examples:
      kraftwire simulate --seeds 200
      kraftwire simulate --seeds 1 --start 17 --svg run.svg
      kraftwire simulate --seeds 200 --stranger
      kraftwire simulate --hours 2 --transcripts broken
      kraftwire simulate broken/17.txt
    """
    if replayed is not None:
        _replay(replayed)
        return
    if svg is not None and seeds != 1:
        raise CouldNotDoIt("--svg draws one run; use --seeds 1 --start S")
    pictures = {} if svg is None else {start: svg}
    one = partial(
        _run,
        events=events,
        codecs=codecs,
        stranger=stranger,
        transcripts=transcripts,
        pictures=pictures,
    )
    numbers = count(start) if hours is not None else iter(range(start, start + seeds))
    until = None if hours is None else time.monotonic() + hours * 3600
    broken = _print_results(_results(one, numbers, jobs, until), wants_json(output))
    exit_with_findings(broken)


def _replay(path: Path) -> None:
    # Without "replace", a binary file would be an error of decoding, not of its first line.
    kept = parse_transcript(path.read_text(encoding="utf-8", errors="replace"), str(path))
    text = format_transcript(kept.title, kept.scenario, kept.steps, in_quiet=kept.in_quiet)
    click.echo(text, nl=False)
    exit_with_findings(text.splitlines()[-1] != HOLDS)


def _run(
    seed: int,
    events: int,
    codecs: bool,
    stranger: bool,
    transcripts: Path | None,
    pictures: dict[int, Path],
) -> _RunResult:
    """Run a seed; write its picture, and the shortest steps if it breaks a rule."""
    run = simulate_seed(seed, events, codecs=codecs, stranger=stranger)
    if seed in pictures:
        pictures[seed].write_text(draw_timeline(run.scenario, run.steps), encoding="utf-8")
    scenario = run.scenario
    result = _RunResult(seed, scenario.voters, scenario.observers, run.events)
    if run.violation is None:
        return result
    seen = str(run.violation).removeprefix(f"{run.violation.rule}: ")
    result = result._replace(rule=run.violation.rule, seen=seen, steps=len(run.steps))
    if transcripts is None:
        return result
    path = transcripts / f"{seed}.txt"
    steps = _write_shortest(run, path, codecs=codecs)
    return result._replace(steps=steps, transcript=str(path))


def _write_shortest(run: Run, path: Path, *, codecs: bool) -> int:
    assert run.violation is not None, "only a broken run is shrunk"
    steps = shrink(run, codecs=codecs)
    path.parent.mkdir(parents=True, exist_ok=True)
    title = f"seed {run.scenario.seed}: {run.violation.rule}"
    text = format_transcript(title, run.scenario, steps, in_quiet=run.is_stuck)
    path.write_text(text, encoding="utf-8")
    return len(steps)


def _results(
    one: partial[_RunResult], seeds: Iterator[int], jobs: int, until: float | None
) -> Iterator[_RunResult]:
    """Yield the result of each seed, in their order, until the seeds or the time run out."""
    if jobs == 1:
        for seed in seeds:
            yield one(seed)
            if until is not None and time.monotonic() >= until:
                return
        return
    pool = ProcessPoolExecutor(jobs, initializer=_leave_interrupts)
    try:
        while until is None or time.monotonic() < until:
            some = list(islice(seeds, 8 * jobs))
            if not some:
                return
            yield from pool.map(one, some)
    finally:
        pool.shutdown(cancel_futures=True)


def _leave_interrupts() -> None:
    """Leave Ctrl-C to the parent process, which stops this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _print_results(results: Iterator[_RunResult], as_json: bool) -> int:
    """Print broken seeds, and totals on standard error; return how many seeds are broken."""
    began = reported = time.monotonic()
    runs = events = broken = 0
    rows = []
    for result in results:
        runs += 1
        events += result.events
        if result.rule is not None:
            broken += 1
            if as_json:
                print_json(result._asdict())
            else:
                rows.append(result)
        if time.monotonic() - reported > _REPORT_EVERY_S:
            reported = time.monotonic()
            click.echo(f"{_totals(runs, events, broken)}, at seed {result.seed}", err=True)
    if rows:
        print_table(_COLUMNS, rows, folded=("seen",))
    took = time.monotonic() - began
    click.echo(f"{_totals(runs, events, broken)}; {events / took:,.0f} events/s", err=True)
    return broken


def _totals(runs: int, events: int, broken: int) -> str:
    return f"{count_of(runs, 'seed')}, {events:,} events, {broken} broken"
