"""The commands `generate` and `check`: write the codecs of spec sets, or show stale ones."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from kraftwire_generator.console import (
    EXIT_FINDINGS,
    CouldNotDoIt,
    count_text,
    finding_text,
    print_lines,
    progress_bar,
    reporting_failures,
    shown_path,
)
from kraftwire_generator.errors import Finding, SpecError
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.output.package import (
    NothingSelected,
    Package,
    Selection,
    count_specs,
    generate_package,
)
from kraftwire_generator.output.package_files import find_changes, foreign_files
from kraftwire_generator.output.targets import PackageTarget, find_targets, is_package_name


def _version_range(
    context: click.Context, option: click.Parameter, text: str | None
) -> VersionRange | None:
    if text is None:
        return None
    try:
        return VersionRange.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error), context, option) from None


@click.command()
@click.option(
    "--specs",
    "specs_dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The spec set: a directory of *.json files and an optional set.toml.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The directory of the package to write.",
)
@click.option(
    "--package", metavar="NAME", help="The package's import name; default: the name of --out."
)
@click.option(
    "--versions",
    callback=_version_range,
    metavar="RANGE",
    help="Only these versions of each message, such as 3+ or 0-7.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="GLOB",
    help="Only messages whose name matches; can be repeated.",
)
@click.option(
    "--templates",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Templates that replace kraftwire's templates of the same file names.",
)
def generate(
    specs_dir: Path | None,
    out: Path | None,
    package: str | None,
    versions: VersionRange | None,
    only: tuple[str, ...],
    templates: Path | None,
) -> None:
    """Write the Python codecs of message specs.

    Without --specs and --out, generates the sets that [tool.kraftwire] of the nearest
    pyproject.toml names. Writes only files that changed. Deletes files of an earlier run that no
    spec needs any more, except with --only or --versions.

    \b
    Examples:
      kraftwire generate
      kraftwire generate --specs my_specs --out src/my_messages
      kraftwire generate --only 'Fetch*' --specs my_specs --out src/my_messages
    """
    selection = Selection(only, versions)
    with reporting_failures():
        packages = _render(_targets(specs_dir, out, package), selection, templates)
        changes = [find_changes(item, keep_others=selection.is_partial) for item in packages]
        foreign = [finding for item in changes for finding in foreign_files(item)]
        if foreign:
            raise SpecError(foreign)
        for result, change in zip(packages, changes, strict=True):
            change.apply()
            for finding in result.warnings:
                click.echo(finding_text(finding), err=True)
            messages = count_text(result.message_count, "message")
            print_lines([f"{shown_path(result.target.out)}: {messages}; {change.summary}"])


@click.command()
@click.option(
    "--templates",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The templates that the code was generated with.",
)
def check(templates: Path | None) -> None:
    """Show where generated code differs from the specs; exit 1 if it does.

    Checks the sets of [tool.kraftwire] in the nearest pyproject.toml. Writes nothing.

    \b
    Example:
      kraftwire check
    """
    drift = files = 0
    with reporting_failures():
        for result in _render(find_targets(Path.cwd()), Selection(), templates):
            changes = find_changes(result, keep_others=False)
            print_lines(changes.diff())
            drift += len(changes.written) + len(changes.removed)
            files += len(result.files) + len(changes.removed)
    if drift:
        command = "kraftwire generate"
        if templates is not None:
            command += f" --templates {shlex.quote(str(templates))}"
        total = count_text(files, "generated file")
        click.echo(f"{drift} of {total} differ; fix them with: {command}")
        raise SystemExit(EXIT_FINDINGS)
    click.echo(f"all {files} generated files match the specs")


def _targets(
    specs_dir: Path | None, out: Path | None, package: str | None
) -> tuple[PackageTarget, ...]:
    """Return the targets of the options, or of pyproject.toml if no option is given."""
    if specs_dir is None and out is None:
        if package is not None:
            raise CouldNotDoIt("--package needs --specs and --out")
        return find_targets(Path.cwd())
    if specs_dir is None or out is None:
        given, missing = ("--specs", "--out") if out is None else ("--out", "--specs")
        raise CouldNotDoIt(f"{given} needs {missing} as well")
    name = package or out.resolve().name
    if not is_package_name(name):
        raise CouldNotDoIt(f"{name!r} is not a valid package name; choose one with --package")
    return (PackageTarget(specs_dir, out, name),)


def _render(
    targets: tuple[PackageTarget, ...], selection: Selection, templates: Path | None
) -> list[Package]:
    """Render the package of every target; raise `SpecError` with the errors of all of them.

    A selection must match a message in at least one set.
    """
    packages: list[Package] = []
    errors: list[Finding] = []
    unmatched: list[Finding] = []
    for target in targets:
        label = f"generating {target.package}"
        with progress_bar(label, count_specs(target.specs, selection)) as progress:
            try:
                packages.append(generate_package(target, selection, templates, progress))
            except NothingSelected as error:
                unmatched += error.findings
            except SpecError as error:
                errors += error.findings
    if errors or not packages:
        raise SpecError(errors or unmatched)
    return packages
