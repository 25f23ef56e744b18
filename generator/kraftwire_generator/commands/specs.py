"""The command group `specs`: import specs into a set, compare two sets, list the drafts."""

from __future__ import annotations

from pathlib import Path

import click

from kraftwire_generator.commands.diff import diff_command
from kraftwire_generator.console import (
    EXIT_FINDINGS,
    CouldNotDoIt,
    json_line,
    on_terminal,
    print_lines,
    reporting_failures,
    shown_path,
)
from kraftwire_generator.importer.set_writer import ImportReport, import_specs
from kraftwire_generator.output.drafts_readme import MARKER, README, specs_table
from kraftwire_generator.output.file_changes import FOREIGN, diff_lines


@click.group()
def specs() -> None:
    """Import, compare and list message specs."""


specs.add_command(diff_command)


@specs.command("import")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The spec set to write: DIR/<module>/<Name>.json, set.toml and error_codes.toml.",
)
def import_command(sources: tuple[str, ...], out: Path) -> None:
    """Import the message specs of any release of Kafka.

    A SOURCE is one of Kafka's published jars, a directory with Kafka's source tree, or
    PATH@REVISION of a git repository. Only facts are written: names, types, versions, tags,
    defaults, flags. Modules of DIR that no SOURCE contains do not change.

    \b
    Examples:
      kraftwire specs import kafka-clients-4.4.0.jar kafka-raft-4.4.0.jar --out specs/kafka
      kraftwire specs import ~/src/kafka@3.9.1 --out specs/kafka-3.9
    """
    with reporting_failures():
        report = import_specs(sources, out)
    _print_modules(report)
    _print_summary(report, out)


@specs.command("table")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; show the differences, and exit 1 if there are any.",
)
def table_command(directory: Path, check: bool) -> None:
    """List the drafted messages of all spec sets in DIRECTORY in its README.md.

    The tables show which document each message comes from, what was corrected, and what Kafka
    shipped instead. All of it comes from the spec files and the comments at their tops.

    \b
    Example:
      kraftwire specs table message_specs
    """
    file = directory / README
    with reporting_failures():
        text = specs_table(directory)
        old = file.read_text(encoding="utf-8") if file.exists() else ""
        if old.strip() and not old.startswith(MARKER):
            raise CouldNotDoIt(f"{shown_path(file)}: {FOREIGN}")
        if old != text and not check:
            file.write_text(text, encoding="utf-8", newline="\n")
    if old == text:
        print_lines([f"{shown_path(file)} matches the specs"])
    elif check:
        print_lines(diff_lines(file, old, text))
        print_lines([f"fix it with: kraftwire specs table {shown_path(directory)}"])
        raise SystemExit(EXIT_FINDINGS)
    else:
        print_lines([f"{shown_path(file)} written"])


def _print_modules(report: ImportReport) -> None:
    rows = [(module.module, module.specs, module.release) for module in report.modules]
    if not on_terminal():
        keys = ("module", "specs", "release")
        print_lines(json_line(dict(zip(keys, row, strict=True))) for row in rows)
        return
    width = max(len(name) for name, _, _ in rows)
    click.echo(f"{'module':<{width}}  specs  release")
    for name, count, release in rows:
        click.echo(f"{name:<{width}}  {count:>5}  {release}")


def _print_summary(report: ImportReport, out: Path) -> None:
    counts = (
        f"{len(report.changed)} files written, {len(report.removed)} removed, "
        f"{len(report.unchanged)} unchanged"
    )
    lines = [f"{out}: Apache Kafka {report.release}, {counts}"]
    kept = [module.module for module in report.modules if not module.imported]
    if kept:
        lines.append(f"kept from an earlier import, since no source has them: {', '.join(kept)}")
    if report.error_codes is None:
        lines.append("no source has the error codes; they are in the kafka-clients jar")
    lines += [f"{source}: has no message specs" for source in report.empty_sources]
    print_lines(lines, err=True)
