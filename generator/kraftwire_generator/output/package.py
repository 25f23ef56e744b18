"""Generates the text of every file of a package from a spec set on disk.

It writes nothing; `package_files` compares the texts with the files on disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from kraftwire_generator.checks.spec_set import SpecSet, load_set
from kraftwire_generator.checks.structs import ResolvedMessage
from kraftwire_generator.errors import Finding, SpecError, raise_errors
from kraftwire_generator.language.names import module_name, to_snake_case
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.output.renderer import Renderer, is_generated
from kraftwire_generator.output.targets import PackageTarget
from kraftwire_generator.parser.error_codes import read_error_codes
from kraftwire_generator.plan.planner import plan_message, plan_package

# Starting worker processes takes longer than rendering a few messages.
_PARALLEL_FROM = 8


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of a set to generate: message names by pattern, and a range of versions."""

    only: tuple[str, ...] = ()
    versions: VersionRange | None = None

    @property
    def is_partial(self) -> bool:
        """Whether some files of the package may come from another run."""
        return bool(self.only) or self.versions is not None


class NothingSelected(SpecError):
    """A selection matches no message of a set."""


@dataclass(frozen=True, slots=True)
class Package:
    """The files of one generated package, and the warnings about its specs."""

    target: PackageTarget
    files: dict[Path, str]
    warnings: tuple[Finding, ...]
    message_count: int


def generate_package(
    target: PackageTarget,
    selection: Selection,
    templates: Path | None = None,
    progress: Callable[[str], None] = lambda name: None,
) -> Package:
    """Load, check and render a set; raise `SpecError` with every error of every file."""
    spec_set, warnings = load_set(target.specs)
    if spec_set is None:
        raise SpecError(warnings)
    raise_errors(warnings)
    selected = _select(spec_set, selection)
    files = {
        target.out / f"{module}.py": text
        for module, text in _render_all(spec_set, selected, templates, progress)
    }
    index = _index(spec_set, selected, target, selection)
    files[target.out / "__init__.py"] = Renderer(templates).package(
        plan_package(index, target.package)
    )
    if target.numbers is not None:
        if target.numbers in files:
            problem = "numbers and a message share this module; name another file for numbers"
            raise SpecError([Finding(target.numbers.as_posix(), 1, "", problem)])
        files[target.numbers] = _render_numbers(spec_set, templates)
    return Package(target, files, tuple(warnings), len(selected))


def count_specs(directory: Path, selection: Selection) -> int:
    """Return about how many messages a run renders, for a progress bar."""
    if selection.only:
        return 0
    return sum(1 for _ in directory.rglob("*.json"))


def _select(spec_set: SpecSet, selection: Selection) -> list[tuple[str, ResolvedMessage]]:
    selected: list[tuple[str, ResolvedMessage]] = []
    for module, message in spec_set.messages:
        spec = message.spec
        if selection.only and not any(fnmatchcase(spec.name, item) for item in selection.only):
            continue
        valid = spec.valid_versions
        if selection.versions is not None:
            valid = valid.intersect(selection.versions)
        if valid:
            selected.append((module, replace(message, spec=replace(spec, valid_versions=valid))))
    if not selected:
        problem = "no message of the set has a version"
        if selection.only:
            problem = f"no message of the set is called {' or '.join(selection.only)}"
        if selection.versions is not None:
            problem += f" within versions {selection.versions}"
        kind = NothingSelected if selection.is_partial else SpecError
        raise kind([Finding(spec_set.directory.as_posix(), 1, "", problem)])
    return selected


def _index(
    spec_set: SpecSet,
    selected: Sequence[tuple[str, ResolvedMessage]],
    target: PackageTarget,
    selection: Selection,
) -> SpecSet:
    """Return the set as the package's `__init__` lists it.

    After a partial run, it lists the selected messages and those of earlier runs.
    """
    if not selection.is_partial:
        return spec_set
    names = {message.spec.name for _, message in selected}
    listed = tuple(
        (module, message)
        for module, message in spec_set.messages
        if message.spec.name in names
        or _was_generated(target.out / f"{module_name(message.spec.name)}.py")
    )
    return replace(spec_set, messages=listed)


def _was_generated(file: Path) -> bool:
    return file.is_file() and is_generated(file.read_text(encoding="utf-8", errors="replace"))


def _render_all(
    spec_set: SpecSet,
    selected: Sequence[tuple[str, ResolvedMessage]],
    templates: Path | None,
    progress: Callable[[str], None],
) -> Iterator[tuple[str, str]]:
    """Yield module name and text of every message; render on all cores if there are many."""
    render = partial(_render_message, spec_set.directory, templates)
    messages = [message for _, message in selected]
    with ExitStack() as stack:
        rendered: Iterator[tuple[str, str]] = map(render, messages)
        if len(messages) >= _PARALLEL_FROM:
            pool = stack.enter_context(ProcessPoolExecutor(max_workers=os.cpu_count()))
            rendered = pool.map(render, messages, chunksize=4)
        for item, message in zip(rendered, messages, strict=True):
            progress(message.spec.name)
            yield item


def _render_message(
    directory: Path, templates: Path | None, message: ResolvedMessage
) -> tuple[str, str]:
    source = Path(message.spec.file)
    if source.is_relative_to(directory):
        source = source.relative_to(directory)
    plan = plan_message(message, source.as_posix())
    return plan.module, Renderer(templates).message(plan)


def _render_numbers(spec_set: SpecSet, templates: Path | None) -> str:
    """Return the module of enums: the error codes of error_codes.toml, the API keys of requests."""
    keys = sorted(
        (spec.api_key, to_snake_case(spec.name.removesuffix("Request") or spec.name).upper())
        for _, message in spec_set.messages
        if (spec := message.spec).type == "request" and spec.api_key is not None
    )
    codes = read_error_codes(spec_set.directory)
    return Renderer(templates).numbers(spec_set.settings.title, codes, keys)
