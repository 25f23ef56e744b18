"""The command `docs`: the protocol guide of spec sets, as static pages."""

from __future__ import annotations

from pathlib import Path

import click

from kraftwire_generator.checks.spec_set import load_set
from kraftwire_generator.console import (
    count_text,
    finding_text,
    print_lines,
    progress_bar,
    reporting_failures,
    shown_path,
)
from kraftwire_generator.errors import Finding, SpecError, errors_of
from kraftwire_generator.guide.guide_files import find_changes, write_guide
from kraftwire_generator.guide.pages import GuideSet, guide_set, unique_name
from kraftwire_generator.guide.renderer import ASSETS, guide_files
from kraftwire_generator.output.targets import find_targets

TITLE = "Kafka protocol guide"


@click.command("docs")
@click.option(
    "--specs",
    "directories",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A spec set; can be repeated.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The directory to write to; open its index.html.",
)
@click.option("--title", default=TITLE, show_default=True, help="The title of the guide.")
def docs(directories: tuple[Path, ...], out: Path, title: str) -> None:
    """Write the protocol guide: every message, version by version.

    Static pages with field tables, wire diagrams, what changed in each version, and a search.
    The pages need no server and no network. Without --specs, documents the sets that
    [tool.kraftwire] of the nearest pyproject.toml names. Writes only pages that changed. Deletes
    pages of an earlier run that no message needs any more, but no other file.

    \b
    Examples:
      kraftwire docs --out guide
      kraftwire docs --specs my_specs --out guide --title "My messages"
    """
    with reporting_failures():
        folders = directories or tuple(target.specs for target in find_targets(Path.cwd()))
        sets, warnings = _load(folders)
        files: dict[str, str] = {}
        length = 5 + sum(bool(item.error_codes) + len(list(item.pages)) for item in sets)
        with progress_bar("writing the guide", length) as progress:
            for name, text in guide_files(sets, title):
                files[name] = text
                progress(name)
        changes = find_changes(out, files)
        write_guide(out, files, changes)
    for finding in warnings:
        click.echo(finding_text(finding), err=True)
    messages = count_text(sum(item.message_count for item in sets), "message")
    counts = f"{messages} of {count_text(len(sets), 'set')}; {changes.summary}"
    print_lines([f"{shown_path(out / 'index.html')}: {counts}"])


def _load(folders: tuple[Path, ...]) -> tuple[list[GuideSet], list[Finding]]:
    """Load every set under a unique folder name; raise `SpecError` with all their errors."""
    errors: list[Finding] = []
    warnings: list[Finding] = []
    sets: list[GuideSet] = []
    taken = {ASSETS}
    for folder in folders:
        spec_set, findings = load_set(folder)
        wrong = errors_of(findings)
        errors += wrong
        warnings += [finding for finding in findings if finding.severity == "warning"]
        if spec_set is not None and not wrong:
            try:
                sets.append(guide_set(spec_set, unique_name(folder.resolve().name, taken)))
            except SpecError as error:
                errors += error.findings
    if errors:
        raise SpecError(errors)
    return sets, warnings
