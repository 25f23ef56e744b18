"""Builds the package from a fresh clone, and installs it in clean environments.

    python -m codec_tests.installs.clean_installs
    python -m codec_tests.installs.clean_installs --newest --tests    # as root

Only committed files count. Each environment is a row. With a C compiler the native engine must
run, without one plain Python, and both must print the same (`smoke.py` is what they run).
`--newest` repeats this with the newest Python of Debian's unstable suite, in its own directory
tree.

- Everything is created in one temporary directory, which is removed at the end.
- A tree is entered in its own mount namespace, so that its mounts end with the command.
- A command that runs too long is killed with all its children.
- Packages come from the servers that pip and apt of this machine use.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from codec_tests.installs.debian_tree import add_packages, grow_tree
from codec_tests.installs.hosts import LONG, SHORT, Failed, Host

ROOT = Path(__file__).resolve().parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
EXTRAS = ("[parquet,generator]", "[generator]", "[parquet]", "")
"""Attempts in this order: a new Python may lack wheels for some dependencies."""
TESTS = ("codec_tests/messages", "codec_tests/wire")
# One of these tests runs mypy.
TEST_TOOLS = ("pytest", "pytest-timeout", "hypothesis", "mypy")
FRIENDLY = "pip install 'kraftwire[parquet]'"
NO_COMPILER = "/nonexistent/cc"


@dataclass
class InstallReport:
    """Prints the rows of the table, and remembers the output of the environments."""

    failed: bool = False
    seen: dict[str, tuple[str, str]] = field(default_factory=dict)

    def row(self, name: str, work: Callable[[], str]) -> None:
        """Do the work of a row, and print the result."""
        started = time.monotonic()
        try:
            verdict, remark = "ok", work()
        except Failed as error:
            self.failed = True
            lines = str(error).strip().splitlines()
            verdict, remark = "FAILED", "\n    ".join([lines[0], *lines[1:][-40:]])
        click.echo(f"{name:38} {verdict:7} {time.monotonic() - started:6.1f} s  {remark}")

    def same(self, key: str, text: str, name: str) -> None:
        """Raise `Failed` if this output differs from that of the first environment."""
        first, other = self.seen.setdefault(key, (name, text))
        pairs = zip([*text.splitlines(), ""], [*other.splitlines(), ""], strict=False)
        for line, other_line in pairs if text != other else ():
            if line != other_line:
                raise Failed(f"{key} differs from {first!r}:\n{line[:200]}\n{other_line[:200]}")


@dataclass(frozen=True)
class Distributions:
    """The sdist, and a wheel that was built without a compiler."""

    sdist: Path
    wheel: Path
    roots: list[str]
    extensions: int


def build(host: Host) -> Distributions:
    """Build from the clone."""
    tools, dist = host.programs("tools"), host.work / "dist"
    host.run(tools / "pip", "install", "build", seconds=LONG)
    host.run(tools / "python", "-m", "build", "--sdist", "--outdir", dist, seconds=LONG)
    (sdist,) = dist.glob("*.tar.gz")
    settings = without_compiler(host, tools)
    wheel_to = ("--no-deps", "--wheel-dir", dist)
    host.run(tools / "pip", "wheel", *wheel_to, sdist, seconds=LONG, **settings)
    (wheel,) = dist.glob("*.whl")
    project = tomllib.loads((host.clone / "pyproject.toml").read_text())
    setuptools = project["tool"]["setuptools"]
    roots = setuptools["packages"]["find"]["where"]
    return Distributions(sdist, wheel, roots, len(setuptools["ext-modules"]))


def check_files(host: Host, built: Distributions) -> str:
    """Check that sdist and wheel have all of git's files of the packages, and no native code."""
    files = host.run("git", "ls-files", *built.roots).split()
    with tarfile.open(built.sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    missing = [f"the sdist lacks {name}" for name in files if name not in inside]
    with zipfile.ZipFile(built.wheel) as wheel:
        inside = set(wheel.namelist())
    # Roots have one part, so the path in a wheel starts after the first slash.
    missing += [f"the wheel lacks {name}" for name in files if name.partition("/")[2] not in inside]
    if missing:
        raise Failed("\n".join([f"{len(missing)} files are missing", *missing]))
    compiled = [name for name in inside if name.endswith((".so", ".pyd"))]
    if compiled:
        raise Failed(f"a compiler was found after all: {', '.join(compiled)}")
    others = [name for name in files if not name.endswith(".py")]
    return f"all {len(files)} files, {len(others)} of them not Python"


def without_compiler(host: Host, programs: Path) -> dict[str, str]:
    """Return settings that hide all compilers; a tree has none until one is installed."""
    if host.tree is not None:
        return {}
    return {"PATH": str(programs), "CC": NO_COMPILER, "CXX": NO_COMPILER}


def install(host: Host, what: Path, programs: Path, extras: str, **settings: str) -> str:
    """Install into an environment; return which wheels its Python lacks, and omit those extras.

    Dependencies are installed as wheels, so that only our own sources need a compiler.
    """
    options = ("--verbose", "--only-binary", ":all:", "--no-binary", "kraftwire")
    lacking: set[str] = set()
    log = ""
    for some in EXTRAS[EXTRAS.index(extras) :]:
        try:
            command = (programs / "pip", "install", *options, f"{what}{some}")
            log = host.run(*command, seconds=LONG, **settings)
        except Failed as error:
            lacks = re.findall(r"No matching distribution found for (\S+)", str(error))
            if not lacks or some == EXTRAS[-1] or host.tree is None:
                raise
            lacking.update(lacks)
        else:
            break
    (programs.parent / "install.log").write_text(log)
    return f", no wheel of {', '.join(sorted(lacking))}" if lacking else ""


def look(host: Host, programs: Path, name: str, report: InstallReport) -> dict[str, Any]:
    """Run the smoke test and compare its output with that of other environments."""
    shutil.copy(SMOKE, host.work)
    output = host.run(programs / "python", host.work / SMOKE.name, seconds=LONG)
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    doctor = found["printed"].pop("doctor")
    # The installed packages depend on the extras, and their versions on the host.
    packages = " ".join(key for key, version in json.loads(doctor).items() if version)
    report.same(f"doctor of {host.name} with {packages}", doctor, name)
    for key, text in found["printed"].items():
        report.same(key, text, name)
    return found


def check_engine(found: dict[str, Any], engine: str, compiled: int, log: str) -> None:
    """Check that both native parts run, or neither."""
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
    report: InstallReport, host: Host, built: Distributions, kind: str, extras: str = EXTRAS[0]
) -> None:
    """Print the row of one environment; `kind` says what it has."""
    report.row(f"{host.name}, {kind}", lambda: try_install(report, host, built, kind, extras))


def try_install(
    report: InstallReport, host: Host, built: Distributions, kind: str, extras: str
) -> str:
    """Create an environment, install into it, and check the install."""
    compiler = "no compiler" not in kind
    programs = host.programs(kind)
    settings = {} if compiler else without_compiler(host, programs)
    what = built.wheel if "wheel" in kind else built.sdist
    remark = install(host, what, programs, extras, **settings)
    found = look(host, programs, f"{host.name}, {kind}", report)
    log = (programs.parent / "install.log").read_text()
    compiled = built.extensions if compiler else 0
    check_engine(found, "native" if compiler else "python", compiled, log)
    if extras and not remark and not found["rows"]:
        raise Failed(f"nothing stored could be read: {found['columns']}")
    rows = f"{found['rows']} rows" if found["rows"] else "no pyarrow, and says so"
    return f"Python {found['python']}, engine {found['engine']}, {rows}{remark}"


def run_tests(host: Host, kind: str, **settings: str) -> str:
    """Run a part of the tests against the installed package."""
    programs = host.programs(kind)
    host.run(programs / "pip", "install", *TEST_TOOLS, seconds=LONG)
    options = ("-x", "-q", "-o", "pythonpath=.")
    output = host.run(programs / "pytest", *options, *TESTS, seconds=LONG, **settings)
    return output.strip().splitlines()[-1]


def check_newest(
    report: InstallReport, work: Path, built: Distributions, suite: str, tests: bool
) -> None:
    """Print the rows of the newest Python; its tree has no compiler at first."""
    hosts: list[Host] = []

    def grow() -> str:
        hosts.append(grow_tree(work, suite))
        return hosts[0].python

    def add_compiler() -> str:
        add_packages(hosts[0], "gcc", "libc6-dev", f"{hosts[0].python}-dev")
        return hosts[0].run("gcc", "--version").splitlines()[0]

    report.row(f"a tree of Debian {suite}", grow)
    for host in hosts:
        check_kind(report, host, built, "no compiler")
        report.row(f"{host.name}, gcc and headers", add_compiler)
        check_kind(report, host, built, "compiler")
        if tests:
            check_tests(report, host)


def check_tests(report: InstallReport, host: Host) -> None:
    """Print the rows of the tests, with both engines."""
    report.row(f"{host.name}, tests, native", lambda: run_tests(host, "compiler"))
    settings = {"KRAFTWIRE_ENGINE": "python"}
    report.row(f"{host.name}, tests, python", lambda: run_tests(host, "compiler", **settings))


def check_here(report: InstallReport, host: Host, tests: bool) -> Distributions | None:
    """Print the rows of this machine; return None if nothing could be built."""
    made: list[Distributions] = []

    def built() -> str:
        made.append(build(host))
        return check_files(host, made[0])

    report.row("sdist, and wheel without compiler", built)
    for distributions in made:
        check_kind(report, host, distributions, "compiler")
        check_kind(report, host, distributions, "no compiler")
        check_kind(report, host, distributions, "compiler, no extras", "")
        check_kind(report, host, distributions, "no compiler, wheel, no extras", "")
        if tests:
            check_tests(report, host)
    return made[0] if made else None


@contextmanager
def cloned_host(python: str) -> Iterator[Host]:
    """Clone the repository into a temporary directory, which is removed at the end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the directory is removed
    with tempfile.TemporaryDirectory(prefix="kraftwire-installs-") as directory:
        work = Path(directory) / "work"
        (work / "tmp").mkdir(parents=True)
        here = Host("here", python, work)
        clone = ["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), str(here.clone)]
        subprocess.run(clone, check=True, timeout=SHORT)
        yield here


@click.command()
@click.option("--newest", is_flag=True, help="Also with Debian's newest Python; needs root.")
@click.option("--suite", default="sid", show_default=True, help="Where --newest looks for it.")
@click.option("--tests", is_flag=True, help="Also run the tests of messages and wire.")
@click.option("--python", default=sys.executable, help="The Python of the other environments.")
def main(newest: bool, suite: str, tests: bool, python: str) -> None:
    """Install in clean environments; exit with 0 if all of them are as expected."""
    if newest and os.geteuid() != 0:
        raise click.ClickException("--newest makes the tree of another system: run it as root")
    needed = ("apt-get", "dpkg-deb", "unshare", "chroot") if newest else ("git",)
    for program in needed:
        if shutil.which(program) is None:
            raise click.ClickException(f"{program} is not installed")
    report = InstallReport()
    with cloned_host(python) as here:
        built = check_here(report, here, tests)
        if newest and built is not None:
            check_newest(report, here.work, built, suite, tests)
    sys.exit(report.failed)


if __name__ == "__main__":
    main()
