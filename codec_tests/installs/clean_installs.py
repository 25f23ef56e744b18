"""Builds the package from a fresh clone, and installs it in clean environments.

    python -m codec_tests.installs.clean_installs
    python -m codec_tests.installs.clean_installs --newest --tests    # as root

What is committed counts. Each environment is a row: with a C compiler the native engine must
run, without one plain Python, and both must print the same (`smoke.py` has what is run).
`--newest` does so with the newest Python of Debian's unstable suite, in a tree of its own.

Rules:
- all that is made is below one temporary directory, which is removed at the end;
- a tree is entered in a mount namespace of its own: its mounts end with the command;
- a command that outlives its time is killed with all that it started;
- packages come from where pip and apt of this machine take them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from codec_tests.installs.debian_tree import add_packages, grow_tree
from codec_tests.installs.places import LONG, SHORT, Failed, Place

ROOT = Path(__file__).resolve().parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
EXTRAS = ("[parquet,generator]", "[generator]", "[parquet]", "")
"""What to install, in turn: a new Python may not have wheels for all of it yet."""
TESTS = ("codec_tests/messages", "codec_tests/wire")
# One of these tests runs mypy.
TEST_TOOLS = ("pytest", "pytest-timeout", "hypothesis", "mypy")
FRIENDLY = "pip install 'kraftwire[parquet]'"
NO_COMPILER = "/nonexistent/cc"


@dataclass
class Report:
    """The rows of the table, and what the environments printed so far."""

    failed: bool = False
    seen: dict[str, tuple[str, str]] = field(default_factory=dict)

    def row(self, name: str, work: Callable[[], str]) -> None:
        """Do what a row stands for, and print it."""
        started = time.monotonic()
        try:
            verdict, remark = "ok", work()
        except Failed as error:
            self.failed = True
            lines = str(error).strip().splitlines()
            verdict, remark = "FAILED", "\n    ".join([lines[0], *lines[1:][-40:]])
        click.echo(f"{name:38} {verdict:7} {time.monotonic() - started:6.1f} s  {remark}")

    def same(self, key: str, text: str, name: str) -> None:
        """Fail where an environment printed something else than the first one did."""
        first, other = self.seen.setdefault(key, (name, text))
        pairs = zip([*text.splitlines(), ""], [*other.splitlines(), ""], strict=False)
        for line, other_line in pairs if text != other else ():
            if line != other_line:
                raise Failed(f"{key} differs from {first!r}:\n{line[:200]}\n{other_line[:200]}")


@dataclass(frozen=True)
class Distributions:
    """What is built once: the sdist, and a wheel where no compiler was."""

    sdist: Path
    wheel: Path
    roots: list[str]
    extensions: int


def build(place: Place) -> Distributions:
    """Build from the clone; the files that only setuptools can have left out must be there."""
    tools, dist = place.programs("tools"), place.work / "dist"
    place.run(tools / "pip", "install", "build", seconds=LONG)
    place.run(tools / "python", "-m", "build", "--sdist", "--outdir", dist, seconds=LONG)
    (sdist,) = dist.glob("*.tar.gz")
    settings = without_compiler(place, tools)
    wheel_to = ("--no-deps", "--wheel-dir", dist)
    place.run(tools / "pip", "wheel", *wheel_to, sdist, seconds=LONG, **settings)
    (wheel,) = dist.glob("*.whl")
    project = tomllib.loads((place.clone / "pyproject.toml").read_text())
    setuptools = project["tool"]["setuptools"]
    roots = setuptools["packages"]["find"]["where"]
    return Distributions(sdist, wheel, roots, len(setuptools["ext-modules"]))


def check_files(place: Place, built: Distributions) -> str:
    """What git has of the packages must be in the sdist, and in the wheel."""
    files = place.run("git", "ls-files", *built.roots).split()
    with tarfile.open(built.sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    missing = [f"the sdist lacks {name}" for name in files if name not in inside]
    with zipfile.ZipFile(built.wheel) as wheel:
        inside = set(wheel.namelist())
    # The roots have plain names: what follows the first slash is the path in a wheel.
    missing += [f"the wheel lacks {name}" for name in files if name.partition("/")[2] not in inside]
    if missing:
        raise Failed("\n".join([f"{len(missing)} files are missing", *missing]))
    compiled = [name for name in inside if name.endswith((".so", ".pyd"))]
    if compiled:
        raise Failed(f"a compiler was found after all: {', '.join(compiled)}")
    others = [name for name in files if not name.endswith(".py")]
    return f"all {len(files)} files, {len(others)} of them not Python"


def without_compiler(place: Place, programs: Path) -> dict[str, str]:
    """Settings that leave no compiler to find; a tree has none until one is installed."""
    if place.tree is not None:
        return {}
    return {"PATH": str(programs), "CC": NO_COMPILER, "CXX": NO_COMPILER}


def install(place: Place, what: Path, programs: Path, extras: str, **settings: str) -> str:
    """Install into an environment; say which wheels a tree's Python lacks, and do without them.

    Dependencies come as wheels: it is our own sources that meet the compiler, or do not.
    """
    options = ("--verbose", "--only-binary", ":all:", "--no-binary", "kraftwire")
    lacking: set[str] = set()
    log = ""
    for some in EXTRAS[EXTRAS.index(extras) :]:
        try:
            command = (programs / "pip", "install", *options, f"{what}{some}")
            log = place.run(*command, seconds=LONG, **settings)
        except Failed as error:
            lacks = re.findall(r"No matching distribution found for (\S+)", str(error))
            if not lacks or some == EXTRAS[-1] or place.tree is None:
                raise
            lacking.update(lacks)
        else:
            break
    (programs.parent / "install.log").write_text(log)
    return f", no wheel of {', '.join(sorted(lacking))}" if lacking else ""


def look(place: Place, programs: Path, name: str, report: Report) -> dict[str, Any]:
    """What the install says of itself; what it prints must be what others print."""
    shutil.copy(SMOKE, place.work)
    output = place.run(programs / "python", place.work / SMOKE.name, seconds=LONG)
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    doctor = found["printed"].pop("doctor")
    # What is installed differs with the extras, and what versions there are with the place.
    packages = " ".join(key for key, version in json.loads(doctor).items() if version)
    report.same(f"doctor of {place.name} with {packages}", doctor, name)
    for key, text in found["printed"].items():
        report.same(key, text, name)
    return found


def check_engine(found: dict[str, Any], engine: str, compiled: int, log: str) -> None:
    """Both native parts must be there and run, or neither."""
    if (found["engine"], len(found["compiled"])) != (engine, compiled):
        reasons = [line for line in log.splitlines() if re.search(r"failed|error:", line)]
        got = f"engine {found['engine']}, compiled {found['compiled']}"
        raise Failed("\n".join([f"{got}, not {engine} and {compiled} files", *reasons]))
    columns = {found["columns"], found["doctor's columns"]}
    if found["rows"] and columns != {engine}:
        raise Failed(f"columns are {columns}, not {engine}")
    if not found["rows"] and FRIENDLY not in found["columns"]:
        raise Failed(f"kraftwire.columns without pyarrow: {found['columns']!r}")


def check_kind(
    report: Report, place: Place, built: Distributions, kind: str, extras: str = EXTRAS[0]
) -> None:
    """The row of one environment: `kind` says with what it is made."""
    report.row(f"{place.name}, {kind}", lambda: try_install(report, place, built, kind, extras))


def try_install(report: Report, place: Place, built: Distributions, kind: str, extras: str) -> str:
    """Make an environment, and say what came of it."""
    compiler = "no compiler" not in kind
    programs = place.programs(kind)
    settings = {} if compiler else without_compiler(place, programs)
    what = built.wheel if "wheel" in kind else built.sdist
    remark = install(place, what, programs, extras, **settings)
    found = look(place, programs, f"{place.name}, {kind}", report)
    log = (programs.parent / "install.log").read_text()
    compiled = built.extensions if compiler else 0
    check_engine(found, "native" if compiler else "python", compiled, log)
    if extras and not remark and not found["rows"]:
        raise Failed(f"nothing stored could be read: {found['columns']}")
    rows = f"{found['rows']} rows" if found["rows"] else "no pyarrow, and says so"
    return f"Python {found['python']}, engine {found['engine']}, {rows}{remark}"


def run_tests(place: Place, kind: str, **settings: str) -> str:
    """A part of the tests, with the package that is installed instead of the sources."""
    programs = place.programs(kind)
    place.run(programs / "pip", "install", *TEST_TOOLS, seconds=LONG)
    options = ("-x", "-q", "-o", "pythonpath=.")
    output = place.run(programs / "pytest", *options, *TESTS, seconds=LONG, **settings)
    return output.strip().splitlines()[-1]


def check_newest(report: Report, work: Path, built: Distributions, suite: str, tests: bool) -> None:
    """The rows of the newest Python: the tree has no compiler at first."""
    places: list[Place] = []

    def grow() -> str:
        places.append(grow_tree(work, suite))
        return places[0].python

    def add_compiler() -> str:
        add_packages(places[0], "gcc", "libc6-dev", f"{places[0].python}-dev")
        return places[0].run("gcc", "--version").splitlines()[0]

    report.row(f"a tree of Debian {suite}", grow)
    for place in places:
        check_kind(report, place, built, "no compiler")
        report.row(f"{place.name}, gcc and headers", add_compiler)
        check_kind(report, place, built, "compiler")
        if tests:
            check_tests(report, place)


def check_tests(report: Report, place: Place) -> None:
    """The rows of the tests, with both engines."""
    report.row(f"{place.name}, tests, native", lambda: run_tests(place, "compiler"))
    settings = {"KRAFTWIRE_ENGINE": "python"}
    report.row(f"{place.name}, tests, python", lambda: run_tests(place, "compiler", **settings))


def check_here(report: Report, place: Place, tests: bool) -> Distributions | None:
    """The rows of this machine; None where nothing could be built."""
    made: list[Distributions] = []

    def built() -> str:
        made.append(build(place))
        return check_files(place, made[0])

    report.row("sdist, and wheel without compiler", built)
    for distributions in made:
        check_kind(report, place, distributions, "compiler")
        check_kind(report, place, distributions, "no compiler")
        check_kind(report, place, distributions, "compiler, no extras", "")
        check_kind(report, place, distributions, "no compiler, wheel, no extras", "")
        if tests:
            check_tests(report, place)
    return made[0] if made else None


@click.command()
@click.option("--newest", is_flag=True, help="Also with Debian's newest Python; needs root.")
@click.option("--suite", default="sid", show_default=True, help="Where --newest looks for it.")
@click.option("--tests", is_flag=True, help="Also run the tests of messages and wire.")
@click.option("--python", default=sys.executable, help="The Python of the other environments.")
def main(newest: bool, suite: str, tests: bool, python: str) -> None:
    """Install in clean environments; exit code 0 where all of them are as they must be."""
    if newest and os.geteuid() != 0:
        raise click.ClickException("--newest makes the tree of another system: run it as root")
    needed = ("apt-get", "dpkg-deb", "unshare", "chroot") if newest else ("git",)
    for program in needed:
        if shutil.which(program) is None:
            raise click.ClickException(f"there is no {program} here")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was made is removed
    report = Report()
    with tempfile.TemporaryDirectory(prefix="kraftwire-installs-") as directory:
        work = Path(directory) / "work"
        (work / "tmp").mkdir(parents=True)
        here = Place("here", python, work)
        clone = ["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), str(here.clone)]
        subprocess.run(clone, check=True, timeout=SHORT)
        built = check_here(report, here, tests)
        if newest and built is not None:
            check_newest(report, work, built, suite, tests)
    sys.exit(report.failed)


if __name__ == "__main__":
    main()
